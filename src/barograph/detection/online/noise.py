"""The noise of a series, and the smallest change that the detector finds in it.

Steps are put behind the results of the series, with the scatter of its current level, and judged. A
table of sizes in units of scatter would be quicker, but series that scatter alike differ by several
times in the smallest change: earlier excursions and correlated results make the detector careful.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from barograph.detection.online.decide import Judge, PendingSeries
from barograph.detection.online.decision import ANSWERS, Answer
from barograph.detection.online.newest import SETTLED
from barograph.detection.online.views import compared, kept_from
from barograph.features.regime import regime_length
from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Flags, Floats, Ints
from barograph.results.wording import number

FOLLOWING = (0, 2, 5)  # further results within which a change is found
CASES = 10  # steps of each size that are tried
ONE_SD = 0.6827  # the share of Gaussian values within a standard deviation
NINE_OF_TEN = 1.2816  # the quantile of the normal distribution
RATIO, SIZES = 1.4, 24  # of the sizes that are tried: from 1 to 2,300 units of scatter
LEAST_UNIT = 0.001  # of the level; the unit of series without scatter
TOGETHER = 250  # series that are judged at a time; bounds the memory
PAIRS = 8  # of runs of one commit; fewer say little about their scatter
TENTHS = 100.0  # percent below which tenths are shown
QUIET = ANSWERS.index(Answer.QUIET)


class Noise(NamedTuple):
    """The noise of a series at its current level.

    Attributes:
        level: The median of the results at the current level.
        scatter: The distance from it within which 68.27 % of them lie: the standard deviation of
            Gaussian noise.
        results: Their number.
        runs: The usual number of runs of a commit.
        share_of_runs: The part of the squared scatter that comes from the runs of a commit; null if
            too few commits have several runs.
        halving_runs: How many runs of each commit halve the scatter, and so the smallest changes;
            null if no number does. Without `share_of_runs`, runs count as independent.
        smallest_0: The smallest change that is found at its commit in nine of ten cases; null if
            2,000 times the scatter are not found.
        smallest_2: The same within two further results.
        smallest_5: The same within five further results.
    """

    level: float
    scatter: float
    results: int
    runs: int
    share_of_runs: float | None
    halving_runs: int | None
    smallest_0: float | None = None
    smallest_2: float | None = None
    smallest_5: float | None = None

    def percent(self, size: float | None) -> float | None:
        """Return a size in percent of the level; None without a size, or if the level is 0."""
        return None if size is None or not self.level else 100.0 * size / abs(self.level)

    def text(self, size: float | None) -> str:
        """Return a size as text: in percent of the level, or as it is if the level is 0.

        Example:
            >>> Noise(50.0, 0.2, 80, 1, None, 4).text(0.2)
            '0.4 %'
        """
        if size is None or (percent := self.percent(size)) is None:
            return "none" if size is None else number(size)
        return f"{percent:.2g} %" if percent < 1.0 else f"{percent:,.{int(percent < TENTHS)}f} %"


class _Trial(NamedTuple):
    """The kept results of a series and where they begin, and ten cases of results that follow."""

    kept: Floats
    base: int
    cases: Floats
    unit: float  # of the steps


def measure_noise(
    judge: Judge, histories: Sequence[Floats], runs: Sequence[Mapping[int, Floats]] = ()
) -> list[Noise | None]:
    """Measure the noise of many series, and the smallest changes that a judge finds in them.

    A change is found if the answer on its commit, or on one of the next, is not quiet.

    Args:
        judge: Decides.
        histories: The values of each series, oldest first.
        runs: For each series, the runs of the commits that have several, by position.

    Returns:
        The noise of each series; None if its current level has fewer than 12 results, or if it is
        0 without scatter.

    Example:
        >>> from barograph.detection.online import make_judge
        >>> from barograph.models import OnlineModels
        >>> values = 100.0 + np.random.default_rng(1).standard_normal(200)
        >>> [noise] = measure_noise(make_judge(OnlineModels.default()), [values])
        >>> round(noise.scatter, 1), noise.smallest_5 < noise.smallest_2 < noise.smallest_0
        (0.9, True)
    """
    found: list[Noise | None] = [None] * len(histories)
    trials: dict[int, _Trial] = {}
    for k, values in enumerate(histories):
        base = int(kept_from(values.size, judge.history))
        last = compared(values[base:])
        count = int(regime_length(last)) if last.size else 0
        if count < SETTLED:
            continue
        level = float(np.median(last[-count:]))
        away = last[-count:] - level
        scatter = float(np.quantile(np.abs(away), ONE_SD))
        if unit := max(scatter, LEAST_UNIT * abs(level)):
            of_commits = runs[k].items() if runs else ()
            repeated = [every for place, every in of_commits if place >= values.size - count]
            found[k] = Noise(level, scatter, count, *_of_runs(repeated, count, scatter))
            starts = np.linspace(0, count - FOLLOWING[-1] - 1, CASES).astype(np.int64)
            cases = level + away[starts[:, None] + np.arange(FOLLOWING[-1] + 1)]
            trials[k] = _Trial(values[base:], base, cases, unit)
    for first in range(0, len(trials), TOGETHER):
        part = [*trials][first : first + TOGETHER]
        smallest = _smallest(judge, [trials[k] for k in part])
        for k, row in zip(part, smallest.tolist(), strict=True):
            sizes = (size if math.isfinite(size) else None for size in row)
            noise = found[k]
            found[k] = noise and Noise(*noise[:-3], *sizes)
    return found


def _of_runs(
    repeated: Sequence[Floats], count: int, scatter: float
) -> tuple[int, float | None, int | None]:
    """Return `runs`, `share_of_runs` and `halving_runs`, given the runs of commits with several.

    The mean of n runs has the variance between commits, and that between runs divided by n.
    """
    usual = int(np.median([every.size for every in repeated] + [1] * (count - len(repeated))))
    moves = np.concatenate([np.empty(0), *map(np.diff, repeated)])
    if moves.size < PAIRS or not scatter:
        return usual, None, 4 * usual
    # The difference of two runs has twice the variance of one.
    variance = (MAD_TO_SD * float(np.median(np.abs(moves)))) ** 2 / 2.0
    share = min(variance / usual / scatter**2, 1.0)
    left = 0.25 - (1.0 - share)
    return usual, share, math.ceil(usual * share / left) if left > 0.0 else None


def _smallest(judge: Judge, trials: Sequence[_Trial]) -> Floats:
    """Return the smallest changes, a column for each number of further results.

    Each case has a size from which it is found, which bisection narrows down. The smallest change
    is the 90 % quantile of these sizes, whose logarithms are taken as normal: that needs fewer
    cases than to count them.
    """
    units, smallest = np.array([trial.unit for trial in trials]), []
    high = np.full((len(trials), CASES), SIZES)  # the lowest size that is known to be found
    for following in FOLLOWING:
        low = np.full(high.shape, -1)
        while (is_open := high - low > 1).any():
            rows, cases = np.nonzero(is_open)
            size = (low + high)[rows, cases] // 2
            is_found = _are_found(judge, trials, rows, cases, size, following)
            high[rows[is_found], cases[is_found]] = size[is_found]
            low[rows[~is_found], cases[~is_found]] = size[~is_found]
        # The size is between the last two; a case that is never found counts as the next larger.
        logs = math.log(RATIO) * (high - 0.5)
        quantile = logs.mean(axis=1) + NINE_OF_TEN * logs.std(axis=1, ddof=1)
        is_known = (high < SIZES).mean(axis=1) >= 0.9
        smallest.append(np.where(is_known, units * np.exp(quantile), np.inf))
    return np.minimum.accumulate(np.column_stack(smallest), axis=1)


def _are_found(
    judge: Judge, trials: Sequence[_Trial], rows: Ints, cases: Ints, sizes: Ints, following: int
) -> Flags:
    """Return which steps are found within a number of further results."""
    pending = []
    for row, case, size in zip(rows.tolist(), cases.tolist(), sizes.tolist(), strict=True):
        trial = trials[row]
        step = trial.unit * RATIO**size * (1 if case % 2 else -1)
        values = np.append(trial.kept, trial.cases[case, : following + 1] + step)
        pending.append(PendingSeries(values, trial.kept.size, trial.base))
    answers = judge.judge(pending).answer.reshape(-1, following + 1)
    found: Flags = (answers != QUIET).any(axis=1)
    return found

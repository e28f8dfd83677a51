"""Compare a new model with another one on the same verdicts.

While verdicts are scarce, a few dozen leave too few to hold out. Series and commits are then dealt
into parts, and each verdict is judged by a model that was learned without its series and without
its commit. The built-in model has seen none of them.
"""

from collections.abc import Callable, Iterator
from math import hypot
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from barograph.learning import tables
from barograph.learning.protocols import hashed, numbered
from barograph.models.calibration import Calibration
from barograph.models.catalogue import real_probability
from barograph.results.series import Flags, Floats, Ints
from barograph.runtime.errors import DataError

DRAWS = 1000
INTERVAL = 0.05, 0.95  # of the bootstrap draws: a 90 % interval
CROSS_FIT = "cross_fit"  # the entry of a card that holds the comparison
PARTS = 4  # of the series, and of the commits: a model learns from nine sixteenths of the verdicts
SEED = 0
LEAST_GROUPS = 5  # fewer all gain by chance in more than 5 % of the cases: 2**-4 is 6 %

Fit = Callable[[Ints], Any]  # learns from some of the rows
# Chooses the calibration and the threshold from verdicts and the scores that they were given.
Rule = Callable[[Ints, Floats], tuple[Calibration | None, float]]


class Comparison(NamedTuple):
    """The gain of a new model over an old one, with its 90 % bootstrap interval."""

    difference: float  # a measure of the new model minus that of the old one
    low: float
    high: float
    p_worse: float  # the share of draws in which the new model is not worse
    groups: int  # the number of series, or of groups of series in which the models differ

    @classmethod
    def of(cls, difference: float, draws: Floats, groups: int) -> Self:
        """Return the comparison that bootstrap draws of the difference give."""
        low, high = np.quantile(draws, INTERVAL)
        return cls(difference, float(low), float(high), float(np.mean(draws >= 0)), groups)

    def over(self, other: "Comparison") -> "Comparison":
        """Return the gain over another model whose gain over the same old model is known.

        The interval is that of two independent estimates (Zou and Donner 2008): wider than
        necessary if they rest on some of the same rows.
        """
        difference = self.difference - other.difference
        low = difference - hypot(self.difference - self.low, other.high - other.difference)
        high = difference + hypot(self.high - self.difference, other.difference - other.low)
        return Comparison(difference, low, high, float(high >= 0), self.groups)


def compared(
    truth: npt.NDArray[np.int64],
    new: Floats,
    old: Floats,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Comparison:
    """Compare two models on the same rows by a paired bootstrap.

    Rows of one series are near copies of each other, so whole series are drawn, and both models are
    scored on the same draw. A small `p_worse` shows that the new model is significantly worse.

    Args:
        truth: 1 for real changes, 0 for noise.
        new: The scores of the new model.
        old: The scores of the old model for the same rows.
        groups: The series of each row.
        seed: Seed of the draws.
        draws: The number of draws.
    """
    (first, second), drawn = bootstrapped(truth, np.stack([new, old]), groups, seed, draws)
    differences = drawn[:, 0] - drawn[:, 1]
    return Comparison.of(float(first - second), differences, np.unique(np.asarray(groups)).size)


def bootstrapped(
    truth: npt.NDArray[np.int64],
    scores: Floats,
    groups: npt.ArrayLike,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[Floats, Floats]:
    """Return the AUC of models on the same rows, and on rows of drawn series.

    Args:
        truth: 1 for real changes, 0 for noise.
        scores: The scores of each model, model by row.
        groups: The series of each row.
        seed: Seed of the draws.
        draws: The number of draws.

    Returns:
        The AUC of each model, and those of each draw: draw by model.
    """
    if np.unique(truth).size < 2:
        raise DataError(f"{truth.size} held-out rows of one class only: models cannot be compared")
    group = numbered(groups)
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    generator = np.random.default_rng(seed)
    drawn: list[Floats] = []
    while len(drawn) < draws:
        chosen = generator.integers(0, len(members), len(members))
        rows = np.concatenate([members[k] for k in chosen])
        if 0 < truth[rows].sum() < rows.size:
            drawn.append(aucs(truth[rows], scores[:, rows]))
    return aucs(truth, scores), np.array(drawn)


def is_better(gain: Comparison, other: str, shown: str) -> tuple[bool, str]:
    """Return whether the lower end of the interval of a gain is above 0, and a sentence on it.

    Args:
        gain: The gain over another model.
        other: Names the other model.
        shown: What was measured, and on how many verdicts.

    Example:
        >>> gain = Comparison(0.03, 0.01, 0.05, 1.0, 40)
        >>> is_better(gain, "another", "AUC on 91 verdicts")[1]
        'better than another: gain +0.030 (90 % interval +0.010 to +0.050) in AUC on 91 verdicts'
    """
    interval = f"90 % interval {gain.low:+.3f} to {gain.high:+.3f}"
    facts = f"gain {gain.difference:+.3f} ({interval}) in {shown}"
    if gain.high < 0:
        return False, f"worse than {other}: {facts}"
    if gain.low <= 0:
        return False, f"the interval of its gain over {other} includes 0: {facts}"
    if gain.groups < LEAST_GROUPS:
        return False, f"too few series to tell, {gain.groups} of {LEAST_GROUPS}: {facts}"
    return True, f"better than {other}: {facts}"


class ScoredRows(NamedTuple):
    """What a model says of rows: the probabilities, and its threshold for each or for all rows."""

    probability: Floats
    threshold: Floats | float

    @property
    def alarms(self) -> Flags:
        """Whether the model calls each row a real change."""
        return self.probability >= self.threshold


def judgements_compared(
    truth: npt.NDArray[np.int64],
    new: ScoredRows,
    old: ScoredRows,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> dict[str, dict[str, float]]:
    """Compare how often two models agree with people, and how well they are calibrated.

    Args:
        truth: 1 for real changes, 0 for noise.
        new: What the new model says of the rows.
        old: What the old one says.
        groups: The series of each row; whole series are drawn, as in `compared`.
        seed: Seed of the draws.
        draws: The number of draws.

    Returns:
        For `agreement` (the share of right decisions) and `brier` (the mean squared distance of the
        probabilities from the verdicts): the value of both models, and the bootstrap interval of
        the difference.

    Example:
        >>> truth, sure = np.array([1, 0]), ScoredRows(np.array([0.9, 0.1]), 0.5)
        >>> gaps = judgements_compared(truth, sure, ScoredRows(np.ones(2), 0.5), [1, 2], draws=10)
        >>> gaps["agreement"]["new"], gaps["agreement"]["old"], round(gaps["brier"]["new"], 3)
        (1.0, 0.5, 0.01)
    """
    measures = {
        "agreement": tuple((model.alarms == truth).astype(np.float64) for model in (new, old)),
        "brier": tuple((model.probability - truth) ** 2 for model in (new, old)),
    }
    group = numbered(groups)
    sizes = np.bincount(group)
    drawn = np.random.default_rng(seed).integers(0, sizes.size, (draws, sizes.size))
    rows = sizes[drawn].sum(axis=1)
    result = {}
    for name, (first, second) in measures.items():
        gaps = np.bincount(group, weights=first - second)[drawn].sum(axis=1) / rows
        low, high = np.quantile(gaps, INTERVAL)
        means = {"new": float(first.mean()), "old": float(second.mean())}
        result[name] = means | {"low": float(low), "high": float(high)}
    return result


def auc(truth: npt.NDArray[np.int64], score: Floats) -> float:
    """Return the share of pairs of a real change and noise in which the change scores higher."""
    return float(aucs(truth, score[None])[0])


def aucs(truth: npt.NDArray[np.int64], scores: Floats) -> Floats:
    """Return the AUC of each row of scores."""
    real = int(truth.sum())
    ranks = rankdata(scores, axis=1)[:, truth == 1].sum(axis=1)
    shares: Floats = (ranks - real * (real + 1) / 2) / (real * (truth.size - real))
    return shares


def beside_built_in(
    built_in: ScoredRows, rows: tables.Labelled, fit: Fit, rule: Rule, seen: Ints
) -> dict[str, Any]:
    """Return how models that learn from these verdicts compare with the built-in model.

    Args:
        built_in: What the built-in model says of the rows.
        rows: The verdicts.
        fit: Learns a classifier from rows by their numbers.
        rule: Chooses the calibration and the threshold.
        seen: Rows that the classifier was chosen on, which are not judged.

    Returns:
        The number of verdicts that both were judged on, by kind; if there are verdicts of both
        kinds, the AUC of both and its difference with a bootstrap interval, and what
        `judgements_compared` returns.
    """
    score = cross_fitted(rows, fit)
    score[seen] = np.nan
    judged = np.flatnonzero(np.isfinite(score))
    truth = rows.truth[judged]
    facts: dict[str, Any] = rows.verdicts(judged)
    if np.unique(truth).size < 2:
        return facts
    others = built_in.probability
    new, old = score[judged], others[judged]
    comparison = compared(truth, new, old, rows.identities[judged], seed=SEED)
    facts |= {"auc": auc(truth, new), "auc_of_other": auc(truth, old)} | comparison._asdict()
    decided = _decided(rows, score, rule)
    both = np.flatnonzero(np.isfinite(decided.probability))
    if both.size:
        ours = ScoredRows(decided.probability[both], np.asarray(decided.threshold)[both])
        judged_rows = rows.truth[both], ours, ScoredRows(others[both], built_in.threshold)
        facts |= judgements_compared(*judged_rows, rows.identities[both], seed=SEED)
    return facts


def cross_fitted(rows: tables.Labelled, fit: Fit) -> Floats:
    """Return what models say of each row that saw neither its series nor its commit.

    It is NaN where the other rows are all of one class.
    """
    result = np.full(rows.truth.size, np.nan)
    for judged, learned in _blocks(rows, np.ones(rows.truth.size, dtype=np.bool_)):
        result[judged] = real_probability(fit(learned), rows.matrix[judged])
    return result


def _decided(rows: tables.Labelled, score: Floats, rule: Rule) -> ScoredRows:
    """Return calibrated probabilities and thresholds that saw neither series nor commit of a row.

    Both are NaN where the other rows are all of one class.
    """
    probability, threshold = np.full((2, score.size), np.nan)
    for judged, others in _blocks(rows, np.isfinite(score)):
        calibration, least = rule(rows.truth[others], score[others])
        probability[judged] = calibration(score[judged]) if calibration else score[judged]
        threshold[judged] = least
    return ScoredRows(probability, threshold)


def _blocks(rows: tables.Labelled, is_known: Flags) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows with those of other series and commits, if these are of both classes."""
    series = _parts(rows.identities, "series")
    commits = _parts(rows.commits, "commit")
    for part in range(PARTS):
        for commit in range(PARTS):
            judged = np.flatnonzero(is_known & (series == part) & (commits == commit))
            others = np.flatnonzero(is_known & (series != part) & (commits != commit))
            if judged.size and np.unique(rows.truth[others]).size == 2:
                yield judged, others


def _parts(names: npt.ArrayLike, kind: str) -> Ints:
    """Deal names into parts; a name is always in the same part."""
    drawn = hashed(names, f"{kind} {SEED}") * PARTS
    return np.minimum(drawn.astype(np.int64), PARTS - 1)

"""The common part of the runs of many series: what a slow machine, or a change of all code, does.

Each value is a logarithm, turned so that up is slower. A value is the level of its series, plus the
common part of its run, plus noise. The common part is the median distance of all series from their
levels, so it is a series of its own: it keeps a lasting change, and the levels of the other series
do not. A row depends on earlier rows alone, and on neither the units nor the order of the series.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Direction, Flags, Floats, Ints, Series
from barograph.results.units import unit_of

ROWS = 500  # newest runs that count
WINDOW = 30  # results from which levels and noise are taken
LEAST_HISTORY = 12  # results of a series before it votes
FEWEST = 8  # voters without which there is no common part
LEAST_NOISE = 0.001  # series with less noise are sizes and counts: they do not vote
# A series is able to show a common part that is larger than this many times its noise, and moved
# along if it went more than half of the way. If fewer than four fifths of at least five able series
# moved along, the code of those changed, and the others say what the machine did.
CLEAR, HALF, SUPPORT, LEAST_ABLE = 3.0, 0.5, 0.8, 5
# Median of the moves between neighbouring results, as noise: with no drift, that of the residuals.
MOVES = 1.06
# What no machine changes: dimensions of units, and units without one.
FIXED = ("size", "cycle", "instruction", "alloc", "allocation", "misse", "fault")
SHARES = ("%", "percent", "count", "counts")


@dataclass(frozen=True)
class CommonPart:
    """The common part of each run, oldest first.

    Attributes:
        level: The common series, in log units.
        excess: How far it lies beyond the median of the runs before.
        along: Number of series that went more than half as far as the excess.
        able: Number of series whose noise is small enough to show the excess.
        moved: Number of able series among those that went along.
        voters: Which series voted in each run.
    """

    level: Floats
    excess: Floats
    along: Ints
    able: Ints
    moved: Ints
    voters: Flags

    @cached_property
    def is_known(self) -> Flags:
        """Whether enough series voted in each run."""
        known: Flags = self.voters.sum(axis=1) >= FEWEST
        return known

    @cached_property
    def is_shared(self) -> Flags:
        """Whether nearly all series, or nearly all able ones, moved along with each run."""
        able: Flags = (self.able >= LEAST_ABLE) & (self.moved >= SUPPORT * self.able)
        is_shared: Flags = able | (self.along >= SUPPORT * self.voters.sum(axis=1))
        return is_shared & self.is_known


def takes_part(series: Series) -> bool:
    """Return whether a machine can move a series: times, rates, and units that are unknown.

    Example:
        >>> from barograph.results.series import SeriesId
        >>> name, one = SeriesId("", "", "", "a", ""), np.ones(1)
        >>> [takes_part(Series(name, one, one, unit=unit)) for unit in ("MiB", "MiB/s")]
        [False, True]
    """
    unit = unit_of(series.unit)
    if unit is None:
        return series.unit.strip().lower() not in SHARES
    counted, _, per = unit.dimension.partition("/")
    return per == "time" or counted not in FIXED


def logarithms(values: Floats, direction: Direction) -> Floats:
    """Return the logarithms of values, turned so that up is slower; NaN for what has none."""
    logs = np.full(values.size, np.nan)
    np.log(values, out=logs, where=values > 0)
    return -logs if direction == Direction.HIGHER_IS_BETTER else logs


def common_part(logs: Floats) -> CommonPart:
    """Return the common part of each run.

    Args:
        logs: The results as `logarithms` returns them: a row for each run, oldest first, and a
            column for each series; NaN where a result is missing.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> logs = rng.normal(0.0, 0.01, (60, 20))
        >>> logs[-1] += 0.08
        >>> part = common_part(logs)
        >>> round(float(part.excess[-1]), 2), int(part.moved[-1]), bool(part.is_shared[-1])
        (0.08, 20, True)
    """
    runs, size = logs.shape
    # The last values without the common part, distances from the level, and moves of each series.
    recent = np.full((3, size, WINDOW), np.nan)
    count, last = np.zeros(size, dtype=np.int64), np.full(size, np.nan)
    level, excess = np.zeros((2, runs))
    along, able, moved = np.zeros((3, runs), dtype=np.int64)
    voters = np.zeros(logs.shape, dtype=np.bool_)
    for run in range(runs):
        now, before = logs[run], level[max(0, run - WINDOW) : run]
        usual = float(np.median(before)) if run else 0.0
        own, residual, moves = _medians(recent)
        noise = MAD_TO_SD * np.minimum(residual, MOVES * moves)
        has_result = ~np.isnan(now)
        voters[run] = has_result & (count >= LEAST_HISTORY) & (noise > LEAST_NOISE)
        if voters[run].sum() >= FEWEST:
            chosen = voters[run]
            distances = now[chosen] - own[chosen] - usual
            excess[run], flags = _vote(distances, noise[chosen])
            along[run], able[run], moved[run] = flags.sum(axis=1)
        level[run] = usual + excess[run]
        k = np.flatnonzero(has_result)
        latest = now[k] - level[run], np.abs(now[k] - usual - own[k]), np.abs(now[k] - last[k])
        recent[:, k, count[k] % WINDOW] = latest
        count[k] += 1
        last[k] = now[k]
    return CommonPart(level, excess, along, able, moved, voters)


def _vote(distances: Floats, noise: Floats) -> tuple[float, Flags]:
    """Return the excess of a run, and which series are along, able to show it, and both."""
    excess = float(np.median(distances))
    is_along = distances * np.sign(excess) > HALF * abs(excess)
    is_able = noise < abs(excess) / CLEAR
    has_moved = is_able & is_along
    if is_able.sum() >= LEAST_ABLE and has_moved.sum() < SUPPORT * is_able.sum():
        others = distances[~has_moved]
        excess = float(np.median(others)) if others.size >= FEWEST else 0.0
    return excess, np.array([is_along, is_able, has_moved])


def _medians(windows: Floats) -> Floats:
    """Return the medians along the last axis of what is not NaN; NaN for nothing."""
    ordered = np.sort(windows, axis=-1)  # NaN comes last
    known = (~np.isnan(ordered)).sum(axis=-1, keepdims=True)
    middle = np.maximum(known - 1, 0) // 2, np.minimum(known // 2, WINDOW - 1)
    low, high = (np.take_along_axis(ordered, place, axis=-1)[..., 0] for place in middle)
    medians: Floats = 0.5 * (low + high)
    return medians


def softened(values: Floats, direction: Direction, excess: Floats, start: int = 0) -> Floats:
    """Return the newest values of a series without the excess of their runs.

    No value is moved beyond the level of the series, nor if it moved against the excess.

    Args:
        values: The values of a series that takes part, oldest first.
        direction: Which way is better.
        excess: The excess of the last runs; there are more values than runs.
        start: Where the level before these runs begins.

    Example:
        >>> values = np.array([100.0] * 30 + [133.0, 104.0, 90.0])
        >>> soft = softened(values, Direction.LOWER_IS_BETTER, np.full(3, np.log(1.1)))
        >>> soft.round(1).tolist()
        [120.9, 100.0, 90.0]
    """
    logs, first = logarithms(values, direction), values.size - excess.size
    before = logs[max(start, first - WINDOW) : first]
    if np.isnan(before).all():
        return values[first:]
    level = float(np.nanmedian(before))
    distance = logs[first:] - level
    left = np.copysign(np.maximum(np.abs(distance) - np.abs(excess), 0.0), distance)
    soft = level + left if direction != Direction.HIGHER_IS_BETTER else -level - left
    kept: Floats = np.where(distance * excess > 0, np.exp(soft), values[first:])
    return kept

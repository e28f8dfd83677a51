"""Combine the results of several runs of one commit into one point.

The value of the point is the median of its runs, or their mean. Its spread is their median absolute
deviation, scaled to estimate the standard deviation of one run: by 1.4826, and for fewer than ten
runs also by the factors of Croux and Rousseeuw 1992, because the median of few deviations is too
small.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints
from barograph.results.texts import Texts

AGGREGATES = ("median", "mean")
MAD_TO_SD = 1.4826  # of Gaussian noise
# By the number of runs, from 2 on; n / (n - 0.8) for more than these.
FEW_RUNS = np.array([np.nan, np.nan, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107])
EQUAL = "results given twice, counted once"
DIFFERENT = "results with a later value for the same run, replaced"
MOVED = "runs of one commit with another order, placed at its first"
OTHER_COMMIT = "another commit has this order"


@dataclass(frozen=True, slots=True)
class Repeats:
    """The runs of each point.

    A point of one run without a name lists no run: its own value and time say everything.

    Args:
        counts: Number of runs of each point, at least 1.
        spreads: Spread of the runs; NaN for one run.
        offsets: Point k lists the runs `offsets[k]` to `offsets[k + 1]`.
        names: The names of the listed runs; the first run of a point may have an empty one.
        values: Their values.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
    """

    counts: Ints
    spreads: Floats
    offsets: Ints
    names: Texts
    values: Floats
    times: Ints

    @classmethod
    def single(cls, size: int) -> Repeats:
        """Return points with one run each."""
        counts, none = np.ones(size, dtype=np.int64), np.zeros(0, dtype=np.int64)
        offsets = np.zeros(size + 1, dtype=np.int64)
        return cls(counts, np.full(size, np.nan), offsets, Texts.unknown(0), np.zeros(0), none)

    @property
    def is_single(self) -> bool:
        """Whether each point has one run without a name."""
        return not len(self.names) and not np.any(self.counts > 1)

    def part(self, first: int, last: int) -> Repeats:
        """Return the points from `first` to before `last`."""
        start, stop = self.offsets[first], self.offsets[last]
        return Repeats(
            self.counts[first:last],
            self.spreads[first:last],
            self.offsets[first : last + 1] - start,
            self.names[start:stop],
            self.values[start:stop],
            self.times[start:stop],
        )


@dataclass(frozen=True, slots=True)
class Results:
    """Results in any order; those with the same owner and order are runs of one point.

    Args:
        owners: A number for each series.
        orders: The orders.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
        values: The measured values.
        commits: The commits, empty where unknown.
        runs: The names of the runs, empty without one.

    Example:
        >>> results = Results(
        ...     owners=np.array([0, 0, 0]),
        ...     orders=np.array([7, 8, 7]),
        ...     times=np.array([1_000, 3_000, 2_000]),
        ...     values=np.array([4.0, 6.0, 5.0]),
        ...     commits=Texts.from_strings(["a1", "b7", "a1"]),
        ...     runs=Texts.unknown(3),
        ... )
        >>> combined = combine(results)
        >>> combined.points.values.tolist(), combined.repeats.counts.tolist()
        ([4.5, 6.0], [2, 1])
    """

    owners: Ints
    orders: Ints
    times: Ints
    values: Floats
    commits: Texts
    runs: Texts

    def take(self, rows: Ints | slice) -> Results:
        """Return some of the results."""
        return Results(
            self.owners[rows],
            self.orders[rows],
            self.times[rows],
            self.values[rows],
            self.commits[rows] if isinstance(rows, slice) else self.commits.take(rows),
            self.runs[rows] if isinstance(rows, slice) else self.runs.take(rows),
        )


@dataclass(frozen=True, slots=True)
class Combined:
    """One result for each point, sorted by owner and order.

    Attributes:
        points: The points: the time is that of the run measured last.
        repeats: The runs of each point.
        conflicts: The rows that were left out because an earlier run names another commit.
        corrected: The number of rows that were left out for other reasons, by reason.
    """

    points: Results
    repeats: Repeats
    conflicts: Ints
    corrected: Counter[str]


def combine(results: Results, aggregate: str = "median") -> Combined:
    """Combine the runs of each point.

    Results that name a run are runs of their commit, even if each run has an order of its own: the
    point has the lowest. Of several results of one run, the last listed counts. Results without a
    run are runs of their own, numbered as listed, unless they have the same time and value.

    Args:
        results: The results.
        aggregate: `median` or `mean`.
    """
    runs, names = results.runs.ranks()
    plain = _without_repeats(results, runs)
    if plain is not None:
        none = np.zeros(0, dtype=np.int64)
        return Combined(plain, _single_runs(plain), none, Counter())
    results, moved = _at_first_order(results, runs)
    rows = np.lexsort((runs, results.orders, results.owners))
    conflicts = _conflicts(results, rows)
    rows = rows[~conflicts[rows]]
    rows, corrected = _without_duplicates(results, rows, runs)
    corrected += Counter({MOVED: moved})
    points = _points(results, rows)
    firsts = np.flatnonzero(np.diff(points, prepend=-1))
    counts = np.diff(np.append(firsts, rows.size))
    values = results.values[rows]
    center = medians(values, points, firsts, counts)
    away = np.abs(values - center[points])
    few = FEW_RUNS[np.minimum(counts, FEW_RUNS.size - 1)]
    scale = np.where(counts < FEW_RUNS.size, few, counts / (counts - 0.8))
    spreads = MAD_TO_SD * scale * medians(away, points, firsts, counts)
    if aggregate == "mean":
        center = np.where(counts > 1, np.add.reduceat(values, firsts) / counts, center)
    known_first = results.take(_first_known(results, rows, firsts))
    first = results.take(rows[firsts])
    times = np.maximum.reduceat(results.times[rows], firsts)
    combined = Results(first.owners, first.orders, times, center, known_first.commits, first.runs)
    listed, offsets = _listed(runs[rows], firsts, counts)
    shown = _names_of(runs[rows], names, firsts, counts).take(listed)
    every = shown, values[listed], results.times[rows[listed]]
    repeats = Repeats(counts, spreads, offsets, *every)
    return Combined(combined, repeats, np.flatnonzero(conflicts), corrected)


def _without_repeats(results: Results, runs: Ints) -> Results | None:
    """Return the results sorted by owner and order, None if two are of one point.

    Most histories have no repeats, and need only this.
    """
    named = runs >= 0
    if named.any() and _share_a_commit(results.take(np.flatnonzero(named))):
        return None
    results = results.take(by_owner(results.owners, results.orders))
    twice = (np.diff(results.owners) == 0) & (np.diff(results.orders) == 0)
    return None if twice.any() else results


def by_owner(owners: Ints, keys: Ints) -> Ints | slice:
    """Return the rows sorted by owner and key, all as a slice if they are sorted already."""
    if _is_sorted(owners, keys):
        return slice(None)
    rows = np.argsort(owners, kind="stable")  # the keys of each owner usually rise
    return rows if _is_sorted(owners[rows], keys[rows]) else np.lexsort((keys, owners))


def _is_sorted(owners: Ints, keys: Ints) -> bool:
    steps = np.diff(owners)
    return bool(np.all((steps > 0) | ((steps == 0) & (np.diff(keys) >= 0))))


def medians(values: Floats, points: Ints, firsts: Ints, counts: Ints) -> Floats:
    """Return the median of each point's values.

    Args:
        values: The values, point after point.
        points: The number of the point of each value.
        firsts: The first value of each point.
        counts: The number of values of each point.
    """
    ordered = values[np.lexsort((values, points))]
    low, high = ordered[firsts + (counts - 1) // 2], ordered[firsts + counts // 2]
    middle: Floats = np.where(low == high, low, 0.5 * low + 0.5 * high)
    return middle


def _share_a_commit(results: Results) -> bool:
    """Return whether two results of one owner are of one commit."""
    commits, names = results.commits.ranks()
    places = np.sort((results.owners * len(names) + commits)[commits >= 0])
    return bool((np.diff(places) == 0).any())


def _single_runs(results: Results) -> Repeats:
    """Return the runs of points with one result each."""
    single, named = Repeats.single(results.values.size), results.runs.known()
    if not named.any():
        return single
    return replace(
        single,
        offsets=np.append(0, np.cumsum(named)),
        names=results.runs.take(named),
        values=results.values[named],
        times=results.times[named],
    )


def _at_first_order(results: Results, runs: Ints) -> tuple[Results, int]:
    """Give results that name a run the lowest order of their commit; count those that change."""
    commits, _ = results.commits.ranks()
    rows = np.flatnonzero((runs >= 0) & (commits >= 0))
    rows = rows[np.lexsort((results.orders[rows], runs[rows], commits[rows], results.owners[rows]))]
    first = np.ones(rows.size, dtype=np.bool_)
    first[1:] = (np.diff(results.owners[rows]) != 0) | (np.diff(commits[rows]) != 0)
    group = np.cumsum(first) - 1
    # A commit that was measured twice by a run of one name was measured at two times.
    again = np.zeros(rows.size, dtype=np.bool_)
    again[1:] = ~first[1:] & (np.diff(runs[rows]) == 0) & (np.diff(results.orders[rows]) != 0)
    together = np.bincount(group, again, minlength=1)[group] == 0
    orders = results.orders.copy()
    starts = np.flatnonzero(first)
    lowest = np.minimum.reduceat(orders[rows], starts) if rows.size else orders[:0]
    orders[rows[together]] = lowest[group[together]]
    return replace(results, orders=orders), int((orders != results.orders).sum())


def _points(results: Results, rows: Ints) -> Ints:
    """Return the number of the point of each row; the rows are sorted by owner and order."""
    owners, orders = results.owners[rows], results.orders[rows]
    fresh = np.ones(rows.size, dtype=np.bool_)
    fresh[1:] = (np.diff(owners) != 0) | (np.diff(orders) != 0)
    points: Ints = np.cumsum(fresh) - 1
    return points


def _conflicts(results: Results, rows: Ints) -> npt.NDArray[np.bool_]:
    """Mark the rows whose commit differs from that of the first run that names one."""
    codes, _ = results.commits.ranks()
    points = _points(results, rows)
    firsts = np.flatnonzero(np.diff(points, prepend=-1))
    expected = codes[_first_known(results, rows, firsts)][points]
    marked = np.zeros(rows.size, dtype=np.bool_)
    marked[rows] = (codes[rows] >= 0) & (codes[rows] != expected)
    return marked


def _first_known(results: Results, rows: Ints, firsts: Ints) -> Ints:
    """Return the first row of each point that names a commit, or else its first row."""
    known = results.commits.known()[rows]
    places = np.where(known, np.arange(rows.size), rows.size)
    first = np.minimum.reduceat(places, firsts)
    return rows[np.where(first < rows.size, first, firsts)]


def _without_duplicates(results: Results, rows: Ints, runs: Ints) -> tuple[Ints, Counter[str]]:
    """Leave out results that another result of the same run replaces; count them."""
    points, named = _points(results, rows), runs[rows] >= 0
    values, times = results.values[rows], results.times[rows]
    same = np.zeros(rows.size, dtype=np.bool_)
    same[:-1] = (np.diff(points) == 0) & (np.diff(runs[rows]) == 0) & named[:-1]
    equal = same.copy()
    equal[:-1] &= np.diff(values) == 0
    by_value = np.lexsort((times, values, named, points))
    twice = np.zeros(rows.size, dtype=np.bool_)
    twice[1:] = np.all([np.diff(part[by_value]) == 0 for part in (points, values, times)], axis=0)
    equal[by_value[twice]] |= ~named[by_value[twice]]
    counts = {EQUAL: int(equal.sum()), DIFFERENT: int((same & ~equal).sum())}
    return rows[~(same | equal)], Counter({name: n for name, n in counts.items() if n})


def _listed(runs: Ints, firsts: Ints, counts: Ints) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Mark the runs that their points list, and return where those of each point begin."""
    plain = (counts == 1) & (runs[firsts] < 0)
    offsets = np.append(0, np.cumsum(np.where(plain, 0, counts)))
    return ~np.repeat(plain, counts), offsets


def _names_of(runs: Ints, names: list[str], firsts: Ints, counts: Ints) -> Texts:
    """Return the name of each run; the runs without one are numbered by their place."""
    place = np.arange(runs.size) - np.repeat(firsts, counts)
    # The first run without a name is "", as in the store; the others get a number.
    sign = "#"
    while any(name.startswith(sign) for name in names):
        sign += "#"
    numbered = ["", *(f"{sign}{k + 2}" for k in range(int(counts.max(initial=1))))]
    codes = np.where(runs >= 0, runs, len(names) + place).astype(np.int32)
    return Texts(codes, [*names, *numbered])

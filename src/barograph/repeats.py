"""Combine the results of several runs of one commit into one point.

The value of the point is the median of its runs, or their mean. Its spread is their median absolute
deviation, scaled to estimate the standard deviation of one run: by 1.4826, and for fewer than ten
runs also by the factors of Croux and Rousseeuw 1992, because the median of few deviations is too
small.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from barograph.series import Floats, Ints

AGGREGATES = ("median", "mean")
MAD_OF_GAUSS = 1.4826
# By the number of runs, from 2 on; n / (n - 0.8) for more than these.
FEW_RUNS = np.array([np.nan, np.nan, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107])
EQUAL = "results given twice, counted once"
DIFFERENT = "results with a later value for the same run, replaced"
MOVED = "runs of one commit with another order, placed at its first"
OTHER_COMMIT = "another commit has this order"


@dataclass(frozen=True, slots=True)
class Repeats:
    """The runs of each point.

    Args:
        counts: Number of runs, at least 1.
        spreads: Spread of the runs; NaN for one run.
        results: A JSON object of the value of each run by its name, in the order of the runs; null
            for one run without a name.
    """

    counts: Ints
    spreads: Floats
    results: pa.Array

    @classmethod
    def single(cls, size: int) -> Self:
        """Return points with one run each."""
        counts = np.ones(size, dtype=np.int64)
        return cls(counts, np.full(size, np.nan), pa.nulls(size, pa.string()))

    def part(self, first: int, last: int) -> Self:
        """Return the points from `first` to before `last`, without a copy."""
        chosen = slice(first, last)
        return type(self)(self.counts[chosen], self.spreads[chosen], self.results[chosen])

    def only(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Return the points that a mask chooses."""
        results = self.results.filter(pa.array(chosen))
        return type(self)(self.counts[chosen], self.spreads[chosen], results)


@dataclass(frozen=True, slots=True)
class Results:
    """Results in any order; those with the same owner and order are runs of one point.

    Args:
        owners: A number for each series.
        orders: The orders.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
        values: The measured values.
        commits: Text, null if unknown.
        runs: The names of the runs, null without one.
    """

    owners: Ints
    orders: Ints
    times: Ints
    values: Floats
    commits: pa.Array
    runs: pa.Array

    def take(self, rows: Ints) -> Results:
        """Return some of the results."""
        return Results(
            self.owners[rows],
            self.orders[rows],
            self.times[rows],
            self.values[rows],
            self.commits.take(pa.array(rows)),
            self.runs.take(pa.array(rows)),
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
    runs, names = _ranks(results.runs)
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
    spreads = MAD_OF_GAUSS * scale * medians(away, points, firsts, counts)
    if aggregate == "mean":
        center = np.where(counts > 1, np.add.reduceat(values, firsts) / counts, center)
    taken = results.take(_first_known(results, rows, firsts))
    first = results.take(rows[firsts])
    times = np.maximum.reduceat(results.times[rows], firsts)
    combined = Results(first.owners, first.orders, times, center, taken.commits, first.runs)
    listed = _as_json(runs[rows], names, values, firsts, counts)
    repeats = Repeats(counts, spreads, listed)
    return Combined(combined, repeats, np.flatnonzero(conflicts), corrected)


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


def _ranks(texts: pa.Array) -> tuple[Ints, list[str]]:
    """Return the rank of each text, -1 for null, and the sorted texts."""
    encoded = texts.dictionary_encode()
    found = encoded.dictionary.to_pylist()
    ordered = sorted(found)
    rank = np.array([*map({text: k for k, text in enumerate(ordered)}.get, found), -1], np.int64)
    return rank[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)], ordered


def _at_first_order(results: Results, runs: Ints) -> tuple[Results, int]:
    """Give results that name a run the lowest order of their commit; count those that change."""
    commits, _ = _ranks(results.commits)
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
    codes, _ = _ranks(results.commits)
    points = _points(results, rows)
    firsts = np.flatnonzero(np.diff(points, prepend=-1))
    expected = codes[_first_known(results, rows, firsts)][points]
    marked = np.zeros(rows.size, dtype=np.bool_)
    marked[rows] = (codes[rows] >= 0) & (codes[rows] != expected)
    return marked


def _first_known(results: Results, rows: Ints, firsts: Ints) -> Ints:
    """Return the first row of each point that names a commit, or else its first row."""
    known = results.commits.is_valid().to_numpy(zero_copy_only=False)[rows]
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


def _as_json(runs: Ints, names: list[str], values: Floats, firsts: Ints, counts: Ints) -> pa.Array:
    """Return the runs of each point as the text of a JSON object."""
    place = np.arange(runs.size) - np.repeat(firsts, counts)
    # The first run without a name is "", as in the store; the others get a number.
    sign = "#"
    while any(name.startswith(sign) for name in names):
        sign += "#"
    numbered = ["", *(f"{sign}{k + 2}" for k in range(int(counts.max(initial=1))))]
    keys = pa.array([json.dumps(name) for name in (*names, *numbered)])
    codes = np.where(runs >= 0, runs, len(names) + place)
    plain = (counts == 1) & (runs[firsts] < 0)
    kept = ~np.repeat(plain, counts)
    items = pc.binary_join_element_wise(
        keys.take(pa.array(codes[kept])), pa.array(values[kept]).cast(pa.string()), ": "
    )
    offsets = np.append(0, np.cumsum(np.where(plain, 0, counts)))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=pa.array(plain))
    return pc.binary_join_element_wise("{", pc.binary_join(lists, ", "), "}", "")

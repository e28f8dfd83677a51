"""Combine the results of several runs of one commit into one point.

The value of the point is the median of its runs, or their mean.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints
from barograph.results.texts import Places, Texts

AGGREGATES = ("median", "mean")
MAD_TO_SD = 1.4826  # of Gaussian noise
# The median of few deviations is too small: factors of Croux and Rousseeuw 1992 by the number of
# runs, from 2 on; n / (n - 0.8) for more than these.
FEW_RUNS = np.array([np.nan, np.nan, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107])
EQUAL = "results given twice, counted once"
DIFFERENT = "results with a later value for the same run, replaced"
MOVED = "runs of one commit with another order, placed at its first"
OTHER_COMMIT = "another commit has this order"


@dataclass(frozen=True, slots=True)
class PointRuns:
    """The runs of the points that have several, or one with a name.

    Args:
        points: The number of the point of each run, ascending.
        names: The names of the runs; the first run of a point may have an empty one.
        values: Their values.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
    """

    points: Ints
    names: Texts
    values: Floats
    times: Ints

    def take(self, rows: Places | slice) -> PointRuns:
        """Return some of the runs."""
        columns = self.points, self.names, self.values, self.times
        return PointRuns(*(column[rows] for column in columns))  # type: ignore[arg-type]

    def spreads(self) -> tuple[Ints, Ints, Floats]:
        """Return the points, the number of runs of each, and their spread.

        The spread is the median absolute deviation of the runs, scaled to estimate the standard
        deviation of one run; it is NaN for a single run.
        """
        firsts = np.flatnonzero(np.diff(self.points, prepend=-1))
        counts = np.diff(np.append(firsts, self.points.size))
        away = np.abs(self.values - np.repeat(medians(self.values, firsts, counts), counts))
        few = FEW_RUNS[np.minimum(counts, FEW_RUNS.size - 1)]
        scale = np.where(counts < FEW_RUNS.size, few, counts / (counts - 0.8))
        return self.points[firsts], counts, MAD_TO_SD * scale * medians(away, firsts, counts)


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
        >>> points, runs, _, _ = combine(results)
        >>> points.values.tolist(), runs.values.tolist()
        ([4.5, 6.0], [4.0, 5.0])
    """

    owners: Ints
    orders: Ints
    times: Ints
    values: Floats
    commits: Texts
    runs: Texts

    def take(self, rows: Places) -> Results:
        """Return some of the results."""
        return Results(*(getattr(self, field.name)[rows] for field in fields(self)))


def combine(
    results: Results, aggregate: str = "median"
) -> tuple[Results, PointRuns, Ints, Counter[str]]:
    """Combine the runs of each point.

    Results that name a run are runs of their commit, even if each run has an order of its own: the
    point has the lowest. Of several results of one run, the last listed counts. Results without a
    run are runs of their own, numbered as listed, unless they have the same time and value.

    Args:
        results: The results.
        aggregate: `median` or `mean`.

    Returns:
        The points by owner and order, each with the time of the run measured last; their runs; the
        rows that were left out because an earlier run names another commit; and the number of rows
        that were corrected or left out for other reasons, by reason.
    """
    ranks, names = results.runs.ranks()
    orders = _first_orders(results, ranks)
    moved = int((orders != results.orders).sum())
    rows = np.lexsort((ranks, orders, results.owners))
    table, ranks = replace(results, orders=orders).take(rows), ranks[rows]
    points = np.cumsum(_begins(table.owners, table.orders)) - 1
    named, conflicts = _commits(table, points)
    commits = table.commits.take(named)
    table, ranks, points = table.take(~conflicts), ranks[~conflicts], points[~conflicts]
    equal, later = _replaced(table, ranks, points)
    kept = ~(equal | later)
    table, ranks, points = table.take(kept), ranks[kept], points[kept]
    firsts = np.flatnonzero(np.diff(points, prepend=-1))
    counts = np.diff(np.append(firsts, points.size))
    values = medians(table.values, firsts, counts)
    if aggregate == "mean":
        sums = np.add.reduceat(table.values, firsts) if firsts.size else values
        values = np.where(counts > 1, sums / counts, values)
    times = np.maximum.reduceat(table.times, firsts) if firsts.size else table.times
    listed = np.repeat((counts > 1) | (ranks[firsts] >= 0), counts)
    shown = _names(ranks, names, np.arange(points.size) - np.repeat(firsts, counts))
    corrected = Counter({EQUAL: int(equal.sum()), DIFFERENT: int(later.sum()), MOVED: moved})
    return (
        replace(table.take(firsts), times=times, values=values, commits=commits),
        PointRuns(points, shown, table.values, table.times).take(listed),
        np.sort(rows[conflicts]),
        +corrected,
    )


def medians(values: Floats, firsts: Ints, counts: Ints) -> Floats:
    """Return the median of each group of values.

    Args:
        values: The values, group after group.
        firsts: The first value of each group.
        counts: The number of values of each group.
    """
    groups = np.repeat(np.arange(firsts.size), counts)
    ordered = values[np.lexsort((values, groups))]
    low, high = ordered[firsts + (counts - 1) // 2], ordered[firsts + counts // 2]
    middle: Floats = np.where(low == high, low, 0.5 * low + 0.5 * high)
    return middle


def _begins(*keys: Ints | Floats) -> npt.NDArray[np.bool_]:
    """Mark the rows that differ from the one before in one of several columns."""
    fresh = np.ones(keys[0].size, dtype=np.bool_)
    fresh[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return fresh


def _first_orders(results: Results, ranks: Ints) -> Ints:
    """Return the orders; results that name a run have the lowest one of their commit.

    A commit that was measured twice by a run of one name was measured at two times.
    """
    commits, _ = results.commits.ranks()
    rows = np.flatnonzero((ranks >= 0) & (commits >= 0))
    if not rows.size:
        return results.orders
    owners, orders = results.owners[rows], results.orders[rows]
    ordered = np.lexsort((orders, ranks[rows], commits[rows], owners))
    rows, owners, orders = rows[ordered], owners[ordered], orders[ordered]
    begins = _begins(owners, commits[rows])
    groups = np.cumsum(begins) - 1
    again = ~_begins(groups, ranks[rows]) & _begins(orders)
    together = np.bincount(groups, again)[groups] == 0
    lowest = np.minimum.reduceat(orders, np.flatnonzero(begins))[groups]
    changed = results.orders.copy()
    changed[rows[together]] = lowest[together]
    return changed


def _commits(table: Results, points: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the first row of each point that names a commit, and mark rows that name another.

    A point without a commit has its first row.
    """
    commits, _ = table.commits.ranks()
    named = np.flatnonzero(np.diff(points, prepend=-1))
    known = np.flatnonzero(commits >= 0)[::-1]
    named[points[known]] = known  # of several rows of a point the last one stays: the first
    return named, (commits >= 0) & (commits != commits[named][points])


def _replaced(
    table: Results, ranks: Ints, points: Ints
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark the results that another of the same run replaces: by the same value, or by another."""
    equal, later = np.zeros((2, points.size), dtype=np.bool_)
    later[:-1] = ~_begins(points, ranks)[1:] & (ranks[1:] >= 0)
    equal[:-1] = later[:-1] & (np.diff(table.values) == 0)
    plain = np.flatnonzero(ranks < 0)
    plain = plain[np.lexsort((table.times[plain], table.values[plain], points[plain]))]
    equal[plain[~_begins(points[plain], table.values[plain], table.times[plain])]] = True
    return equal, later & ~equal


def _names(ranks: Ints, names: list[str], places: Ints) -> Texts:
    """Return the name of each run; the runs without one are numbered by their place."""
    # The first run without a name is "", as in the store; the others get a number.
    sign = "#"
    while any(name.startswith(sign) for name in names):
        sign += "#"
    numbered = ["", *(f"{sign}{k + 2}" for k in range(int(places.max(initial=0))))]
    codes = np.where(ranks >= 0, ranks, len(names) + places).astype(np.int32)
    return Texts(codes, [*names, *numbered])

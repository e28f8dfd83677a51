"""The table of results, and the points that they make: one for all runs of a commit.

The value of a point is the median of its runs, or their mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from barograph.results.series import UNKNOWN_TIME, Flags, Floats, Ints, SeriesId
from barograph.results.texts import Places, Texts

AGGREGATES = ("median", "mean")
NO_ORDER = int(np.iinfo(np.int64).min)
MAD_TO_SD = 1.4826  # of Gaussian noise
# The median of few deviations is too small: factors of Croux and Rousseeuw 1992 by the number of
# runs, from 2 on; n / (n - 0.8) for more than these.
FEW_RUNS = np.array([np.nan, np.nan, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107])
EQUAL = "results given twice, counted once"
DIFFERENT = "results with a later value for the same run, replaced"
MOVED = "runs of one commit with another order, placed at its first"
OTHER_COMMIT = "another commit has this order"
MISSING = {"orders": NO_ORDER, "times": UNKNOWN_TIME, "rows": 0, "sources": 0}
TEXTS = ("commits", "runs", "branches", "units", "cpus")


class ReadFile(NamedTuple):
    """A file that was read: its name, its format, and whether it holds a single run."""

    name: str
    form: str
    is_run: bool


@dataclass(frozen=True, slots=True)
class Results:
    """Results in any order; those with the same owner and order are runs of one point.

    Args:
        ids: The identity of each series.
        directions: The direction of each series, 0 if unknown.
        owners: The number of the series of each result.
        values: The measured values.
        orders: The orders, or `NO_ORDER`.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
        rows: The number of the row in the file; results of one row were measured together.
        sources: The number of the file.
        commits: The commits; this and the other texts are empty where unknown.
        runs: The names of the runs.
        branches: The branches.
        units: The units.
        cpus: The models of the CPUs.
        files: The files.

    Example:
        >>> results = Results.of([SeriesId("", "", "", "a", "")], [0], [0, 0], [4.0, 5.0])
        >>> len(results), int(results.times[0]) == UNKNOWN_TIME, results.commits[1]
        (2, True, '')
    """

    ids: Sequence[SeriesId]
    directions: Ints
    owners: Ints
    values: Floats
    orders: Ints
    times: Ints
    rows: Ints
    sources: Ints
    commits: Texts
    runs: Texts
    branches: Texts
    units: Texts
    cpus: Texts
    files: Sequence[ReadFile] = ()

    @classmethod
    def of(
        cls,
        ids: Sequence[SeriesId],
        directions: Sequence[int] | Ints,
        owners: Sequence[int] | Ints,
        values: Sequence[float] | Floats,
        **columns: Any,
    ) -> Results:
        """Return results of which only some columns are known."""
        size = len(values)
        unknown: dict[str, Any] = {name: Texts.unknown(size) for name in TEXTS}
        for name, missing in MISSING.items():
            known = np.asarray(columns.pop(name, missing), dtype=np.int64)
            unknown[name] = np.broadcast_to(known, size)
        return cls(
            list(ids),
            np.asarray(directions, dtype=np.int64),
            np.asarray(owners, dtype=np.int64),
            np.asarray(values, dtype=np.float64),
            **(unknown | columns),
        )

    def __len__(self) -> int:
        """Return the number of results."""
        return self.owners.size

    def only(self, chosen: Flags) -> Results:
        """Return the results that a mask chooses; the series stay."""
        if chosen.all():
            return self
        names = (field.name for field in fields(self)[2:-1])
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def unit_codes(self) -> Ints:
        """Return the code of the first known unit of each series; 0, the empty one, for none."""
        known = np.flatnonzero(self.units.known())[::-1]
        codes = np.zeros(len(self.ids), dtype=np.int64)
        codes[self.owners[known]] = self.units.codes[known]  # of several the last one stays
        return codes


class PointRuns(NamedTuple):
    """The runs of the points that have several, or one with a name.

    Attributes:
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
        return PointRuns(*(column[rows] for column in self))  # type: ignore[arg-type]

    def spreads(self) -> tuple[Ints, Ints, Floats]:
        """Return the points, the number of runs of each, and their spread.

        The spread is the median absolute deviation of the runs, scaled to estimate the standard
        deviation of one run; it is NaN for a single run.
        """
        firsts, counts = _groups(self.points)
        away = np.abs(self.values - np.repeat(_medians(self.values, firsts, counts), counts))
        few = FEW_RUNS[np.minimum(counts, FEW_RUNS.size - 1)]
        scale = np.where(counts < FEW_RUNS.size, few, counts / (counts - 0.8))
        return self.points[firsts], counts, MAD_TO_SD * scale * _medians(away, firsts, counts)


def combine(
    results: Results, aggregate: str = "median"
) -> tuple[dict[str, Any], Ints, Counter[str]]:
    """Combine the runs of each point.

    Results that name a run are runs of their commit, even if each run has an order of its own: the
    point has the lowest. Of several results of one run, the last listed counts. Results without a
    run are runs of their own, numbered as listed, unless they have the same time and value.

    Args:
        results: The results.
        aggregate: `median` or `mean`.

    Returns:
        The fields of a `History` by name; the rows that were left out because an earlier run names
        another commit; and the number of rows that were corrected or left out for other reasons, by
        reason.
    """
    ranks, names = results.runs.ranks()
    commits, _ = results.commits.ranks()
    orders = _first_orders(results, ranks, commits)
    rows = np.lexsort((ranks, orders, results.owners))
    points = np.cumsum(_begins(results.owners[rows], orders[rows])) - 1
    named = rows[np.flatnonzero(np.diff(points, prepend=-1))]
    known = np.flatnonzero(commits[rows] >= 0)[::-1]
    named[points[known]] = rows[known]  # of several rows of a point the last one stays: the first
    differs = (commits[rows] >= 0) & (commits[rows] != commits[named][points])
    conflicts, rows, points = np.sort(rows[differs]), rows[~differs], points[~differs]
    equal, later = _replaced(results, rows, ranks[rows], points)
    rows, points = rows[~(equal | later)], points[~(equal | later)]
    firsts, counts = _groups(points)
    values, times = results.values[rows], results.times[rows]
    combined = _medians(values, firsts, counts)
    if aggregate == "mean" and firsts.size:
        combined = np.where(counts > 1, np.add.reduceat(values, firsts) / counts, combined)
    places = np.arange(points.size) - np.repeat(firsts, counts)
    runs = PointRuns(points, _names(ranks[rows], names, places), values, times)
    listed = np.repeat((counts > 1) | (ranks[rows[firsts]] >= 0), counts)
    owners, codes = results.owners[rows[firsts]], results.unit_codes()
    columns = {
        "offsets": np.searchsorted(owners, np.arange(len(results.ids) + 1)).astype(np.int64),
        "orders": orders[rows[firsts]],
        "values": combined,
        "commits": results.commits[named],
        "times": np.maximum.reduceat(times, firsts) if firsts.size else times,
        "runs": runs.take(listed) if listed.any() else None,
        "units": [results.units.names[code] for code in codes.tolist()] if codes.any() else (),
    }
    moved = int((orders != results.orders).sum())
    corrected = Counter({EQUAL: int(equal.sum()), DIFFERENT: int(later.sum()), MOVED: moved})
    return columns, conflicts, +corrected


def _groups(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the first row of each group of equal numbers, which are sorted, and its size."""
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return firsts, np.diff(np.append(firsts, numbers.size))


def _medians(values: Floats, firsts: Ints, counts: Ints) -> Floats:
    """Return the median of each group of values."""
    ordered = values[np.lexsort((values, np.repeat(np.arange(firsts.size), counts)))]
    low, high = ordered[firsts + (counts - 1) // 2], ordered[firsts + counts // 2]
    middle: Floats = np.where(low == high, low, 0.5 * low + 0.5 * high)
    return middle


def _begins(*keys: Ints | Floats) -> Flags:
    """Mark the rows that differ from the one before in one of several columns."""
    fresh = np.ones(keys[0].size, dtype=np.bool_)
    fresh[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return fresh


def _first_orders(results: Results, ranks: Ints, commits: Ints) -> Ints:
    """Return the orders; results that name a run have the lowest one of their commit.

    A commit that was measured twice by a run of one name was measured at two times.
    """
    rows = np.flatnonzero((ranks >= 0) & (commits >= 0))
    if not rows.size:
        return results.orders
    rows = rows[
        np.lexsort((results.orders[rows], ranks[rows], commits[rows], results.owners[rows]))
    ]
    orders, begins = results.orders[rows], _begins(results.owners[rows], commits[rows])
    groups = np.cumsum(begins) - 1
    again = ~_begins(groups, ranks[rows]) & _begins(orders)
    together = np.bincount(groups, again)[groups] == 0
    lowest = np.minimum.reduceat(orders, np.flatnonzero(begins))[groups]
    changed = results.orders.copy()
    changed[rows[together]] = lowest[together]
    return changed


def _replaced(results: Results, rows: Ints, ranks: Ints, points: Ints) -> tuple[Flags, Flags]:
    """Mark the results that another of the same run replaces: by the same value, or by another."""
    values, times = results.values[rows], results.times[rows]
    equal, later = np.zeros((2, points.size), dtype=np.bool_)
    later[:-1] = ~_begins(points, ranks)[1:] & (ranks[1:] >= 0)
    equal[:-1] = later[:-1] & (np.diff(values) == 0)
    plain = np.flatnonzero(ranks < 0)
    plain = plain[np.lexsort((times[plain], values[plain], points[plain]))]
    equal[plain[~_begins(points[plain], values[plain], times[plain])]] = True
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

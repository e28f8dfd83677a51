"""Join candidates to their points, one row group at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from barograph.series import UNKNOWN_TIME, Ints
from barograph.sources.candidates import is_final
from barograph.sources.contract import Place, Skip
from barograph.sources.report import LoadReport
from barograph.sources.tables import times_array

COLUMNS = ["series", "order", "commit"]


class PointGroup:
    """The points of one row group, to be looked up by series and order or commit."""

    def __init__(self, table: pa.Table) -> None:
        self.owners = table.column("series").to_numpy()
        self.orders = table.column("order").to_numpy()
        self.commits = table.column("commit").combine_chunks()
        self._known: tuple[int, dict[str, int]] = (-1, {})

    def by_order(self, series: Ints, orders: Ints) -> Ints:
        """The rows of the points of given series at given orders, -1 where there is none."""
        lows = np.searchsorted(self.owners, series)
        highs = np.searchsorted(self.owners, series, side="right")
        return rows_of(self.orders, lows, highs, orders)

    def by_commit(self, series: int, commit: str) -> int:
        """The row of a series' first point with a commit, -1 where there is none."""
        if self._known[0] != series:
            low, high = np.searchsorted(self.owners, [series, series + 1]).tolist()
            commits = self.commits[low:high].to_pylist()
            rows = {commit: row for row, commit in reversed(list(enumerate(commits, low)))}
            self._known = (series, rows)
        return self._known[1].get(commit, -1)

    def indices(self, rows: Ints) -> Ints:
        """The 0-based places of rows in their series."""
        indices: Ints = rows - np.searchsorted(self.owners, self.owners[rows])
        return indices


def rows_of(orders: Ints, lows: Ints, highs: Ints, wanted: Ints) -> Ints:
    """Find each wanted order in its own sorted stretch of the orders; -1 where it is not.

    A binary search of all of them at once.
    """
    low, high = lows, highs
    while (low < high).any():
        middle = (low + high) // 2
        below = (low < high) & (orders[np.minimum(middle, orders.size - 1)] < wanted)
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
    found = (low < highs) & (orders[np.minimum(low, orders.size - 1)] == wanted)
    return np.where(found, low, -1)


def joined(
    points: pq.ParquetFile, groups: Iterator[pa.Table], report: LoadReport
) -> Iterator[list[pa.Array]]:
    """For each row group of points, the columns of the candidates table."""
    for number, candidates in enumerate(groups):
        if candidates.num_rows:
            group = PointGroup(points.read_row_group(number, columns=COLUMNS))
            yield _columns(group, candidates, report)


def _columns(group: PointGroup, candidates: pa.Table, report: LoadReport) -> list[pa.Array]:
    rows = _rows(group, candidates, report)
    chosen = _one_per_point(candidates, rows, report)
    kept, rows = candidates.take(chosen), rows[chosen]
    verdicts = kept.column("verdict").combine_chunks()
    report.verdicts.update(verdicts.to_pylist())
    report.kept["candidates"] += rows.size
    return [
        kept.column("series").combine_chunks(),
        pa.array(group.indices(rows).astype(np.int32)),
        pa.array(group.orders[rows]),
        _commits(group, kept, rows, report),
        verdicts,
        times_array(kept.column("calculated_on").to_numpy()),
        times_array(kept.column("triaged_on").to_numpy()),
        kept.column("algorithm").combine_chunks(),
    ]


def _rows(group: PointGroup, candidates: pa.Table, report: LoadReport) -> Ints:
    """The row of each candidate's point, by order or else by commit; -1 where it is skipped."""
    series = candidates.column("series").to_numpy()
    orders = candidates.column("order").fill_null(UNKNOWN_TIME).to_numpy()
    rows = group.by_order(series, orders)
    for number in np.flatnonzero(rows < 0).tolist():
        commit = candidates.column("commit")[number].as_py()
        if commit is not None:
            rows[number] = group.by_commit(int(series[number]), commit)
        if rows[number] >= 0:
            report.put_right["candidates placed by their commit"] += 1
        else:
            report.skip("candidates", _unplaced(candidates, number, "no such point in its series"))
    for number in np.flatnonzero((rows >= 0) & (group.indices(rows) == 0)).tolist():
        report.skip("candidates", _unplaced(candidates, number, "the first point of its series"))
        rows[number] = -1
    return rows


def _unplaced(candidates: pa.Table, number: int, reason: str) -> Skip:
    candidate = candidates.slice(number, 1).to_pylist()[0]
    field = "commit" if candidate["order"] is None else "order"
    return Skip(Place(candidate["file"], candidate["document"]), field, candidate[field], reason)


def _one_per_point(candidates: pa.Table, rows: Ints, report: LoadReport) -> Ints:
    """Which to keep, sorted by their points: of several at one point the best known.

    A decided verdict goes before an open one, then the later triaged, the later calculated, and
    the later document.
    """
    names = ("document", "calculated_on", "triaged_on")
    ranks = [candidates.column(name).to_numpy() for name in names]
    chosen = np.lexsort((*ranks, is_final(candidates.column("verdict")), rows))
    chosen = chosen[rows[chosen] >= 0]
    last = np.diff(rows[chosen], append=-1) != 0
    if not last.all():
        report.put_right["duplicate candidates, one kept"] += int((~last).sum())
    kept: Ints = chosen[last]
    return kept


def _commits(group: PointGroup, kept: pa.Table, rows: Ints, report: LoadReport) -> pa.Array:
    """The commits of the points; where a point has none, what the candidate says."""
    of_points, own = group.commits.take(pa.array(rows)), kept.column("commit").combine_chunks()
    differ = pc.sum(pc.not_equal(of_points, own)).as_py() or 0
    if differ:
        report.put_right["candidates placed by order, whose commit is another"] += differ
    return pc.coalesce(of_points, own)

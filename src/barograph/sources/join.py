"""Join candidates to their points, one row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.series import Ints
from barograph.sources.candidates import is_final
from barograph.sources.contract import Place, Skip
from barograph.sources.report import LoadReport
from barograph.sources.tables import times_array

COLUMNS = ["series", "order", "commit"]


class PointGroup:
    """The points of one row group, to be looked up by series and order or commit."""

    def __init__(self, table: pa.Table) -> None:
        self._owners = table.column("series").to_numpy()
        self._orders = table.column("order").to_numpy()
        self._commits = table.column("commit")
        self._known: tuple[int, dict[str, int]] = (-1, {})

    def find(self, series: int, order: int | None, commit: str | None) -> int | None:
        """The row of a series' point at an order, or else of its first one with a commit."""
        low, high = np.searchsorted(self._owners, [series, series + 1])
        if order is not None:
            row = int(low + np.searchsorted(self._orders[low:high], order))
            if row < high and self._orders[row] == order:
                return row
        if commit is None:
            return None
        return self._rows_by_commit(series, int(low), int(high)).get(commit)

    def _rows_by_commit(self, series: int, low: int, high: int) -> dict[str, int]:
        if self._known[0] != series:
            commits = self._commits.slice(low, high - low).to_pylist()
            rows = {commit: row for row, commit in reversed(list(enumerate(commits, low)))}
            self._known = (series, rows)
        return self._known[1]

    def index(self, row: int) -> int:
        """The 0-based place of a row in its series."""
        return row - int(np.searchsorted(self._owners, self._owners[row]))

    def order(self, row: int) -> int:
        """The order of a row."""
        return int(self._orders[row])

    def commit(self, row: int) -> str | None:
        """The commit of a row."""
        commit: str | None = self._commits[row].as_py()
        return commit


def joined(
    points: pq.ParquetFile, groups: Iterator[pa.Table], report: LoadReport
) -> Iterator[list[pa.Array]]:
    """For each row group of points, the columns of the candidates table."""
    for number, candidates in enumerate(groups):
        if candidates.num_rows:
            group = PointGroup(points.read_row_group(number, columns=COLUMNS))
            yield _columns(candidates, *_matched(group, candidates, report), report)


def _matched(
    group: PointGroup, candidates: pa.Table, report: LoadReport
) -> tuple[Ints, Ints, list[str | None]]:
    """The index, order and commit of each candidate's point; index -1 where it was skipped."""
    indices = np.full(candidates.num_rows, -1, dtype=np.int64)
    orders = np.zeros(candidates.num_rows, dtype=np.int64)
    commits: list[str | None] = [None] * candidates.num_rows
    for number, candidate in enumerate(candidates.select(range(5)).to_pylist()):
        order, commit = candidate["order"], candidate["commit"]
        row = group.find(candidate["series"], order, commit)
        if row is None or group.index(row) == 0:
            report.skip("candidates", _unplaced(candidate, row))
            continue
        indices[number], orders[number] = group.index(row), group.order(row)
        commits[number] = group.commit(row) or commit
        if orders[number] != order:
            report.put_right["candidates placed by their commit"] += 1
        elif commit is not None and commit != commits[number]:
            report.put_right["candidates placed by order, whose commit is another"] += 1
    return indices, orders, commits


def _unplaced(candidate: dict[str, Any], row: int | None) -> Skip:
    place = Place(candidate["file"], candidate["document"])
    field = "commit" if candidate["order"] is None else "order"
    reason = "its series has no such point" if row is None else "the first point of its series"
    return Skip(place, field, candidate[field], reason)


def _columns(
    candidates: pa.Table, indices: Ints, orders: Ints, commits: list[str | None], report: LoadReport
) -> list[pa.Array]:
    series = candidates.column("series").to_numpy()
    rows = _one_per_point(candidates, series, indices, report)
    kept = candidates.take(rows)
    report.verdicts.update(kept.column("verdict").to_pylist())
    report.kept["candidates"] += len(rows)
    return [
        kept.column("series").combine_chunks(),
        pa.array(indices[rows].astype(np.int32)),
        pa.array(orders[rows]),
        pa.array([commits[row] for row in rows], pa.string()),
        kept.column("verdict").combine_chunks(),
        times_array(kept.column("calculated_on").to_numpy()),
        times_array(kept.column("triaged_on").to_numpy()),
        kept.column("algorithm").combine_chunks(),
    ]


def _one_per_point(candidates: pa.Table, series: Ints, indices: Ints, report: LoadReport) -> Ints:
    """The rows to keep, sorted: of several at one point the best known.

    A decided verdict goes before an open one, then the later triaged, the later calculated, and
    the later document.
    """
    ranks = (
        candidates.column("document").to_numpy(),
        candidates.column("calculated_on").to_numpy(),
        candidates.column("triaged_on").to_numpy(),
        is_final(candidates.column("verdict")),
        indices,
        series,
    )
    rows = np.lexsort(ranks)
    rows = rows[indices[rows] >= 0]
    last = np.ones(rows.size, dtype=bool)
    last[:-1] = (np.diff(series[rows]) != 0) | (np.diff(indices[rows]) != 0)
    if not last.all():
        report.put_right["duplicate candidates, one kept"] += int((~last).sum())
    return rows[last]

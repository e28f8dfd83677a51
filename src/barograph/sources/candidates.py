"""Read change point documents, and join them to their points."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from barograph.parquet import dates
from barograph.series import FINAL, UNKNOWN_TIME, Ints
from barograph.sources.base import Document
from barograph.sources.fields import FieldError, identity_of, order_of, text_of, verdict_of
from barograph.sources.points import time_or_unknown
from barograph.sources.report import LoadReport, Place, Skip

SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("file", pa.string()),
        ("document", pa.int64()),
        ("order", pa.int64()),
        ("commit", pa.string()),
        ("verdict", pa.string()),
        ("calculated_on", pa.int64()),
        ("triaged_on", pa.int64()),
        ("algorithm", pa.string()),
    ]
)
POINT_COLUMNS = ["series", "order", "commit"]
CandidateRow = tuple[int, str, int, int | None, str | None, str, int, int, str | None]


def read_candidate(
    document: Document, numbers: Mapping[bytes, int], report: LoadReport
) -> CandidateRow | None:
    """Read a document; one that cannot be used is counted and returns None."""
    report.read["candidates"] += 1
    place, fields = document
    try:
        series = _series_of(fields, numbers)
        triage = _mapping(fields.get("triage"), "triage")
        status = triage.get("triage_status")
        verdict = verdict_of(status, "triage.triage_status")
        order = order_of(fields.get("order"), "order")
        commit = text_of(fields.get("commit"), "commit")
        if order is None and commit is None:
            raise FieldError("order", None, "neither order nor commit")
    except FieldError as fault:
        report.skip("candidates", Skip(place, fault.field, fault.value, fault.reason))
        return None
    report.labels["none" if status is None else str(status)] += 1
    calculated = time_or_unknown(fields.get("calculated_on"), report)
    triaged = time_or_unknown(triage.get("triaged_on"), report)
    algorithm = _algorithm(fields.get("algorithm"))
    position = series, place.file, place.document, order, commit
    return (*position, verdict.value, calculated, triaged, algorithm)


def _series_of(fields: Mapping[str, Any], numbers: Mapping[bytes, int]) -> int:
    """Return the number of the series in `time_series_info`, or in the document itself."""
    info = fields.get("time_series_info")
    if info is None:
        identity = identity_of(fields)
    else:
        identity = identity_of(_mapping(info, "time_series_info"), "time_series_info.")
    number = numbers.get(identity.digest)
    if number is None:
        raise FieldError("time_series_info", str(identity), "no such series")
    return number


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(field, value, "not a document")
    return value


def _algorithm(value: object) -> str | None:
    """Return the name and the version, separated by a space."""
    parts = [value.get("name"), value.get("version")] if isinstance(value, Mapping) else [value]
    text = " ".join(str(part) for part in parts if part is not None)
    return text.encode(errors="replace").decode() or None


def by_group(rows: list[CandidateRow], ends: Sequence[int]) -> Iterator[pa.Table]:
    """Yield the candidates of each row group of points.

    Args:
        rows: All candidates; they get sorted by series.
        ends: For each row group of points, the number of the series after its last one.
    """
    rows.sort(key=operator.itemgetter(0))
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA)
    bounds = np.searchsorted(columns[0], [0, *ends]).tolist()
    for start, stop in itertools.pairwise(bounds):
        yield table.slice(start, stop - start)


class PointGroup:
    """The points of one row group, indexed by series and order or commit."""

    def __init__(self, table: pa.Table) -> None:
        self.owners = table.column("series").to_numpy()
        self.orders = table.column("order").to_numpy()
        self.commits = table.column("commit").combine_chunks()
        self._known: tuple[int, dict[str, int]] = (-1, {})

    def by_order(self, series: Ints, orders: Ints) -> Ints:
        """Return the rows of points by series and order, -1 where there is none."""
        lows = np.searchsorted(self.owners, series)
        highs = np.searchsorted(self.owners, series, side="right")
        return rows_of(self.orders, lows, highs, orders)

    def by_commit(self, series: int, commit: str) -> int:
        """Return the row of a series' first point with a commit, -1 if there is none."""
        if self._known[0] != series:
            low, high = np.searchsorted(self.owners, [series, series + 1]).tolist()
            commits = self.commits[low:high].to_pylist()
            rows = {commit: row for row, commit in reversed(list(enumerate(commits, low)))}
            self._known = (series, rows)
        return self._known[1].get(commit, -1)

    def indices(self, rows: Ints) -> Ints:
        """Return the 0-based positions of rows in their series."""
        indices: Ints = rows - np.searchsorted(self.owners, self.owners[rows])
        return indices


def rows_of(orders: Ints, lows: Ints, highs: Ints, searched: Ints) -> Ints:
    """Search each wanted order in its own sorted range of `orders`, all at once.

    Returns:
        The index of each, or -1 if its range does not contain it.
    """
    low, high = lows, highs
    while (low < high).any():
        middle = (low + high) // 2
        below = (low < high) & (orders[np.minimum(middle, orders.size - 1)] < searched)
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
    matches = (low < highs) & (orders[np.minimum(low, orders.size - 1)] == searched)
    return np.where(matches, low, -1)


def join_candidates(
    points: pq.ParquetFile, groups: Iterator[pa.Table], report: LoadReport
) -> Iterator[list[pa.Array]]:
    """Yield the columns of the candidates table for each row group of points."""
    for number, candidates in enumerate(groups):
        if candidates.num_rows:
            group = PointGroup(points.read_row_group(number, columns=POINT_COLUMNS))
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
        dates(kept.column("calculated_on").to_numpy()),
        dates(kept.column("triaged_on").to_numpy()),
        kept.column("algorithm").combine_chunks(),
    ]


def _rows(group: PointGroup, candidates: pa.Table, report: LoadReport) -> Ints:
    """Return the row of each candidate's point, by order or else by commit; -1 if skipped."""
    series = candidates.column("series").to_numpy()
    orders = candidates.column("order").fill_null(UNKNOWN_TIME).to_numpy()
    rows = group.by_order(series, orders)
    for number in np.flatnonzero(rows < 0).tolist():
        commit = candidates.column("commit")[number].as_py()
        if commit is not None:
            rows[number] = group.by_commit(int(series[number]), commit)
        if rows[number] >= 0:
            report.corrected["candidates placed by their commit"] += 1
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
    """Return the candidates to keep, at most one for each point, sorted by point.

    A final verdict is preferred, then the later triaged, the later calculated, and the later
    document.
    """
    names = ("document", "calculated_on", "triaged_on")
    ranks = [candidates.column(name).to_numpy() for name in names]
    verdicts = candidates.column("verdict").to_numpy(zero_copy_only=False).astype(str)
    chosen = np.lexsort((*ranks, np.isin(verdicts, FINAL), rows))
    chosen = chosen[rows[chosen] >= 0]
    last = np.diff(rows[chosen], append=-1) != 0
    if not last.all():
        report.corrected["duplicate candidates, one kept"] += int((~last).sum())
    kept: Ints = chosen[last]
    return kept


def _commits(group: PointGroup, kept: pa.Table, rows: Ints, report: LoadReport) -> pa.Array:
    """Return the commits of the points, or of the candidate where the point has none."""
    of_points, stated = group.commits.take(pa.array(rows)), kept.column("commit").combine_chunks()
    differ = pc.sum(pc.not_equal(of_points, stated)).as_py() or 0
    if differ:
        report.corrected["candidates placed by order, whose commit is another"] += differ
    return pc.coalesce(of_points, stated)

"""Read change point documents, and keep them on the disk until the points stand.

A candidate waits as one row of numbers and texts. Batches are sorted by series and spilled, in
pieces that belong to one row group of points each; to join a group, its piece of every spill is
read. So memory holds one batch, then one group, however many candidates there are.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from barograph.series import FINAL
from barograph.sources.contract import Document, Skip
from barograph.sources.fields import (
    FieldError,
    identity_of,
    order_of,
    text_of,
    verdict_of,
)
from barograph.sources.points import time_or_unknown
from barograph.sources.report import LoadReport
from barograph.sources.spilling import spilling

BATCH = 50_000
SPILL_SCHEMA = pa.schema(
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
Row = tuple[int, str, int, int | None, str | None, str, int, int, str | None]


def read_candidate(
    document: Document, numbers: Mapping[bytes, int], report: LoadReport
) -> Row | None:
    """Read a document; None, and counted, where it cannot be used."""
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
    return (series, *place, order, commit, verdict.value, calculated, triaged, algorithm)


def _series_of(fields: Mapping[str, Any], numbers: Mapping[bytes, int]) -> int:
    """Find the series by `time_series_info`, or by the same fields beside it."""
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
    """The name and the version, a space between."""
    parts = [value.get("name"), value.get("version")] if isinstance(value, Mapping) else [value]
    text = " ".join(str(part) for part in parts if part is not None)
    return text.encode(errors="replace").decode() or None


class Spills:
    """Candidates on the disk, in batches cut where row groups of points end.

    Args:
        folder: Where the spills go.
        ends: The series below which each row group ends.
    """

    def __init__(self, folder: Path, ends: list[int]) -> None:
        self._folder, self._ends = folder, ends
        self._rows: list[Row] = []
        self._files: list[Path] = []

    def add(self, row: Row) -> bool:
        """Keep one candidate; whether a batch was written."""
        self._rows.append(row)
        full = len(self._rows) >= BATCH
        if full:
            self._spill()
        return full

    def _spill(self) -> None:
        rows, self._rows = sorted(self._rows, key=operator.itemgetter(0)), []
        columns = [
            pa.array(column, field.type)
            for column, field in zip(zip(*rows, strict=True), SPILL_SCHEMA, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=SPILL_SCHEMA)
        bounds = np.searchsorted([row[0] for row in rows], [0, *self._ends]).tolist()
        path = self._folder / f"candidates.{len(self._files)}.arrow"
        with spilling(path, SPILL_SCHEMA) as writer:
            for start, stop in itertools.pairwise(bounds):
                writer.write_batch(batch.slice(start, stop - start))
        self._files.append(path)

    def groups(self) -> Iterator[pa.Table]:
        """The candidates of each row group of points."""
        if self._rows:
            self._spill()
        for group in range(len(self._ends)):
            pieces = [_piece(path, group) for path in self._files]
            yield pa.Table.from_batches(pieces, SPILL_SCHEMA).combine_chunks()


def _piece(path: Path, group: int) -> pa.RecordBatch:
    # Read, not mapped: mapped pages would count as this process's memory.
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as spill:
        return spill.get_batch(group)


def is_final(verdicts: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of the verdicts a person has decided."""
    return np.isin(verdicts.to_numpy(zero_copy_only=False).astype(str), FINAL)

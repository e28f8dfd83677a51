"""Load any source into the three Parquet tables of `barograph.history`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from barograph.errors import ConfigError, DataError
from barograph.files import published
from barograph.parquet import SCHEMAS
from barograph.sources.base import SeriesColumns, Source
from barograph.sources.candidates import CandidateRow, by_group, join_candidates, read_candidate
from barograph.sources.files import Files
from barograph.sources.points import read_series
from barograph.sources.report import KINDS, LoadReport, Place, Skip
from barograph.sources.tables import SeriesWriter, TableWriter

ProgressCallback = Callable[[str, int], None]

TABLES = [f"{name}.parquet" for name in SCHEMAS]
REPORTED = 50_000  # candidates between two calls of the progress


def load(
    source: Source | Files,
    folder: str | Path,
    *,
    max_skipped_share: float = 0.05,
    progress: ProgressCallback | None = None,
) -> LoadReport:
    """Read a source once and write `series`, `points` and `candidates`, all three or none.

    Memory holds all of result files; of other sources one hash for each series, the candidates,
    and a bounded batch of points.

    Args:
        source: From `open_source`, or any other `Source`.
        folder: The folder for the tables. It is created if missing; older tables are replaced.
        max_skipped_share: The maximum share of the series, of the points and of the candidates
            that may be skipped as unusable. Above it nothing is written.
        progress: Called now and then with what is being read, and how many were read so far.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
    """
    if not 0 <= max_skipped_share <= 1:
        raise ConfigError(f"max_skipped_share: {max_skipped_share}; allowed: 0 to 1")
    if isinstance(source, Files):
        return source.write(folder, max_skipped_share)
    report = LoadReport(source.name)
    with published(folder, TABLES) as draft:
        numbers, ends = _write_series(source, draft, report, progress)
        report.check_shares(("series", "points"), max_skipped_share)
        if not numbers:
            raise DataError(f"{source.name}: contains no time series")
        candidates = _candidates(source, numbers, report, progress)
        with (
            TableWriter(draft, "candidates") as table,
            pq.ParquetFile(draft / "points.parquet") as points,
        ):
            for columns in join_candidates(points, by_group(candidates, ends), report):
                table.write(columns)
        report.check_shares(KINDS, max_skipped_share)
    return report


def _write_series(
    source: Source, draft: Path, report: LoadReport, progress: ProgressCallback | None
) -> tuple[dict[bytes, int], list[int]]:
    """Write series and points; return the number of each identity, and where row groups end."""
    numbers: dict[bytes, int] = {}
    with ExitStack() as stack:
        series = stack.enter_context(TableWriter(draft, "series"))
        points = stack.enter_context(TableWriter(draft, "points"))
        writer = SeriesWriter(series, points)
        for columns in _columns(source, report):
            fresh = _unseen(columns, numbers, report)
            if fresh is not None and writer.add(fresh) and progress:
                progress("points", report.read["points"])
        writer.flush()
    report.kept["series"], report.kept["points"] = writer.series, writer.points
    return numbers, writer.ends


def _columns(source: Source, report: LoadReport) -> Iterator[SeriesColumns]:
    """Turn the items of the source into columns, and count them."""
    for item in source.time_series():
        if isinstance(item, SeriesColumns):
            report.read["series"] += len(item.ids)
            report.read["points"] += item.values.size
            yield item
            continue
        report.read["series"] += 1
        if isinstance(item, Skip):
            report.skip("series", item)
            continue
        columns = read_series(item, report)
        if columns is not None:
            yield columns


def _unseen(
    columns: SeriesColumns, numbers: dict[bytes, int], report: LoadReport
) -> SeriesColumns | None:
    """Number the series; skip and count those with an identity that was read before."""
    fresh = np.ones(len(columns.ids), dtype=bool)
    for place, identity in enumerate(columns.ids):
        digest = identity.digest
        if digest not in numbers:
            numbers[digest] = len(numbers)
            continue
        fresh[place] = False
        skip = Skip(
            Place(columns.file, columns.first + place),
            "project/variant/task/test/measurement/args",
            str(identity),
            "an earlier series has the same identity",
        )
        report.skip("series", skip)
        report.skip("points", skip, int(columns.counts[place]))
    if fresh.all():
        return columns
    return columns.only(fresh) if fresh.any() else None


def _candidates(
    source: Source,
    numbers: dict[bytes, int],
    report: LoadReport,
    progress: ProgressCallback | None,
) -> list[CandidateRow]:
    """Read the candidates; count those that cannot be used."""
    rows: list[CandidateRow] = []
    for item in source.change_points():
        if isinstance(item, Skip):
            report.read["candidates"] += 1
            report.skip("candidates", item)
            continue
        row = read_candidate(item, numbers, report)
        if row is not None:
            rows.append(row)
            if progress and len(rows) % REPORTED == 0:
                progress("candidates", report.read["candidates"])
    return rows

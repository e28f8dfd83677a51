"""Import a history from three Parquet tables into the store, and export it again.

The tables are those of `barograph.history`, which every source is loaded into and the pipeline
trains from: a point is a commit with the value that counts for it. What only the store reads is an
additional column `run` of the points, and a fourth table: all results of the commits with several.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.errors import DataError
from barograph.files import whole
from barograph.history import (
    CANDIDATES_SCHEMA,
    POINTS_SCHEMA,
    RUN_COLUMNS,
    SERIES_SCHEMA,
    History,
)
from barograph.series import UNKNOWN_TIME, Direction, Verdict
from barograph.store import audit
from barograph.store.audit import now
from barograph.store.measurement import Measurement
from barograph.store.reading import read_series
from barograph.store.registry import series_id
from barograph.store.results import PointStatus
from barograph.store.rows import Insertion, Row
from barograph.store.schema import candidates, moves, points, series, verdicts
from barograph.store.store import Store

BATCH = 20_000  # points in one transaction
CHUNK = 500  # series in one query
RUNS = "runs.parquet"  # all results of the commits with several
RUNS_SCHEMA = pa.schema(
    [*(field for field in POINTS_SCHEMA if field.name not in RUN_COLUMNS), ("run", pa.string())]
)
CANDIDATE = ("series", "order", "commit", "detector", "verdict", "present")
DATES = ("calculated_on", "triaged_on")
NEW = Insertion(candidates, (*CANDIDATE, *DATES))
GIVEN = Insertion(verdicts, ("candidate", "verdict", "who", "given", "note"))


@dataclass(frozen=True)
class ImportResult:
    """What happened to the rows of the tables.

    Attributes:
        points: Number of points by status.
        reasons: Number of rejected points by reason.
        candidates: Number of candidates that were written.
        already: Number of candidates that the store had.
    """

    points: dict[str, int]
    reasons: dict[str, int]
    candidates: int
    already: int


def import_tables(store: Store, folder: str | Path, who: str) -> ImportResult:
    """Import the tables of a folder; what the store has already is skipped.

    Args:
        store: Store to import into.
        folder: Folder of the three tables.
        who: Name for the audit trail.

    Raises:
        DataError: A table is missing, or they do not fit together.
        StoreError: A batch failed. Earlier batches stay; the same call imports the rest.
    """
    history = History.read(folder)
    counts = dict.fromkeys((status.value for status in PointStatus), 0)
    reasons: Counter[str] = Counter()
    numbers = np.zeros(len(history), dtype=np.int64)
    for owners, batch in _batches(history, _StoredRuns.of(folder, history.values.size)):
        result = store.ingest(batch, who)
        for status, count in result.counts.items():
            counts[status] += count
        reasons.update(result.reasons)
        for owner, point in zip(owners, result.points, strict=True):
            numbers[owner] = point.series or numbers[owner]
    written = store.write(lambda connection: _write_candidates(connection, history, numbers, who))
    return ImportResult(counts, dict(reasons), *written)


class _StoredRuns(NamedTuple):
    """What the tables say about runs.

    Attributes:
        first: The run of each point.
        every: Run, value and time of all results of a commit that has several, by series and order.
    """

    first: list[str]
    every: dict[tuple[int, int], list[tuple[str, float, int | None]]]

    @classmethod
    def of(cls, folder: str | Path, count: int) -> Self:
        """Read the runs of `count` points; without a column `run`, each commit has one."""
        path = Path(folder) / "points.parquet"
        if pq.read_schema(path).names != RUNS_SCHEMA.names:
            return cls([""] * count, {})
        first = pq.read_table(path, columns=["run"]).column("run").to_pylist()
        every: dict[tuple[int, int], list[tuple[str, float, int | None]]] = defaultdict(list)
        if not (Path(folder) / RUNS).is_file():
            raise DataError(f"{Path(folder) / RUNS}: no such file; points.parquet needs it")
        try:
            table = pq.read_table(Path(folder) / RUNS)
        except pa.ArrowException as error:
            raise DataError(
                f"{Path(folder) / RUNS}: not a readable Parquet file: {error}"
            ) from error
        times = table.column("time").cast(pa.int64()).to_pylist()
        columns = (table.column(name).to_pylist() for name in ("series", "order", "run", "value"))
        for number, order, run, value, time in zip(*columns, times, strict=True):
            every[number, order].append((run, value, time))
        return cls(first, dict(every))


def _batches(history: History, runs: _StoredRuns) -> Iterator[tuple[list[int], list[Measurement]]]:
    """Yield batches of measurements, series after series, with the series of each."""
    owners: list[int] = []
    batch: list[Measurement] = []
    for number, measurement in _measurements(history, runs):
        owners.append(number)
        batch.append(measurement)
        if len(batch) == BATCH:
            yield owners, batch
            owners, batch = [], []
    if batch:
        yield owners, batch


def _measurements(history: History, runs: _StoredRuns) -> Iterator[tuple[int, Measurement]]:
    """Yield every result with the number of its series."""
    directions = history.series.column("direction").to_pylist()
    for number in range(len(history)):
        name, direction = history.id_of(number), Direction(directions[number] or 0)
        low, high = int(history.offsets[number]), int(history.offsets[number + 1])
        commits = history.commits.slice(low, high - low).to_pylist()
        several = history.runs_of(number)
        for row, commit in zip(range(low, high), commits, strict=True):
            order, time = int(history.orders[row]), int(history.times[row])
            measured = None if time == UNKNOWN_TIME else time
            named = several.get(row - low) or {runs.first[row]: float(history.values[row])}
            only = [(run, value, measured) for run, value in named.items()]
            for run, value, measured in runs.every.get((number, order), only):
                yield (
                    number,
                    Measurement(name, value, order, commit or "", run, measured, direction),
                )


def _write_candidates(
    connection: sa.Connection, history: History, numbers: np.ndarray[Any, Any], who: str
) -> tuple[int, int]:
    """Write the candidates that the store lacks; return how many, and how many it had.

    A candidate that moved after an earlier import is found under the order that it came with.
    """
    c, m = candidates.c, moves.c
    known = {(owner, order) for owner, order in connection.execute(sa.select(c.series, c.order))}
    moved = sa.select(c.series, m.from_order).join(moves, m.candidate == c.id)
    known |= {(owner, order) for owner, order in connection.execute(moved)}
    new: list[Row] = []
    table = history.candidates.to_pylist()
    for row in table:
        place = (int(numbers[row["series"]]), row["order"])
        if not place[0] or place in known:
            continue
        known.add(place)
        dates = [_milliseconds(row[name]) for name in DATES]
        new.append((*place, row["commit"] or "", row["algorithm"], row["verdict"], True, *dates))
    NEW.into(connection, new)
    at = now()
    judged = {row[:2]: row for row in new if row[4] != Verdict.NOT_TRIAGED.value}
    decided: list[Row] = []
    for number, owner, order in connection.execute(sa.select(c.id, c.series, c.order)):
        row = judged.pop((owner, order), None)
        if row is not None:
            decided.append((number, row[4], who, at if row[-1] is None else row[-1], "imported"))
    GIVEN.into(connection, decided)
    if new:
        audit.note(connection, at, who, "import", "candidates", written=len(new))
    return len(new), len(table) - len(new)


def _milliseconds(date: datetime | None) -> int | None:
    return None if date is None else round(date.timestamp() * 1000)


def export_tables(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write everything as the three tables and that of the runs; return the rows of each.

    Args:
        connection: A reading transaction, so that the tables are consistent.
        folder: Folder to write into.
    """
    target = Path(folder)
    with (
        whole(target / "series.parquet") as first,
        whole(target / "points.parquet") as second,
        whole(target / "candidates.parquet") as third,
        whole(target / RUNS) as fourth,
    ):
        rows = list(connection.execute(sa.select(series).order_by(series.c.id)))
        numbers = [row.id for row in rows]
        table = pa.Table.from_pylist([_series_row(row) for row in rows], SERIES_SCHEMA)
        pq.write_table(table, first, compression="zstd")
        with (
            pq.ParquetWriter(second, RUNS_SCHEMA, compression="zstd") as settled,
            pq.ParquetWriter(fourth, RUNS_SCHEMA, compression="zstd") as every,
        ):
            count = runs = 0
            for of_commits, of_reruns in _points(connection, numbers):
                settled.write_table(of_commits)
                every.write_table(of_reruns)
                count += of_commits.num_rows
                runs += of_reruns.num_rows
        found = _candidate_rows(connection, numbers)
        pq.write_table(pa.Table.from_pylist(found, CANDIDATES_SCHEMA), third, compression="zstd")
    return {"series": len(rows), "points": count, "runs": runs, "candidates": len(found)}


def is_export(folder: str | Path) -> bool:
    """Return whether `export_tables` wrote the tables of a folder: they have runs."""
    try:
        return bool(pq.read_schema(Path(folder) / "points.parquet").names == RUNS_SCHEMA.names)
    except (OSError, pa.ArrowInvalid):
        return False


def _series_row(row: sa.Row[Any]) -> dict[str, object]:
    name = series_id(row)
    return {**name.labels, "args": name.args_json, "direction": row.direction}


def _points(connection: sa.Connection, numbers: list[int]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield the settled values of some series, and all results of the commits with several."""
    p = points.c
    for first in range(0, len(numbers), CHUNK):
        chunk = numbers[first : first + CHUNK]
        rows = connection.execute(
            sa.select(p.series, p.order, p.commit, p.time, p.value, p.run, p.settled)
            .where(p.series.in_(chunk))
            .order_by(p.series, p.order, p.run)
        ).all()
        *columns, settled = list(zip(*rows, strict=True)) or [()] * 7
        owners = np.searchsorted(numbers, np.array(columns[0], dtype=np.int64))
        every = pa.Table.from_arrays(
            [
                pa.array(owners, pa.int32()),
                pa.array(columns[1], pa.int64()),
                pa.array([commit or None for commit in columns[2]], pa.string()),
                pa.array(columns[3], pa.int64()).cast(pa.timestamp("ms", tz="UTC")),
                pa.array(columns[4], pa.float64()),
                pa.array(columns[5], pa.string()),
            ],
            schema=RUNS_SCHEMA,
        )
        values = pa.array(settled, pa.float64())
        is_first = np.asarray(values.is_valid())
        commits = np.cumsum(is_first) - 1
        has_reruns = np.bincount(commits, minlength=0)[commits] > 1
        place = RUNS_SCHEMA.get_field_index("value")
        yield (
            every.set_column(place, RUNS_SCHEMA.field("value"), values).filter(pa.array(is_first)),
            every.filter(pa.array(has_reruns)),
        )


def _candidate_rows(connection: sa.Connection, numbers: list[int]) -> list[dict[str, object]]:
    """Return the present candidates, each with its position in its series."""
    c = candidates.c
    query = sa.select(candidates).where(c.present).order_by(c.series, c.order, c.id)
    by_series: dict[int, list[Any]] = {}
    for row in connection.execute(query):
        by_series.setdefault(row.series, []).append(row)
    owners = list(by_series)
    return [
        {
            "series": int(np.searchsorted(numbers, number)),
            "index": history.index_of(row.order),
            "order": row.order,
            "commit": row.commit or None,
            "verdict": row.verdict,
            "calculated_on": row.calculated_on,
            "triaged_on": row.triaged_on,
            "algorithm": row.detector,
        }
        for first in range(0, len(owners), CHUNK)
        for number, history in read_series(connection, owners[first : first + CHUNK]).items()
        for row in by_series[number]
    ]

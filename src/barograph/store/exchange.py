"""Fill the store from the project's three tables, and give everything back as them.

The tables are those of `barograph.history`, which every source is loaded into and the pipeline
trains from; a column `run` of the points, which others do not read, tells runs of a commit apart.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.files import whole
from barograph.history import CANDIDATES_SCHEMA, POINTS_SCHEMA, SERIES_SCHEMA, History
from barograph.series import UNKNOWN_TIME, Direction, Verdict
from barograph.store import audit
from barograph.store.clock import now
from barograph.store.measurement import Measurement
from barograph.store.queries import read_series
from barograph.store.registry import series_id
from barograph.store.results import Status
from barograph.store.rows import Insertion, Row
from barograph.store.schema import candidates, moves, series, verdicts
from barograph.store.shelf import ALL
from barograph.store.store import Store

BATCH = 20_000  # points in one transaction
CHUNK = 500  # series in one question
RUNS_SCHEMA = POINTS_SCHEMA.append(pa.field("run", pa.string()))
CANDIDATE = ("series", "order", "commit", "detector", "verdict", "present")
DATES = ("calculated_on", "triaged_on")
NEW = Insertion(candidates, (*CANDIDATE, *DATES))
GIVEN = Insertion(verdicts, ("candidate", "verdict", "who", "given", "note"))


@dataclass(frozen=True)
class Filled:
    """What became of the rows of the tables."""

    points: dict[str, int]
    reasons: dict[str, int]  # why points were rejected, and how many for each
    candidates: int
    already: int


def fill(store: Store, folder: str | Path, who: str) -> Filled:
    """Take the tables of a folder into the store; what it has already is passed over.

    Raises:
        DataError: a table is missing, or they do not fit together.
        StoreError: what was taken in so far stays; the same call again takes the rest.
    """
    history = History.read(folder)
    total = dict.fromkeys((status.value for status in Status), 0)
    reasons: Counter[str] = Counter()
    numbers = np.zeros(len(history), dtype=np.int64)
    for owners, batch in _batches(history, _runs(folder, history.values.size)):
        answer = store.ingest(batch, who)
        for status, count in answer.counts.items():
            total[status] += count
        reasons.update(answer.reasons)
        for owner, one in zip(owners, answer.outcomes, strict=True):
            numbers[owner] = one.series or numbers[owner]
    found = store.write(lambda connection: _fill_candidates(connection, history, numbers, who))
    return Filled(total, dict(reasons), *found)


def _runs(folder: str | Path, count: int) -> list[str]:
    path = Path(folder) / "points.parquet"
    if "run" not in pq.read_schema(path).names:
        return [""] * count
    return [run or "" for run in pq.read_table(path, columns=["run"]).column("run").to_pylist()]


def _batches(history: History, runs: list[str]) -> Iterator[tuple[list[int], list[Measurement]]]:
    """Whole series together, up to a batch of points; a longer series in pieces."""
    owners: list[int] = []
    batch: list[Measurement] = []
    directions = history.series.column("direction").to_pylist()
    for number in range(len(history)):
        name, direction = history.id_of(number), Direction(directions[number] or 0)
        low, high = int(history.offsets[number]), int(history.offsets[number + 1])
        commits = history.commits.slice(low, high - low).to_pylist()
        for row, commit in zip(range(low, high), commits, strict=True):
            when = int(history.times[row])
            one = Measurement(
                name,
                float(history.values[row]),
                int(history.orders[row]),
                commit or "",
                runs[row],
                None if when == UNKNOWN_TIME else when,
                direction,
            )
            owners.append(number)
            batch.append(one)
            if len(batch) == BATCH:
                yield owners, batch
                owners, batch = [], []
    if batch:
        yield owners, batch


def _fill_candidates(
    connection: sa.Connection, history: History, numbers: np.ndarray[Any, Any], who: str
) -> tuple[int, int]:
    """Write the candidates that the store lacks; return how many, and how many it had.

    One that moved since it was taken in is there, too: under the place that it came with.
    """
    c, m = candidates.c, moves.c
    have = {(owner, order) for owner, order in connection.execute(sa.select(c.series, c.order))}
    former = sa.select(c.series, m.from_order).join(moves, m.candidate == c.id)
    have |= {(owner, order) for owner, order in connection.execute(former)}
    new: list[Row] = []
    table = history.candidates.to_pylist()
    for row in table:
        place = (int(numbers[row["series"]]), row["order"])
        if not place[0] or place in have:
            continue
        have.add(place)
        dates = [_milliseconds(row[name]) for name in DATES]
        new.append((*place, row["commit"] or "", row["algorithm"], row["verdict"], True, *dates))
    NEW.into(connection, new)
    at = now()
    imported = {row[:2]: row for row in new if row[4] != Verdict.NOT_TRIAGED.value}
    said: list[Row] = []
    for number, owner, order in connection.execute(sa.select(c.id, c.series, c.order)):
        row = imported.pop((owner, order), None)
        if row is not None:
            said.append((number, row[4], who, at if row[-1] is None else row[-1], "imported"))
    GIVEN.into(connection, said)
    if new:
        audit.note(connection, at, who, "import", "candidates", written=len(new))
    return len(new), len(table) - len(new)


def _milliseconds(date: datetime | None) -> int | None:
    return None if date is None else round(date.timestamp() * 1000)


def give_back(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write everything as the three tables; return how many rows each has.

    Args:
        connection: a reading transaction, so that they are of one moment.
        folder: where to.
    """
    target = Path(folder)
    with (
        whole(target / "series.parquet") as first,
        whole(target / "points.parquet") as second,
        whole(target / "candidates.parquet") as third,
    ):
        rows = list(connection.execute(sa.select(series).order_by(series.c.id)))
        numbers = [row.id for row in rows]
        table = pa.Table.from_pylist([_series_row(row) for row in rows], SERIES_SCHEMA)
        pq.write_table(table, first, compression="zstd")
        with pq.ParquetWriter(second, RUNS_SCHEMA, compression="zstd") as writer:
            count = 0
            for part in _points(connection, numbers):
                writer.write_table(part)
                count += part.num_rows
        found = _candidate_rows(connection, numbers)
        pq.write_table(pa.Table.from_pylist(found, CANDIDATES_SCHEMA), third, compression="zstd")
    return {"series": len(rows), "points": count, "candidates": len(found)}


def gave(folder: str | Path) -> bool:
    """Whether a folder holds tables that `give_back` wrote, in order and with their runs."""
    try:
        return bool(pq.read_schema(Path(folder) / "points.parquet").names == RUNS_SCHEMA.names)
    except (OSError, pa.ArrowInvalid):
        return False


def _series_row(row: sa.Row[Any]) -> dict[str, object]:
    name = series_id(row)
    return {**name.labels, "args": name.args_json, "direction": row.direction}


def _points(connection: sa.Connection, numbers: list[int]) -> Iterator[pa.Table]:
    p = ALL.c
    for first in range(0, len(numbers), CHUNK):
        some = numbers[first : first + CHUNK]
        rows = connection.execute(
            sa.select(p.series, p.order, p.commit, p.time, p.value, p.run)
            .where(p.series.in_(some))
            .order_by(p.series, p.order, p.run)
        ).all()
        columns = list(zip(*rows, strict=True)) or [()] * 6
        owners = np.searchsorted(numbers, np.array(columns[0], dtype=np.int64))
        arrays = [
            pa.array(owners, pa.int32()),
            pa.array(columns[1], pa.int64()),
            pa.array([commit or None for commit in columns[2]], pa.string()),
            pa.array(columns[3], pa.int64()).cast(pa.timestamp("ms", tz="UTC")),
            pa.array(columns[4], pa.float64()),
            pa.array(columns[5], pa.string()),
        ]
        yield pa.Table.from_arrays(arrays, schema=RUNS_SCHEMA)


def _candidate_rows(connection: sa.Connection, numbers: list[int]) -> list[dict[str, object]]:
    """The present candidates, each with its place in its series."""
    c = candidates.c
    found: list[dict[str, object]] = []
    query = sa.select(candidates).where(c.present).order_by(c.series, c.order, c.id)
    rows: dict[int, list[Any]] = {}
    for row in connection.execute(query):
        rows.setdefault(row.series, []).append(row)
    owners = list(rows)
    for first in range(0, len(owners), CHUNK):
        for key, points in read_series(connection, owners[first : first + CHUNK]).items():
            number = int(np.searchsorted(numbers, key))
            found += [
                {
                    "series": number,
                    "index": points.index_of(row.order),
                    "order": row.order,
                    "commit": row.commit or None,
                    "verdict": row.verdict,
                    "calculated_on": row.calculated_on,
                    "triaged_on": row.triaged_on,
                    "algorithm": row.detector,
                }
                for row in rows[key]
            ]
    return found

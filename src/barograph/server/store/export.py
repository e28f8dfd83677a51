"""Write the store as the Parquet tables that the pipeline trains from.

They are those of `barograph.results.parquet`: a point is a commit with the value that counts for
it. An additional column `run` of the points and a fourth table, all results of the commits with
several, bring every run back at an import. Additional columns of the candidates hold the results of
the latest search.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.results.history import History
from barograph.results.parquet import DATE, FOUND_SCHEMA, RUNS, RUNS_SCHEMA, SERIES_SCHEMA
from barograph.runtime.files import named, published
from barograph.server.store.candidate_records import is_listed
from barograph.server.store.database import chunks
from barograph.server.store.reading import read_series, series_id
from barograph.server.store.schema import candidates, points, series

# Old files are removed in the opposite order: a set without the last cannot be read.
FILES = (RUNS, "candidates.parquet", "points.parquet", "series.parquet")


def export_tables(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write everything as the three tables and that of the runs; return the rows of each.

    Args:
        connection: A reading transaction, so that the tables are consistent.
        folder: Folder to write into.
    """
    target = Path(folder)
    with published(target, FILES) as draft:
        rows = list(connection.execute(sa.select(series).order_by(series.c.id)))
        numbers = [row.id for row in rows]
        table = pa.Table.from_pylist([_series_row(row) for row in rows], SERIES_SCHEMA)
        with named(target / "series.parquet"):
            pq.write_table(table, draft / "series.parquet", compression="zstd")
        with (
            named(target / "points.parquet"),
            pq.ParquetWriter(draft / "points.parquet", RUNS_SCHEMA, compression="zstd") as settled,
            pq.ParquetWriter(draft / RUNS, RUNS_SCHEMA, compression="zstd") as every,
        ):
            count = runs = 0
            for of_commits, of_reruns in _points(connection, numbers):
                settled.write_table(of_commits)
                with named(target / RUNS):
                    every.write_table(of_reruns)
                count += of_commits.num_rows
                runs += of_reruns.num_rows
        known = _candidate_rows(connection, numbers)
        table = pa.Table.from_pylist(known, FOUND_SCHEMA)
        with named(target / "candidates.parquet"):
            pq.write_table(table, draft / "candidates.parquet", compression="zstd")
    return {"series": len(rows), "points": count, "runs": runs, "candidates": len(known)}


def read_all(connection: sa.Connection) -> tuple[History, list[int]]:
    """Return the whole store as a history, and the number of each of its candidates.

    Args:
        connection: A reading transaction, so that everything is of one moment.
    """
    with TemporaryDirectory(prefix="barograph-") as folder:
        export_tables(connection, folder)
        history = History.read(folder)
    return history, list(connection.scalars(_listed(candidates.c.id)))


def _listed(*columns: Any) -> sa.Select[Any]:
    """Return the query for the present and the judged candidates, in the order of the tables."""
    c = candidates.c
    return sa.select(*columns).where(is_listed()).order_by(c.series, c.order, c.id)


def _series_row(row: sa.Row[Any]) -> dict[str, object]:
    name = series_id(row)
    known = {"direction": row.direction, "unit": row.unit or None}
    return {**name.labels, "args": name.args_json, **known}


def _points(connection: sa.Connection, numbers: list[int]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield the settled values of some series, and all results of the commits with several."""
    p = points.c
    for part in chunks(numbers):
        rows = connection.execute(
            sa.select(p.series, p.order, p.commit, p.time, p.value, p.run, p.settled)
            .where(p.series.in_(part))
            .order_by(p.series, p.order, p.run)
        ).all()
        *columns, settled = list(zip(*rows, strict=True)) or [()] * 7
        owners = np.searchsorted(numbers, np.array(columns[0], dtype=np.int64))
        every = pa.Table.from_arrays(
            [
                pa.array(owners, pa.int32()),
                pa.array(columns[1], pa.int64()),
                pa.array([commit or None for commit in columns[2]], pa.string()),
                pa.array(columns[3], pa.int64()).cast(DATE),
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
    """Return the present and the judged candidates, each with its position in its series."""
    by_series: dict[int, list[Any]] = {}
    for row in connection.execute(_listed(candidates)):
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
            "present": row.present,
            "discovery": row.discovery,
            "q": row.q,
        }
        for part in chunks(owners)
        for number, history in read_series(connection, part).items()
        for row in by_series[number]
    ]

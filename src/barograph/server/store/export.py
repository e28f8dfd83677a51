"""Write the store to Parquet files: as the tables that the pipeline trains from, and as an archive.

The tables are those of `barograph.results.parquet`: a point is a commit with the value that counts
for it. An additional column `run` of the points and a fourth table, all results of the commits with
several, bring every run back at an import. Additional columns of the candidates hold the results of
the latest search.

An archive has everything else that the store holds: who gave which verdict and why, revisions,
moves, decisions and their steps, clusters, tickets, and the audit trail. Tokens and sessions are
left out. Checksums of pages reveal a damaged file.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.results.history import History
from barograph.results.parquet import FOUND_SCHEMA, RUNS, RUNS_SCHEMA, SERIES_SCHEMA
from barograph.results.series import LABELS
from barograph.runtime.errors import DataError
from barograph.runtime.files import named, published
from barograph.server.store.candidate_records import is_listed
from barograph.server.store.database import Insertion, count_rows
from barograph.server.store.schema import (
    VERSION,
    candidates,
    metadata,
    points,
    series,
    sessions,
    state,
    tokens,
)
from barograph.server.store.store import Store

# Old files are removed in the opposite order: a set without the last cannot be read.
FILES = (RUNS, "candidates.parquet", "points.parquet", "series.parquet")
SCHEMAS = (RUNS_SCHEMA, FOUND_SCHEMA, RUNS_SCHEMA, SERIES_SCHEMA)
FOLDER = "store"  # of the archive, next to the tables
LIST = "archive.json"  # the version of the tables; written last
BATCH = 50_000  # rows at a time
TABLES = tuple(t for t in metadata.sorted_tables if t not in {state, tokens, sessions})
TYPES = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    bytes: pa.binary(),
    str: pa.string(),
}


def export_tables(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write everything as the three tables and that of the runs; return the rows of each.

    Args:
        connection: A reading transaction, so that the tables are consistent.
        folder: Folder to write into.
    """
    with published(folder, FILES) as draft:
        counts = {
            name.partition(".")[0]: _write(connection, query, schema, draft, Path(folder) / name)
            for name, schema, query in zip(FILES, SCHEMAS, _queries(), strict=True)
        }
    return {name: counts[name] for name in ("series", "points", "runs", "candidates")}


def read_all(connection: sa.Connection) -> tuple[History, list[int]]:
    """Return the whole store as a history, and the number of each of its candidates.

    Args:
        connection: A reading transaction, so that everything is of one moment.
    """
    with TemporaryDirectory(prefix="barograph-") as folder:
        export_tables(connection, folder)
        history = History.read(folder)
    return history, list(connection.scalars(_listed(sa.select(candidates.c.id))))


def archive(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write every table; return the number of rows of each.

    Args:
        connection: A reading transaction, so that the tables are consistent.
        folder: Gets a folder `store`.
    """
    names = (*(f"{table.name}.parquet" for table in TABLES), LIST)
    counts: dict[str, int] = {}
    target = Path(folder) / FOLDER
    with published(target, names) as draft:
        for table, name in zip(TABLES, names, strict=False):
            schema = pa.schema((c.name, TYPES[c.type.python_type]) for c in table.columns)
            query = sa.select(table).order_by(*table.primary_key)
            counts[table.name] = _write(connection, query, schema, draft, target / name)
        (draft / LIST).write_text(json.dumps({"version": VERSION}))
    return counts


def restore(store: Store, folder: str | Path) -> dict[str, int]:
    """Restore an archive into an empty store, in one transaction.

    Raises:
        DataError: The store is not empty, or the folder has no archive, or a file is damaged, or
            the tables are of another version.
    """
    source = Path(folder) / FOLDER
    try:
        version = json.loads((source / LIST).read_text())["version"]
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{source / LIST} is missing: `barograph export` writes it") from None
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{source / LIST} is damaged: {error}") from error
    if version != VERSION:
        raise DataError(
            f"{source} was written for tables of version {version!r}, but this is version "
            f"{VERSION!r}; import the folder without --restore"
        )

    def fill(connection: sa.Connection) -> dict[str, int]:
        if count_rows(connection, series):
            raise DataError("the store holds series; only an empty one can be restored")
        return {table.name: _read(connection, table, source) for table in TABLES}

    return store.write(fill)


def _queries() -> tuple[sa.Select[Any], ...]:
    """Return the query for the rows of each of FILES, with the columns of its schema."""
    c, p, s, other = candidates.c, points.c, series.c, points.alias().c
    numbered = sa.select(s.id, (sa.func.row_number().over(order_by=s.id) - 1).label("row"))
    owner = numbered.subquery()
    place, run = (owner.c.row, p.order, sa.func.nullif(p.commit, ""), p.time), p.run
    of_points = sa.select(*place, p.settled, run).join(owner, owner.c.id == p.series)
    is_rerun = other.series == p.series, other.order == p.order, other.settled.is_(None)
    of_runs = sa.select(*place, p.value, run).join(owner, owner.c.id == p.series)
    before = p.series == c.series, p.order < c.order, p.settled.is_not(None)
    index = sa.select(sa.func.count()).select_from(points).where(*before).scalar_subquery()
    facts = c.verdict, c.calculated_on, c.triaged_on, c.detector, c.present, c.discovery, c.q
    found = sa.select(owner.c.row, index, c.order, sa.func.nullif(c.commit, ""), *facts)
    labels = (s[name] for name in LABELS)
    return (
        of_runs.where(sa.exists().where(*is_rerun)).order_by(p.series, p.order, p.run),
        _listed(found.join(owner, owner.c.id == c.series)),
        of_points.where(p.settled.is_not(None)).order_by(p.series, p.order),
        sa.select(*labels, s.args, s.direction, sa.func.nullif(s.unit, "")).order_by(s.id),
    )


def _listed(query: sa.Select[Any]) -> sa.Select[Any]:
    """Return the query for the present and the judged candidates, in the order of the tables."""
    c = candidates.c
    return query.where(is_listed()).order_by(c.series, c.order, c.id)


def _write(
    connection: sa.Connection, query: sa.Select[Any], schema: pa.Schema, draft: Path, target: Path
) -> int:
    """Write the rows of a query to the draft of a file, and return their number."""
    count = 0
    result = connection.execute(query, execution_options={"yield_per": BATCH})
    path, options = draft / target.name, {"compression": "zstd", "write_page_checksum": True}
    with named(target), pq.ParquetWriter(path, schema, **options) as writer:
        for rows in result.partitions():
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def _read(connection: sa.Connection, table: sa.Table, source: Path) -> int:
    """Replace the rows of a table by those of its file, and return their number."""
    connection.execute(sa.delete(table))
    names = [column.name for column in table.columns]
    rows, count = Insertion(table, names), 0
    path = source / f"{table.name}.parquet"
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(BATCH, columns=names):
                values = [batch.column(name).to_pylist() for name in names]
                rows.into(connection, list(zip(*values, strict=True)))
                count += batch.num_rows
    except FileNotFoundError:
        raise DataError(f"{path} is missing: `barograph export` writes it") from None
    except (OSError, KeyError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged: {error}") from error
    # PostgreSQL is to continue the ids after the restored ones; SQLite does so by itself.
    number = table.columns.get("id")
    if connection.dialect.name == "postgresql" and number is not None:
        sequence = sa.func.pg_get_serial_sequence(f'"{table.name}"', "id")
        following = sa.select(sa.func.coalesce(sa.func.max(number), 0) + 1).scalar_subquery()
        connection.execute(sa.select(sa.func.setval(sequence, following, False)))
    return count

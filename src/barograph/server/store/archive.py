"""Write every table of the store to Parquet files, and restore them into an empty store.

Besides the three tables of `exchange`, an archive has everything else that the store holds: who
gave which verdict and why, revisions, moves, decisions and their steps, clusters, tickets, and the
audit trail. Tokens and sessions are left out. A list of checksums, written last, reveals a table
that is damaged or was written by another export: Parquet itself notices little of that.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.runtime.errors import DataError
from barograph.runtime.files import whole
from barograph.server.store.database import Insertion, count_rows
from barograph.server.store.schema import VERSION, blocks, metadata, series, sessions, state, tokens
from barograph.server.store.store import Store

FOLDER = "store"  # next to the three tables
BATCH = 50_000  # rows at a time
LEFT_OUT = {state, blocks, tokens, sessions}
TABLES = tuple(table for table in metadata.sorted_tables if table not in LEFT_OUT)
LIST = "archive.json"  # the version of the tables, and the SHA-256 of each file
TYPES = (
    (sa.Boolean, pa.bool_()),
    (sa.Integer, pa.int64()),  # includes BigInteger and SmallInteger
    (sa.Double, pa.float64()),
    (sa.LargeBinary, pa.binary()),
    (sa.Text, pa.string()),
)


def archive(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write every table; return the number of rows of each.

    Args:
        connection: A reading transaction, so that the tables are consistent.
        folder: Gets a folder `store`.
    """
    target = Path(folder) / FOLDER
    counts = {table.name: _write(connection, table, target) for table in TABLES}
    listing = {"version": VERSION, "sha256": {name: _sum(target, name) for name in counts}}
    with whole(target / LIST) as draft:
        draft.write_text(json.dumps(listing, indent=1))
    return counts


def restore(store: Store, folder: str | Path) -> dict[str, int]:
    """Restore an archive into an empty store, in one transaction.

    Raises:
        DataError: The store is not empty, or the folder has no archive, or a file is damaged, or
            the tables are of another version.
    """
    source = Path(folder) / FOLDER
    names = _checked(source)
    return store.change(lambda connection: _fill(connection, source, names))


def _schema(table: sa.Table) -> pa.Schema:
    return pa.schema(
        (column.name, next(arrow for kind, arrow in TYPES if isinstance(column.type, kind)))
        for column in table.columns
    )


def _sum(folder: Path, name: str) -> str:
    with (folder / f"{name}.parquet").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(connection: sa.Connection, table: sa.Table, folder: Path) -> int:
    schema, count = _schema(table), 0
    with (
        whole(folder / f"{table.name}.parquet") as path,
        pq.ParquetWriter(path, schema, compression="zstd") as writer,
    ):
        for rows in _rows(connection, table):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def _rows(connection: sa.Connection, table: sa.Table) -> Iterator[list[sa.Row[tuple[object, ...]]]]:
    query = sa.select(table).order_by(*table.primary_key)
    result = connection.execute(query, execution_options={"yield_per": BATCH})
    yield from map(list, result.partitions())


def _checked(folder: Path) -> set[str]:
    """Verify the checksums of an archive; return the names of its tables."""
    try:
        listing = json.loads((folder / LIST).read_text())
        version, sums = listing["version"], dict(listing["sha256"])
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{folder / LIST} is missing: `barograph export` writes it") from None
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{folder / LIST} is damaged: {error}") from error
    if version != VERSION:
        raise DataError(
            f"{folder} was written for tables of version {version!r}, but this is version "
            f"{VERSION!r}; import the folder without --restore"
        )
    for name, written in sums.items():
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise DataError(f"{path} is missing: `barograph export` writes it")
        if _sum(folder, name) != written:
            raise DataError(f"{path} is damaged, or of another export: its checksum differs")
    return set(sums)


def _fill(connection: sa.Connection, source: Path, names: set[str]) -> dict[str, int]:
    if count_rows(connection, series):
        raise DataError("the store holds series; only an empty one can be restored")
    if wrong := {table.name for table in TABLES} ^ names:
        raise DataError(
            f"{source / LIST} is damaged: missing or unknown tables: {', '.join(sorted(wrong))}"
        )
    return {table.name: _read(connection, table, source) for table in TABLES}


def _read(connection: sa.Connection, table: sa.Table, source: Path) -> int:
    connection.execute(sa.delete(table))
    names = [column.name for column in table.columns]
    rows = Insertion(table, names)
    count = 0
    with pq.ParquetFile(source / f"{table.name}.parquet") as file:
        for batch in file.iter_batches(BATCH, columns=names):
            values = [batch.column(name).to_pylist() for name in names]
            rows.into(connection, list(zip(*values, strict=True)))
            count += batch.num_rows
    _restart_sequence(connection, table)
    return count


def _restart_sequence(connection: sa.Connection, table: sa.Table) -> None:
    """Make PostgreSQL continue the ids after the restored ones; SQLite does so by itself."""
    number = table.columns.get("id")
    if connection.dialect.name != "postgresql" or number is None:
        return
    sequence = sa.func.pg_get_serial_sequence(f'"{table.name}"', "id")
    following = sa.select(sa.func.coalesce(sa.func.max(number), 0) + 1).scalar_subquery()
    connection.execute(sa.select(sa.func.setval(sequence, following, False)))

"""Everything that the store keeps, table by table, and back into an empty store.

Beside the three tables of `exchange`, which every stage reads, these have what only a store knows:
who gave which verdict and why, revisions, moves, decisions and their steps, clusters, tickets, the
audit trail. Tokens stay where they are; what can be worked out again is. A list of their checksums,
written last, tells a table that was damaged or is of another moment: Parquet notices few changes.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.errors import DataError
from barograph.files import whole
from barograph.store.rows import Insertion
from barograph.store.schema import VERSION, blocks, metadata, newest, points, series, state, tokens
from barograph.store.shelf import ALL
from barograph.store.store import Store

FOLDER = "store"  # beside the three tables
BATCH = 50_000  # rows at a time
ELSEWHERE = {state.name, blocks.name, tokens.name, newest.name}
TABLES = tuple(table for table in metadata.sorted_tables if table.name not in ELSEWHERE)
LIST = "archive.json"  # which version of the tables it was, and the SHA-256 of each
TYPES = (
    (sa.Boolean, pa.bool_()),
    (sa.Integer, pa.int64()),  # the larger and smaller ones are kinds of it
    (sa.Double, pa.float64()),
    (sa.LargeBinary, pa.binary()),
    (sa.Text, pa.string()),
)


def archive(connection: sa.Connection, folder: str | Path) -> dict[str, int]:
    """Write every table; return how many rows each has.

    Args:
        connection: a reading transaction, so that all are of one moment.
        folder: gets a folder `store`.
    """
    target = Path(folder) / FOLDER
    counts = {table.name: _write(connection, table, target) for table in TABLES}
    told = {"version": VERSION, "sha256": {name: _sum(target, name) for name in counts}}
    with whole(target / LIST) as draft:
        draft.write_text(json.dumps(told, indent=1))
    return counts


def restore(store: Store, folder: str | Path) -> dict[str, int]:
    """Fill an empty store with what `archive` wrote: whole, or not at all.

    Raises:
        DataError: the store holds series, or the folder no archive, or a table of it is not what
            was written, or its tables are of a version that is not known here.
    """
    source = Path(folder) / FOLDER
    names = _checked(source)
    return store.write(lambda connection: _fill(connection, source, names))


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
    rows = ALL if table is points else table
    query = sa.select(rows).order_by(*(rows.c[key.name] for key in table.primary_key))
    result = connection.execute(query, execution_options={"yield_per": BATCH})
    yield from map(list, result.partitions())


def _checked(folder: Path) -> set[str]:
    """Verify the checksums of an archive; return the names of its tables."""
    try:
        told = json.loads((folder / LIST).read_text())
        version, sums = told["version"], dict(told["sha256"])
    except FileNotFoundError:
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
    if connection.scalar(sa.select(sa.func.count()).select_from(series)):
        raise DataError("the store holds series; only an empty one can be restored")
    if wrong := {table.name for table in TABLES} ^ names:
        raise DataError(
            f"{source / LIST} is damaged: missing or unknown tables: {', '.join(sorted(wrong))}"
        )
    counts = {table.name: _read(connection, table, source) for table in TABLES}
    # The next writer, in this process or another, must not rely on what it remembers.
    connection.execute(sa.update(state).values(writer="restored"))
    return counts


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
    _count_on(connection, table)
    return count


def _count_on(connection: sa.Connection, table: sa.Table) -> None:
    """Let PostgreSQL number new rows behind those that brought their numbers; SQLite does."""
    number = table.columns.get("id")
    if connection.dialect.name != "postgresql" or number is None:
        return
    sequence = sa.func.pg_get_serial_sequence(f'"{table.name}"', "id")
    most = sa.select(sa.func.coalesce(sa.func.max(number), 0) + 1).scalar_subquery()
    connection.execute(sa.select(sa.func.setval(sequence, most, False)))

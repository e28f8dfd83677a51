"""Write every table of the store to Parquet files, and restore them into an empty store.

Besides the three tables of `exchange`, an archive has everything else that the store holds: who
gave which verdict and why, revisions, moves, decisions and their steps, clusters, tickets, and the
audit trail. Tokens and sessions are left out. Checksums of pages reveal a damaged file.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from barograph.runtime.errors import DataError
from barograph.runtime.files import published
from barograph.server.store.database import Insertion, count_rows
from barograph.server.store.schema import VERSION, metadata, series, sessions, state, tokens
from barograph.server.store.store import Store

FOLDER = "store"  # next to the three tables
BATCH = 50_000  # rows at a time
TABLES = tuple(t for t in metadata.sorted_tables if t not in {state, tokens, sessions})
LIST = "archive.json"  # the version of the tables; written last
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
    names = (*(f"{table.name}.parquet" for table in TABLES), LIST)
    with published(Path(folder) / FOLDER, names) as draft:
        counts = {table.name: _write(connection, table, draft) for table in TABLES}
        (draft / LIST).write_text(json.dumps({"version": VERSION}))
    return counts


def restore(store: Store, folder: str | Path) -> dict[str, int]:
    """Restore an archive into an empty store, in one transaction.

    Raises:
        DataError: The store is not empty, or the folder has no archive, or a file is damaged, or
            the tables are of another version.
    """
    source = Path(folder) / FOLDER
    _check_version(source)

    def fill(connection: sa.Connection) -> dict[str, int]:
        if count_rows(connection, series):
            raise DataError("the store holds series; only an empty one can be restored")
        return {table.name: _read(connection, table, source) for table in TABLES}

    return store.write(fill)


def _schema(table: sa.Table) -> pa.Schema:
    return pa.schema(
        (column.name, next(arrow for kind, arrow in TYPES if isinstance(column.type, kind)))
        for column in table.columns
    )


def _write(connection: sa.Connection, table: sa.Table, folder: Path) -> int:
    schema, count = _schema(table), 0
    query = sa.select(table).order_by(*table.primary_key)
    result = connection.execute(query, execution_options={"yield_per": BATCH})
    path = folder / f"{table.name}.parquet"
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for rows in result.partitions():
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def _check_version(folder: Path) -> None:
    try:
        version = json.loads((folder / LIST).read_text())["version"]
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{folder / LIST} is missing: `barograph export` writes it") from None
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{folder / LIST} is damaged: {error}") from error
    if version != VERSION:
        raise DataError(
            f"{folder} was written for tables of version {version!r}, but this is version "
            f"{VERSION!r}; import the folder without --restore"
        )


def _read(connection: sa.Connection, table: sa.Table, source: Path) -> int:
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
    _restart_sequence(connection, table)
    return count


def _restart_sequence(connection: sa.Connection, table: sa.Table) -> None:
    """Make PostgreSQL continue the ids after the restored ones; SQLite does so by itself."""
    number = table.columns.get("id")
    if connection.dialect.name == "postgresql" and number is not None:
        sequence = sa.func.pg_get_serial_sequence(f'"{table.name}"', "id")
        following = sa.select(sa.func.coalesce(sa.func.max(number), 0) + 1).scalar_subquery()
        connection.execute(sa.select(sa.func.setval(sequence, following, False)))

"""The rows of a Parquet file. Needs pyarrow, which the extra `parquet` installs."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from barograph.errors import DataError
from barograph.extras import needed
from barograph.sources.formats.base import InputFile
from barograph.sources.formats.rows import CHUNK, Chunk, check_keys

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(file: InputFile, content: bytes) -> Iterator[Chunk]:
    """Yield the rows of a Parquet file in chunks.

    Args:
        file: The file.
        content: Its bytes.

    Raises:
        ConfigError: pyarrow is not installed.
        DataError: The file is damaged.
    """
    with needed(f"{file.name}: a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        with pq.ParquetFile(io.BytesIO(content)) as table:
            check_keys(file, len(table.schema_arrow.names))
            start = 0
            for batch in table.iter_batches(batch_size=CHUNK):
                names = batch.schema.names
                if len(set(names)) < len(names):
                    raise DataError(f"{file.name}: two columns of one name")
                cells = {name: _cells(batch.column(name)) for name in names}
                yield Chunk(cells, range(start, start + batch.num_rows), 0)
                start += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0][:200]
        raise DataError(f"{file.name}: not a readable Parquet file: {message}") from None


def _cells(column: pa.Array) -> Sequence[Any]:
    """Return the cells; times as milliseconds since 1970."""
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_timestamp(kind) or types.is_date(kind):
        moments = column.cast(pa.timestamp("ms")).cast(pa.int64())
        return [None if cell is None else Milliseconds(cell) for cell in moments.to_pylist()]
    if types.is_floating(kind) and not column.null_count:
        found: list[Any] = column.to_numpy(zero_copy_only=False).astype(np.float64).tolist()
        return found
    cells: list[Any] = column.to_pylist()
    return [cell.decode("utf-8", "replace") for cell in cells] if types.is_binary(kind) else cells


class Milliseconds(int):
    """A time in milliseconds since 1970, whatever its size."""

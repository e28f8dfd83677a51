"""Batches that wait on the disk until they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa


@contextmanager
def spilling(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatchFileWriter]:
    """Yield what writes batches of one schema to a file."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        yield writer

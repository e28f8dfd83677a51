"""The result of the readers of all formats: batches as they are in the file."""

from __future__ import annotations

import gzip
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

BATCH = 1 << 16


class Malformed(NamedTuple):
    """A row that cannot be read: its number, counted from 1, and the reason."""

    number: int
    field: str
    value: str | None
    reason: str


class Raw(NamedTuple):
    """A batch as it is in the file: its well-formed and its malformed rows."""

    table: pa.RecordBatch
    malformed: list[Malformed]


def opened(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file; decompress it if its name ends with .gz."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")

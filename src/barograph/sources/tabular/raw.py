"""What the readers of all formats give: batches as they stand in the file."""

from __future__ import annotations

import gzip
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

BATCH = 1 << 16


class Malformed(NamedTuple):
    """A row that cannot be among the columns: which one, counted from 1, and why."""

    number: int
    field: str
    value: str | None
    reason: str


class Raw(NamedTuple):
    """A batch as it stands in the file: well-formed rows, and the malformed ones among them."""

    table: pa.RecordBatch
    malformed: list[Malformed]


def opened(path: Path) -> gzip.GzipFile | BufferedReader:
    """The bytes of a file, unpacked where its name says that they are packed."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")

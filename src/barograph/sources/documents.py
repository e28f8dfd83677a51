"""Raw BSON: cut a stream into documents, and decode them.

MongoDB's own decoder reads the documents. A scanner of our own in numba was 1.8 times as fast over
a whole load and was removed; docs/research/load.md has the figures.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from barograph.errors import DataError
from barograph.sources.base import Document, SeriesColumns
from barograph.sources.points import columns_of
from barograph.sources.report import Place, Skip

CHUNK = 1 << 22
SMALLEST = 5  # a length and a final zero
LARGEST = (16 << 20) + (16 << 10)  # MongoDB's limit, and its margin for internal use
GZIP_MAGIC = b"\x1f\x8b"
DAMAGE = (BSONError, ValueError, OverflowError, RecursionError)  # of a document
# Times that Python's datetime cannot hold must not affect the rest of their document.
OPTIONS: CodecOptions[Mapping[str, Any]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO
)


class Frames(NamedTuple):
    """Several whole documents.

    Attributes:
        data: The bytes of all documents, perhaps with more bytes after the last one.
        starts: Where each document starts, and where the last one ends.
        first: The number of the first document.
    """

    data: bytes
    starts: list[int]
    first: int


class Batch:
    """Collects documents into frames."""

    def __init__(self) -> None:
        self._documents: list[bytes] = []
        self._starts = [0]

    def add(self, document: bytes) -> bool:
        """Add a document; return whether the batch is full."""
        self._documents.append(document)
        self._starts.append(self._starts[-1] + len(document))
        return self._starts[-1] >= CHUNK

    def flush(self, number: int) -> Frames:
        """Return all documents and start again; `number` is the number of the first."""
        frames = Frames(b"".join(self._documents), self._starts, number)
        self._documents, self._starts = [], [0]
        return frames


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; decompress it if its content is gzipped, whatever its name."""
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == GZIP_MAGIC
            if packed:
                with gzip.open(file) as unpacked:
                    yield cast("BinaryIO", unpacked)
            else:
                yield file
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: damaged gzip data: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def framed(file: BinaryIO, name: str) -> Iterator[Frames]:
    """Cut a file of BSON documents into batches of whole ones.

    Raises:
        DataError: A length field is wrong, or the last document is truncated.
    """
    rest, number, offset = b"", 1, 0
    while chunk := file.read(CHUNK):
        data = rest + chunk
        starts = cut(data, name, number, offset)
        yield Frames(data, starts, number)
        number += len(starts) - 1
        offset += starts[-1]
        rest = data[starts[-1] :]
    if rest:
        raise DataError(f"{name}: document {number}: truncated: {_describe(rest)}")


def cut(data: bytes, name: str, number: int, offset: int) -> list[int]:
    """Return where the whole documents in `data` start, and where the last one ends.

    Nothing is allocated for a length before it is known to be one that MongoDB allows.
    """
    starts, start = [0], 0
    while start + 4 <= len(data):
        length = int.from_bytes(data[start : start + 4], "little", signed=True)
        if not SMALLEST <= length <= LARGEST:
            checked_length(data[start : start + 4], _place(name, number, starts, offset))
        if start + length > len(data):
            break
        if data[start + length - 1] != 0:
            place = _place(name, number, starts, offset)
            raise DataError(f"{place}: length field says {length}, but no document ends there")
        start += length
        starts.append(start)
    return starts


def checked_length(prefix: bytes, place: str) -> int:
    """Return the length that a document claims, if MongoDB allows it."""
    length = int.from_bytes(prefix, "little", signed=True)
    if not SMALLEST <= length <= LARGEST:
        raise DataError(f"{place}: length field says {length}; allowed: {SMALLEST} to {LARGEST}")
    return length


def _place(name: str, number: int, starts: list[int], offset: int) -> str:
    return f"{name}: document {number + len(starts) - 1}: byte {offset + starts[-1]}"


def _describe(rest: bytes) -> str:
    if len(rest) < 4:
        return f"{len(rest)} bytes of a length field"
    return f"{len(rest)} bytes of {int.from_bytes(rest[:4], 'little', signed=True)}"


def decode_each(frames: Frames, name: str) -> Iterator[Document | Skip]:
    """Decode a batch document by document; damaged ones are skipped."""
    for number, (start, stop) in enumerate(pairwise(frames.starts), frames.first):
        place = Place(name, number)
        try:
            yield Document(place, bson.decode(frames.data[start:stop], OPTIONS))
        except DAMAGE as error:
            yield Skip(place, "(document)", str(error), "damaged BSON")


def columns(frames: Frames, name: str) -> Iterator[SeriesColumns | Document | Skip]:
    """Stream a batch of time series: valid ones as columns, others one by one."""
    try:
        fields = bson.decode_all(frames.data[: frames.starts[-1]], OPTIONS)
    except DAMAGE:
        yield from decode_each(frames, name)
        return
    documents = [Document(Place(name, n), f) for n, f in enumerate(fields, frames.first)]
    yield from columns_of(documents)

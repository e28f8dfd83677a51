"""Cut a stream of BSON into documents, and refuse lengths that lie.

Nothing is allocated for a length before it is known to be one that MongoDB allows.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from barograph.errors import DataError

CHUNK = 1 << 22
SMALLEST = 5  # a length and a final zero
LARGEST = (16 << 20) + (16 << 10)  # MongoDB's limit, and its margin for internal use
GZIP_MAGIC = b"\x1f\x8b"


class Frames(NamedTuple):
    """Some whole documents, one behind the other."""

    data: bytes
    starts: list[int]  # and the end of the last one
    first: int  # the number of the first one


class Batch:
    """Documents that wait to be handed on together."""

    def __init__(self) -> None:
        self._documents: list[bytes] = []
        self._starts = [0]

    def add(self, document: bytes) -> bool:
        """Take a document; whether it is time to hand on."""
        self._documents.append(document)
        self._starts.append(self._starts[-1] + len(document))
        return self._starts[-1] >= CHUNK

    def taken(self, number: int) -> Frames:
        """Hand on all documents, the first of which has this number."""
        frames = Frames(b"".join(self._documents), self._starts, number)
        self._documents, self._starts = [], [0]
        return frames


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked where it is gzipped, whatever its name says."""
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
        DataError: A length lies, or the last document is cut off.
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
        raise DataError(f"{name}: document {number}: truncated: {_told(rest)}")


def cut(data: bytes, name: str, number: int, offset: int) -> list[int]:
    """Where the whole documents in `data` start, and where the last one ends."""
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
    """Read a length field, if it is one that a document may have."""
    length = int.from_bytes(prefix, "little", signed=True)
    if not SMALLEST <= length <= LARGEST:
        raise DataError(f"{place}: length field says {length}; allowed: {SMALLEST} to {LARGEST}")
    return length


def _place(name: str, number: int, starts: list[int], offset: int) -> str:
    return f"{name}: document {number + len(starts) - 1}: byte {offset + starts[-1]}"


def _told(rest: bytes) -> str:
    if len(rest) < 4:
        return f"{len(rest)} bytes of a length field"
    return f"{len(rest)} bytes of {int.from_bytes(rest[:4], 'little', signed=True)}"

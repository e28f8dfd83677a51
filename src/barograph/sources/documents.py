"""Sources of BSON: two collections of documents, and the files that hold one."""

from __future__ import annotations

import gzip
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from barograph.runtime.errors import DataError
from barograph.sources.base import Document, Source
from barograph.sources.report import Place, Skip

SMALLEST = 5  # a length and a final zero
LARGEST = (16 << 20) + (16 << 10)  # MongoDB's limit, and its margin for internal use
GZIP_MAGIC = b"\x1f\x8b"
DAMAGE = (BSONError, ValueError, OverflowError, RecursionError)  # of a document
# Times that Python's datetime cannot hold must not affect the rest of their document.
OPTIONS: CodecOptions[Mapping[str, Any]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO
)


class DocumentSource(Source):
    """Two collections of BSON documents.

    Args:
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.
    """

    def __init__(self, time_series: str, change_points: str | None) -> None:
        self._time_series, self._change_points = time_series, change_points

    @abstractmethod
    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents."""

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the collection of series."""
        return self._decoded(self._time_series)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the collection of change points."""
        return iter(()) if self._change_points is None else self._decoded(self._change_points)

    def _decoded(self, collection: str) -> Iterator[Document | Skip]:
        """Decode the documents of a collection; damaged ones are skipped."""
        name, documents = self.documents(collection)
        for number, document in enumerate(documents, 1):
            place = Place(name, number)
            try:
                yield Document(place, bson.decode(document, OPTIONS))
            except DAMAGE as error:
                yield Skip(place, "(document)", str(error), "damaged BSON")


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


def read_document(file: BinaryIO, prefix: bytes, name: str) -> bytes:
    """Return the document that begins with a length field which was read already.

    Nothing is allocated for a length before it is known to be one that MongoDB allows.

    Raises:
        DataError: The length field is wrong, or the document is truncated.
    """
    where = f"{name}: byte {file.tell() - len(prefix)}"
    length = int.from_bytes(prefix, "little", signed=True)
    if len(prefix) < 4:
        raise DataError(f"{where}: truncated: {len(prefix)} bytes of a length field")
    if not SMALLEST <= length <= LARGEST:
        raise DataError(f"{where}: length field says {length}; allowed: {SMALLEST} to {LARGEST}")
    document = prefix + file.read(length - 4)
    if len(document) < length:
        raise DataError(f"{where}: truncated: {len(document)} bytes of {length}")
    if document[-1] != 0:
        raise DataError(f"{where}: length field says {length}, but no document ends there")
    return document

"""Raw BSON: read the documents of a stream, and decode them in batches.

MongoDB's own decoder reads the documents. A scanner of our own in numba was 1.8 times as fast over
a whole load and was removed; docs/research/load.md has the figures.
"""

from __future__ import annotations

import gzip
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from barograph.runtime.errors import DataError
from barograph.sources.base import Document, SeriesColumns, Source
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

    def time_series(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the collection of series, valid ones as columns."""
        name, documents = self.documents(self._time_series)
        for first, batch in batches(documents):
            yield from columns(batch, name, first)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the collection of change points."""
        if self._change_points is not None:
            name, documents = self.documents(self._change_points)
            yield from decode_each(documents, name)


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


class DocumentReader:
    """Reads the documents of a file one by one.

    Args:
        file: The file.
        name: What messages call it.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name, self._file = name, file
        self._data, self._position, self._offset = b"", 0, 0

    @property
    def where(self) -> str:
        """The current position, for messages."""
        return f"{self.name}: byte {self._offset + self._position}"

    def peek(self, count: int) -> bytes:
        """Return the next bytes; fewer at the end of the file."""
        if len(self._data) - self._position < count:
            pieces = [self._data[self._position :]]
            self._offset += self._position
            self._position, size = 0, len(pieces[0])
            while size < count and (piece := self._file.read(max(CHUNK, count - size))):
                pieces.append(piece)
                size += len(piece)
            self._data = b"".join(pieces)
        return self._data[self._position : self._position + count]

    def skip(self, count: int) -> None:
        """Move on over bytes that `peek` returned."""
        self._position += count

    def document(self) -> bytes:
        """Return the next document.

        Nothing is allocated for a length before it is known to be one that MongoDB allows.

        Raises:
            DataError: Its length field is wrong, or it is truncated.
        """
        prefix = self.peek(4)
        length = int.from_bytes(prefix, "little", signed=True)
        if len(prefix) < 4:
            raise DataError(f"{self.where}: truncated: {len(prefix)} bytes of a length field")
        if not SMALLEST <= length <= LARGEST:
            allowed = f"{SMALLEST} to {LARGEST}"
            raise DataError(f"{self.where}: length field says {length}; allowed: {allowed}")
        document = self.peek(length)
        if len(document) < length:
            raise DataError(f"{self.where}: truncated: {len(document)} bytes of {length}")
        if document[-1] != 0:
            raise DataError(f"{self.where}: length field says {length}, but no document ends there")
        self.skip(length)
        return document


def read_documents(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the documents of a file that holds nothing else.

    Raises:
        DataError: A length field is wrong, or the last document is truncated.
    """
    reader, number = DocumentReader(file, name), 0
    while reader.peek(1):
        number += 1
        reader.name = f"{name}: document {number}"
        yield reader.document()


def batches(documents: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield documents in batches of about `CHUNK` bytes, with the number of the first."""
    first, batch, size = 1, list[bytes](), 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= CHUNK:
            yield first, batch
            first, batch, size = first + len(batch), [], 0
    yield first, batch


def decode_each(documents: Iterable[bytes], name: str, first: int = 1) -> Iterator[Document | Skip]:
    """Decode document by document; damaged ones are skipped."""
    for number, document in enumerate(documents, first):
        place = Place(name, number)
        try:
            yield Document(place, bson.decode(document, OPTIONS))
        except DAMAGE as error:
            yield Skip(place, "(document)", str(error), "damaged BSON")


def columns(batch: list[bytes], name: str, first: int) -> Iterator[SeriesColumns | Document | Skip]:
    """Stream a batch of time series: valid ones as columns, others one by one."""
    try:
        fields = bson.decode_all(b"".join(batch), OPTIONS)
    except DAMAGE:
        yield from decode_each(batch, name, first)
        return
    documents = [Document(Place(name, number), each) for number, each in enumerate(fields, first)]
    yield from columns_of(documents)

"""Collections of BSON documents, and what mongodump leaves of them.

A source yields documents as data/README.md describes them, one at a time and in any order. The
loader does the rest: identities, types, labels, order, duplicates, tables. A dump is a directory of
BSON files or a single-file archive, plain or gzipped.

An archive is a magic number, a prelude (a header and one document for each collection, closed by a
terminator), then blocks: a document that names a collection, some of its documents, a terminator.
Blocks of several collections alternate. The last block of each collection is empty and says EOF.
"""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from barograph.runtime.errors import DataError
from barograph.sources.report import Place, Skip

MAGIC = (0x8199E26D).to_bytes(4, "little")
TERMINATOR = b"\xff\xff\xff\xff"
SMALLEST = 5  # a length and a final zero
LARGEST = (16 << 20) + (16 << 10)  # MongoDB's limit, and its margin for internal use
GZIP_MAGIC = b"\x1f\x8b"
DAMAGE = (BSONError, ValueError, OverflowError, RecursionError)  # of a document
# Times that Python's datetime cannot hold must not affect the rest of their document.
OPTIONS: CodecOptions[Mapping[str, Any]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO
)


class Document(NamedTuple):
    """One time series or change point, as a decoded mapping; any field may be missing."""

    place: Place
    fields: Mapping[str, Any]


class Source(ABC):
    """Two collections of BSON documents. Each can be read again.

    Args:
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.

    Attributes:
        name: The name of this source in messages and reports; never contains a credential.
    """

    name: str

    def __init__(self, time_series: str, change_points: str | None) -> None:
        self._time_series, self._change_points = time_series, change_points

    @abstractmethod
    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents.

        Raises:
            DataError: The input is damaged and cannot be read any further.
            SourceError: The source cannot be reached, or the connection breaks off.
        """

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the series; damaged documents are skipped."""
        return self._decoded(self._time_series)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the change points; damaged documents are skipped."""
        return iter(()) if self._change_points is None else self._decoded(self._change_points)

    def _decoded(self, collection: str) -> Iterator[Document | Skip]:
        name, documents = self.documents(collection)
        for number, document in enumerate(documents, 1):
            place = Place(name, number)
            try:
                yield Document(place, bson.decode(document, OPTIONS))
            except DAMAGE as error:
                yield Skip(place, "(document)", str(error), "damaged BSON")


class MongoDump(Source):
    """A directory with `time_series.bson` and `change_points.bson`, or an archive with both.

    Args:
        location: The directory, any folder above it that holds no second dump, or the archive.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.
    """

    def __init__(
        self,
        location: str,
        *,
        time_series: str = "time_series",
        change_points: str | None = "change_points",
    ) -> None:
        super().__init__(time_series, change_points)
        self.name = location

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents."""
        path = Path(self.name)
        if path.is_file():
            if not is_archive(path):
                raise DataError(f"{path}: neither a dump directory nor a mongodump archive")
            return f"{path}:{collection}", _of_archive(path, collection)
        path = _file_of(path, collection)
        return str(path), _of_file(path)


def is_archive(path: Path) -> bool:
    """Return whether a file starts like a mongodump archive."""
    with opened(path) as file:
        return file.read(4) == MAGIC


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; decompress it if its content is gzipped, whatever its name."""
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == GZIP_MAGIC
            yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: damaged gzip data: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _file_of(folder: Path, collection: str) -> Path:
    """Return the only file of a collection in a directory or below it."""
    if not folder.exists():
        raise DataError(f"{folder}: no such file or directory")
    names = (f"{collection}.bson", f"{collection}.bson.gz")
    paths = sorted(path for name in names for path in folder.rglob(name))
    if len(paths) != 1:
        listed = "".join(f", {path.relative_to(folder)}" for path in paths)
        counted = f"{len(paths)} files named {' or '.join(names)}"
        raise DataError(f"{folder}: {counted}; expected exactly one{listed}")
    return paths[0]


def _of_file(path: Path) -> Iterator[bytes]:
    """Stream the documents of a file that holds nothing else."""
    with opened(path) as file:
        number = 1
        while prefix := file.read(4):
            yield _document(file, prefix, f"{path}: document {number}")
            number += 1


def _of_archive(path: Path, collection: str) -> Iterator[bytes]:
    """Stream the documents of one collection of an archive."""
    name = str(path)
    with opened(path) as file:
        file.seek(len(MAGIC))
        ours = _database(file, collection, name), collection
        while prefix := file.read(4):
            if prefix == TERMINATOR:
                raise DataError(f"{name}: byte {file.tell() - 4}: a block without a header")
            header = _header(_document(file, prefix, name), name)
            is_ours = (header.get("db"), header.get("collection")) == ours
            if is_ours and header.get("EOF") is True:
                return
            yield from (document for document in _block(file, name) if is_ours)
        raise DataError(f"{name}: truncated: the archive ends before the collection {collection}")


def _database(file: BinaryIO, collection: str, name: str) -> str:
    """Read the prelude; return the only database that has the collection."""
    _, *headers = [_header(document, name) for document in _block(file, name)] or [{}]
    known = [(str(header.get("db")), str(header.get("collection"))) for header in headers]
    databases = [database for database, other in known if other == collection]
    if len(databases) != 1:
        names = ", ".join(sorted(map(".".join, known))) or "none"
        counted = f"{len(databases)} collections named {collection}"
        raise DataError(f"{name}: {counted}; expected exactly one; the archive has {names}")
    return databases[0]


def _block(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the documents up to the next terminator."""
    while (prefix := file.read(4)) != TERMINATOR:
        yield _document(file, prefix, name)


def _header(document: bytes, name: str) -> Mapping[str, Any]:
    """Decode one of the archive's own documents."""
    try:
        return bson.decode(document)
    except DAMAGE as error:
        raise DataError(f"{name}: damaged archive header: {error}") from error


def _document(file: BinaryIO, prefix: bytes, name: str) -> bytes:
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

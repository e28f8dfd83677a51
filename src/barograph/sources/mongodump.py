"""Read what mongodump leaves: a directory of BSON files or a single-file archive, plain or gzipped.

An archive is a magic number, a prelude (a header and one document for each collection, closed by a
terminator), then blocks: a document that names a collection, some of its documents, a terminator.
Blocks of several collections alternate. The last block of each collection is empty, says EOF, and
holds the CRC-64 of all its documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import bson

from barograph.runtime.crc64 import crc64
from barograph.runtime.errors import DataError
from barograph.sources.documents import DAMAGE, DocumentSource, opened, read_document

MAGIC = (0x8199E26D).to_bytes(4, "little")
TERMINATOR = b"\xff\xff\xff\xff"


class MongoDump(DocumentSource):
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
        self._path = Path(location)

    @property
    def name(self) -> str:
        """The path, as given."""
        return str(self._path)

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents."""
        if self._path.is_file():
            if not is_archive(self._path):
                raise DataError(f"{self._path}: neither a dump directory nor a mongodump archive")
            name = f"{self._path}:{collection}"
            return name, read_archive(self._path, collection, name)
        path = find_file(self._path, collection)
        return str(path), _of_file(path)


def _of_file(path: Path) -> Iterator[bytes]:
    """Stream the documents of a file that holds nothing else."""
    with opened(path) as file:
        number = 1
        while prefix := file.read(4):
            yield read_document(file, prefix, f"{path}: document {number}")
            number += 1


def find_file(folder: Path, collection: str) -> Path:
    """Return the only file of a collection in a directory or below it."""
    if not folder.exists():
        raise DataError(f"{folder}: no such file or directory")
    names = (f"{collection}.bson", f"{collection}.bson.gz")
    paths = sorted(path for name in names for path in folder.rglob(name))
    if len(paths) != 1:
        raise DataError(
            f"{folder}: {len(paths)} files named {' or '.join(names)}; expected exactly one"
            + "".join(f", {path.relative_to(folder)}" for path in paths)
        )
    return paths[0]


def is_archive(path: Path) -> bool:
    """Return whether a file starts like a mongodump archive."""
    with opened(path) as file:
        return file.read(4) == MAGIC


def read_archive(path: Path, collection: str, name: str) -> Iterator[bytes]:
    """Stream the documents of one collection; verify its CRC at the end."""
    with opened(path) as file:
        file.seek(len(MAGIC))
        ours = _database(file, collection, str(path)), collection
        crc = 0
        while prefix := file.read(4):
            where = f"{path}: byte {file.tell() - len(prefix)}"
            if prefix == TERMINATOR:
                raise DataError(f"{where}: a block without a header")
            header = _header(read_document(file, prefix, str(path)), where)
            is_ours = (header.get("db"), header.get("collection")) == ours
            if is_ours and header.get("EOF") is True:
                _check(crc, header, name)
                return
            for document in _block(file, str(path)):
                if is_ours:
                    crc = crc64(document, crc)
                    yield document
        raise DataError(f"{path}: truncated: the archive ends before the collection {collection}")


def _block(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the documents up to the next terminator."""
    while (prefix := file.read(4)) != TERMINATOR:
        if not prefix:
            raise DataError(f"{name}: byte {file.tell()}: truncated: ends within a block")
        yield read_document(file, prefix, name)


def _header(document: bytes, where: str) -> Mapping[str, Any]:
    """Decode one of the archive's own documents."""
    try:
        return bson.decode(document)
    except DAMAGE as error:
        raise DataError(f"{where}: damaged archive header: {error}") from error


def _database(file: BinaryIO, collection: str, name: str) -> str:
    """Read the prelude; return the only database that has the collection."""
    headers = [_header(document, name) for document in _block(file, name)]
    if not headers:
        raise DataError(f"{name}: the archive has no header")
    known = [(str(header.get("db")), str(header.get("collection"))) for header in headers[1:]]
    databases = [database for database, other in known if other == collection]
    if len(databases) != 1:
        names = ", ".join(sorted(map(".".join, known))) or "none"
        raise DataError(
            f"{name}: {len(databases)} collections named {collection}; expected exactly one; "
            f"the archive has {names}"
        )
    return databases[0]


def _check(crc: int, header: Mapping[str, Any], name: str) -> None:
    stated = header.get("CRC")
    if not isinstance(stated, int) or stated % 2**64 != crc:
        raise DataError(f"{name}: checksum is {crc:016x}, but the archive says {stated!r}")

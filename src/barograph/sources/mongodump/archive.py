"""Read one collection out of a `mongodump --archive` file.

The file is a magic number, a prelude (a header and one document for each collection, closed by a
terminator), then blocks: a document that names a collection, some of its documents, a terminator.
Blocks of several collections alternate; the last one of each is empty, says EOF, and holds the
CRC-64 of all its documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import bson
from bson.errors import BSONError

from barograph.errors import DataError
from barograph.sources.documents.frames import CHUNK, Batch, Frames, checked_length, opened
from barograph.sources.mongodump.crc import crc64

MAGIC = (0x8199E26D).to_bytes(4, "little")
TERMINATOR = b"\xff\xff\xff\xff"


class BlockReader:
    """A file's documents and terminators, one by one."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._data, self._at, self._offset = b"", 0, 0

    @property
    def where(self) -> str:
        """The place that is read next, for messages."""
        return f"{self._name}: byte {self._offset + self._at}"

    def magic(self) -> None:
        """Step over the magic number."""
        if not self._has(4) or self._data[:4] != MAGIC:
            raise DataError(
                f"{self._name}: not a mongodump archive: begins with {self._data[:4]!r}"
            )
        self._at += 4

    def at_end(self) -> bool:
        """Whether the file ends here."""
        return not self._has(1)

    def document(self) -> bytes | None:
        """The next document, or None for a terminator."""
        if not self._has(4):
            raise DataError(f"{self.where}: truncated: the archive ends within a block")
        prefix = self._data[self._at : self._at + 4]
        if prefix == TERMINATOR:
            self._at += 4
            return None
        length = checked_length(prefix, self.where)
        if not self._has(length):
            raise DataError(f"{self.where}: truncated: a document of {length} bytes is cut off")
        document = self._data[self._at : self._at + length]
        if document[-1] != 0:
            raise DataError(f"{self.where}: length field says {length}, but no document ends there")
        self._at += length
        return document

    def fields(self) -> Mapping[str, Any] | None:
        """The next document, decoded: one of the archive's own, not of a collection."""
        where, document = self.where, self.document()
        try:
            return None if document is None else bson.decode(document)
        except (BSONError, ValueError, OverflowError, RecursionError) as error:
            raise DataError(f"{where}: damaged archive header: {error}") from error

    def _has(self, count: int) -> bool:
        """Bring at least so many bytes into the buffer, if the file has them."""
        if len(self._data) - self._at >= count:
            return True
        pieces = [self._data[self._at :]]
        self._offset += self._at
        self._at, size = 0, len(pieces[0])
        while size < count and (piece := self._file.read(max(CHUNK, count - size))):
            pieces.append(piece)
            size += len(piece)
        self._data = b"".join(pieces)
        return size >= count


def is_archive(path: Path) -> bool:
    """Whether a file begins like an archive."""
    with opened(path) as file:
        return file.read(4) == MAGIC


def archived(path: Path, collection: str, name: str) -> Iterator[Frames]:
    """Stream the documents of one collection, and check its CRC at the end."""
    with opened(path) as file:
        reader = BlockReader(file, str(path))
        reader.magic()
        wanted = _database(reader, collection, str(path)), collection
        batch, number, crc = Batch(), 1, 0
        while not reader.at_end():
            where, header = reader.where, reader.fields()
            if header is None:
                raise DataError(f"{where}: a block without a header")
            ours = (header.get("db"), header.get("collection")) == wanted
            if ours and header.get("EOF") is True:
                frames = batch.taken(number)
                crc = crc64(frames.data, crc)
                _check(crc, header, name)
                yield frames
                return
            while (document := reader.document()) is not None:
                if ours and batch.add(document):
                    frames = batch.taken(number)
                    crc = crc64(frames.data, crc)
                    number += len(frames.starts) - 1
                    yield frames
        raise DataError(f"{path}: truncated: the archive ends before the collection {collection}")


def _database(reader: BlockReader, collection: str, name: str) -> str:
    """Read the prelude; return the one database that has the collection."""
    header = reader.fields()
    if header is None:
        raise DataError(f"{name}: the archive has no header")
    collections = []
    while (metadata := reader.fields()) is not None:
        collections.append((str(metadata.get("db")), str(metadata.get("collection"))))
    found = [database for database, one in collections if one == collection]
    if len(found) != 1:
        told = ", ".join(sorted(".".join(pair) for pair in collections)) or "nothing"
        raise DataError(
            f"{name}: {len(found)} collections named {collection}; needs exactly one; has {told}"
        )
    return found[0]


def _check(crc: int, header: Mapping[str, Any], name: str) -> None:
    stated = header.get("CRC")
    if not isinstance(stated, int) or stated % 2**64 != crc:
        raise DataError(f"{name}: checksum is {crc:016x}, but the archive says {stated!r}")

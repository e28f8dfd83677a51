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
import numpy as np
import numpy.typing as npt
from bson.errors import BSONError

from barograph.compiled import kernel
from barograph.errors import DataError
from barograph.sources.base import Document, SeriesColumns, Source
from barograph.sources.documents import (
    CHUNK,
    Batch,
    Frames,
    checked_length,
    columns,
    decode_each,
    framed,
    opened,
)
from barograph.sources.report import Skip

MAGIC = (0x8199E26D).to_bytes(4, "little")
TERMINATOR = b"\xff\xff\xff\xff"
Words = npt.NDArray[np.uint64]
POLYNOMIAL = 0xC96C5795D7870F42
STRIDE = 8


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
        self._path = Path(location)
        self._time_series, self._change_points = time_series, change_points

    @property
    def name(self) -> str:
        """The path, as given."""
        return str(self._path)

    def time_series(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the collection of series, valid ones as columns."""
        name, batches = self._frames(self._time_series)
        for frames in batches:
            yield from columns(frames, name)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the collection of change points."""
        if self._change_points is None:
            return
        name, batches = self._frames(self._change_points)
        for frames in batches:
            yield from decode_each(frames, name)

    def _frames(self, collection: str) -> tuple[str, Iterator[Frames]]:
        """Return the name of the collection for messages, and its documents."""
        if self._path.is_file():
            if not is_archive(self._path):
                raise DataError(f"{self._path}: neither a dump directory nor a mongodump archive")
            name = f"{self._path}:{collection}"
            return name, read_archive(self._path, collection, name)
        path = find_file(self._path, collection)
        return str(path), _framed_file(path)


def _framed_file(path: Path) -> Iterator[Frames]:
    with opened(path) as file:
        yield from framed(file, str(path))


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


class BlockReader:
    """Reads the documents and terminators of an archive one by one."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._data, self._position, self._offset = b"", 0, 0

    @property
    def where(self) -> str:
        """The current position, for messages."""
        return f"{self._name}: byte {self._offset + self._position}"

    def skip_magic(self) -> None:
        """Skip the magic number."""
        if not self._has(4) or self._data[:4] != MAGIC:
            raise DataError(
                f"{self._name}: not a mongodump archive: starts with {self._data[:4]!r}"
            )
        self._position += 4

    def is_at_end(self) -> bool:
        """Return whether the file ends here."""
        return not self._has(1)

    def document(self) -> bytes | None:
        """Return the next document, or None for a terminator."""
        if not self._has(4):
            raise DataError(f"{self.where}: truncated: the archive ends within a block")
        prefix = self._data[self._position : self._position + 4]
        if prefix == TERMINATOR:
            self._position += 4
            return None
        length = checked_length(prefix, self.where)
        if not self._has(length):
            raise DataError(f"{self.where}: truncated: a document of {length} bytes is cut off")
        document = self._data[self._position : self._position + length]
        if document[-1] != 0:
            raise DataError(f"{self.where}: length field says {length}, but no document ends there")
        self._position += length
        return document

    def fields(self) -> Mapping[str, Any] | None:
        """Return the next document, decoded; it must be one of the archive's own headers."""
        where, document = self.where, self.document()
        try:
            return None if document is None else bson.decode(document)
        except (BSONError, ValueError, OverflowError, RecursionError) as error:
            raise DataError(f"{where}: damaged archive header: {error}") from error

    def _has(self, count: int) -> bool:
        """Fill the buffer with at least `count` bytes; return False if the file has fewer."""
        if len(self._data) - self._position >= count:
            return True
        pieces = [self._data[self._position :]]
        self._offset += self._position
        self._position, size = 0, len(pieces[0])
        while size < count and (piece := self._file.read(max(CHUNK, count - size))):
            pieces.append(piece)
            size += len(piece)
        self._data = b"".join(pieces)
        return size >= count


def is_archive(path: Path) -> bool:
    """Return whether a file starts like a mongodump archive."""
    with opened(path) as file:
        return file.read(4) == MAGIC


def read_archive(path: Path, collection: str, name: str) -> Iterator[Frames]:
    """Stream the documents of one collection; verify its CRC at the end."""
    with opened(path) as file:
        reader = BlockReader(file, str(path))
        reader.skip_magic()
        name_of_stream = _database(reader, collection, str(path)), collection
        batch, number, crc = Batch(), 1, 0
        while not reader.is_at_end():
            where, header = reader.where, reader.fields()
            if header is None:
                raise DataError(f"{where}: a block without a header")
            ours = (header.get("db"), header.get("collection")) == name_of_stream
            if ours and header.get("EOF") is True:
                frames = batch.flush(number)
                crc = crc64(frames.data, crc)
                _check(crc, header, name)
                yield frames
                return
            while (document := reader.document()) is not None:
                if ours and batch.add(document):
                    frames = batch.flush(number)
                    crc = crc64(frames.data, crc)
                    number += len(frames.starts) - 1
                    yield frames
        raise DataError(f"{path}: truncated: the archive ends before the collection {collection}")


def _database(reader: BlockReader, collection: str, name: str) -> str:
    """Read the prelude; return the only database that has the collection."""
    header = reader.fields()
    if header is None:
        raise DataError(f"{name}: the archive has no header")
    collections = []
    while (metadata := reader.fields()) is not None:
        collections.append((str(metadata.get("db")), str(metadata.get("collection"))))
    databases = [database for database, known in collections if known == collection]
    if len(databases) != 1:
        names = ", ".join(sorted(".".join(pair) for pair in collections)) or "none"
        raise DataError(
            f"{name}: {len(databases)} collections named {collection}; expected exactly one; "
            f"the archive has {names}"
        )
    return databases[0]


def _check(crc: int, header: Mapping[str, Any], name: str) -> None:
    stated = header.get("CRC")
    if not isinstance(stated, int) or stated % 2**64 != crc:
        raise DataError(f"{name}: checksum is {crc:016x}, but the archive says {stated!r}")


def _tables() -> Words:
    """Return in row k what a byte contributes if k more bytes follow it in the stride."""
    rows = np.zeros((STRIDE, 256), dtype=np.uint64)
    for byte in range(256):
        word = byte
        for _ in range(8):
            word = (word >> 1) ^ (POLYNOMIAL if word & 1 else 0)
        rows[0, byte] = word
    for row in range(1, STRIDE):
        before = rows[row - 1]
        rows[row] = rows[0, before & np.uint64(255)] ^ (before >> np.uint64(8))
    return rows


TABLES = _tables()


def crc64(data: bytes, before: int = 0) -> int:
    """Return the CRC-64 of mongodump archives (ECMA-182, reflected, all ones before and after).

    Args:
        data: The next bytes.
        before: The CRC of the bytes before them.
    """
    ones = 2**64 - 1
    state = np.uint64(before ^ ones)
    return int(updated(np.frombuffer(data, dtype=np.uint8), state)) ^ ones


@kernel
def updated(data: npt.NDArray[np.uint8], state: np.uint64) -> np.uint64:
    """Return the state after all bytes: eight at a time, then the rest one by one."""
    byte, bits = np.uint64(255), np.uint64(8)
    whole = data.size - data.size % STRIDE
    for start in range(0, whole, STRIDE):
        next_state = np.uint64(0)
        for place in range(STRIDE):
            index = np.uint64(data[start + place]) ^ (state & byte)
            state >>= bits
            next_state ^= TABLES[STRIDE - 1 - place, index]
        state = next_state
    for place in range(whole, data.size):
        state = TABLES[0, (state ^ np.uint64(data[place])) & byte] ^ (state >> bits)
    return state

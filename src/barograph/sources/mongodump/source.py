"""Read the two collections of a dump, wherever they are in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from barograph.errors import DataError
from barograph.sources.contract import Document, SeriesColumns, Skip, Source
from barograph.sources.documents.columns import columns, decoded
from barograph.sources.documents.frames import Frames, framed, opened
from barograph.sources.mongodump.archive import archived, is_archive


class MongoDump(Source):
    """A directory with `time_series.bson` and `change_points.bson`, or an archive with both.

    Args:
        location: The directory (or the dump's root, above the database's), or the archive.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points; None where there is none.
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

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the collection of series."""
        name, batches = self._frames(self._time_series)
        for frames in batches:
            yield from decoded(frames, name)

    def columns(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the collection of series, sound ones as columns."""
        name, batches = self._frames(self._time_series)
        for frames in batches:
            yield from columns(frames, name)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the collection of change points."""
        if self._change_points is None:
            return
        name, batches = self._frames(self._change_points)
        for frames in batches:
            yield from decoded(frames, name)

    def _frames(self, collection: str) -> tuple[str, Iterator[Frames]]:
        """What messages call the collection, and its documents."""
        if self._path.is_file():
            if not is_archive(self._path):
                raise DataError(f"{self._path}: neither a dump's directory nor a mongodump archive")
            name = f"{self._path}:{collection}"
            return name, archived(self._path, collection, name)
        path = find(self._path, collection)
        return str(path), _framed_file(path)


def _framed_file(path: Path) -> Iterator[Frames]:
    with opened(path) as file:
        yield from framed(file, str(path))


def find(folder: Path, collection: str) -> Path:
    """Find a collection's file in a directory or below it: there must be exactly one."""
    if not folder.exists():
        raise DataError(f"{folder}: no such file or directory")
    names = (f"{collection}.bson", f"{collection}.bson.gz")
    found = sorted(path for name in names for path in folder.rglob(name))
    if len(found) != 1:
        raise DataError(
            f"{folder}: {len(found)} files named {' or '.join(names)}; needs exactly one"
            + "".join(f", {path.relative_to(folder)}" for path in found)
        )
    return found[0]

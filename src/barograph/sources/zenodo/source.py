"""The mongodump in a record of Zenodo, as a source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from barograph.errors import ConfigError
from barograph.sources.contract import Document, SeriesColumns, Skip, Source
from barograph.sources.mongodump import MongoDump
from barograph.sources.zenodo.record import MONGODB, Record
from barograph.sources.zenodo.unpack import Limits


class Zenodo(Source):
    """Downloads the record when the first document is asked for, then reads the dump in it.

    Args:
        location: The folder in which the download and what it unpacks to stay.
        record: The record's number; the MongoDB set's by default.
        base: The server.
        inside: The path of the dump below the record's folder, needed where there are several.
        max_bytes: How much the download, and each archive in it, may come to.
        max_ratio: To how many bytes one packed byte may unpack.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points; None where there is none.
    """

    def __init__(
        self,
        location: str,
        *,
        record: int = MONGODB,
        base: str = "https://zenodo.org",
        inside: str = "",
        max_bytes: int = Limits.total,
        max_ratio: float = Limits.ratio,
        time_series: str = "time_series",
        change_points: str | None = "change_points",
    ) -> None:
        if type(record) is not int:
            raise ConfigError(f"record: {record!r}, but a record of Zenodo has a whole number")
        if not location:
            raise ConfigError("location: empty, but a folder must keep the download")
        limits = Limits(total=max_bytes, ratio=max_ratio)
        self._record = Record(record, Path(location), base, inside, limits)
        self._time_series, self._change_points = time_series, change_points

    @property
    def name(self) -> str:
        """The record, wherever its files are kept."""
        return f"zenodo:{self._record.number}"

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the collection of series."""
        yield from self._dump.time_series()

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the collection of change points."""
        yield from self._dump.change_points()

    def columns(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the series the fast way, as the dump's own source does."""
        yield from self._dump.columns()

    @cached_property
    def _dump(self) -> MongoDump:
        path = self._record.obtain(self._time_series)
        return MongoDump(
            str(path), time_series=self._time_series, change_points=self._change_points
        )

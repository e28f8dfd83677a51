"""Write a mongodump directory, as the tool itself would leave it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import bson

from barograph.sources.publish import published

COLLECTIONS = ("time_series", "change_points")
FILES = [f"{name}{end}" for name in COLLECTIONS for end in (".metadata.json", ".bson")]


class DumpWriter:
    """Takes documents of both collections in any order; see `dump_writer`."""

    def __init__(self, series: BinaryIO, change_points: BinaryIO) -> None:
        self._series, self._change_points = series, change_points
        self._count = 0

    def add_series(self, fields: Mapping[str, Any]) -> None:
        """Write one time series document."""
        self._series.write(self._encoded(fields))

    def add_change_point(self, fields: Mapping[str, Any]) -> None:
        """Write one change point document."""
        self._change_points.write(self._encoded(fields))

    def _encoded(self, fields: Mapping[str, Any]) -> bytes:
        """Every document of a database has an _id; one is counted up where it is missing."""
        self._count += 1
        if "_id" not in fields:
            fields = {"_id": bson.ObjectId(self._count.to_bytes(12, "big")), **fields}
        return bson.encode(fields)


@contextmanager
def dump_writer(folder: str | Path) -> Iterator[DumpWriter]:
    """Yield a writer; the dump stands in `folder` at the end, or not at all after an error."""
    with published(folder, FILES) as draft:
        for name in COLLECTIONS:
            text = json.dumps(_metadata(name), separators=(",", ":"))
            (draft / f"{name}.metadata.json").write_text(text, encoding="utf-8")
        with (
            (draft / "time_series.bson").open("wb") as series,
            (draft / "change_points.bson").open("wb") as change_points,
        ):
            yield DumpWriter(series, change_points)


def write_dump(
    folder: str | Path,
    series_documents: Iterable[Mapping[str, Any]],
    change_point_documents: Iterable[Mapping[str, Any]],
) -> None:
    """Write all documents as `time_series.bson` and `change_points.bson` with their metadata.

    Both are streamed, the series first; whoever makes them together uses `dump_writer`.
    """
    with dump_writer(folder) as dump:
        for fields in series_documents:
            dump.add_series(fields)
        for fields in change_point_documents:
            dump.add_change_point(fields)


def _metadata(collection: str) -> dict[str, Any]:
    """What mongodump writes of a collection with the one index that each has."""
    index = {"v": {"$numberInt": "2"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_"}
    # A database draws it at random; here the same dump has the same bytes.
    identifier = uuid.uuid5(uuid.NAMESPACE_URL, f"barograph:{collection}").hex
    return {
        "indexes": [index],
        "uuid": identifier,
        "collectionName": collection,
        "type": "collection",
    }

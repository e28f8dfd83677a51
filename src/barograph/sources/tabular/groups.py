"""Groups of series with their points, as columns or as documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from barograph.series import UNKNOWN_TIME, Ints, SeriesId
from barograph.sources.base import Document, Place, SeriesColumns, Skip
from barograph.sources.fields import FieldError, direction_of
from barograph.sources.tabular.identities import fields_of, identity
from barograph.sources.tabular.runs import SeriesChunk


@dataclass(frozen=True, slots=True)
class Files:
    """The names of the files in messages."""

    series: str
    points: str


@dataclass(frozen=True, slots=True)
class Group:
    """Series with points: the row and the identity of each, and the range of its points."""

    file: str
    rows: list[int]
    ids: list[SeriesId]
    directions: list[int]
    edges: Ints  # where the points of each start, and where those of the last end
    points: pa.Table

    def items(self) -> Iterator[SeriesColumns | Document]:
        """Yield all series as columns if they are valid and consecutive, else as documents."""
        orders = self.points.column("order").to_numpy()
        rises = np.diff(orders) > 0
        rises[self.edges[1:-1] - 1] = True
        if rises.all() and np.all(np.diff(self.rows) == 1):
            yield self._columns(orders)
        else:
            yield from self.documents()

    def documents(self) -> Iterator[Document]:
        """Yield each series as a document; the loader corrects its points."""
        for number, row in enumerate(self.rows):
            start, end = self.edges[number : number + 2]
            data = [_point(point) for point in self.points.slice(start, end - start).to_pylist()]
            fields = {**fields_of(self.ids[number]), "direction": self.directions[number]}
            yield Document(Place(self.file, row), {**fields, "data": data})

    def _columns(self, orders: Ints) -> SeriesColumns:
        times = self.points.column("time").fill_null(UNKNOWN_TIME)
        return SeriesColumns(
            file=self.file,
            first=self.rows[0],
            ids=self.ids,
            directions=self.directions,
            counts=np.diff(self.edges),
            orders=orders,
            times=times.to_numpy(),
            values=self.points.column("value").to_numpy(),
            commits=_one_array(self.points.column("commit")),
        )


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _point(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "order": row["order"],
        "value": row["value"],
        "commit": row["commit"],
        "commit_date": row["time"],
    }


def grouped(chunk: SeriesChunk, files: Files) -> Iterator[Group | Skip]:
    """Yield the usable series of a chunk, and a skip for everything else."""
    owners = chunk.rows.column("series").to_numpy()
    numbers: list[int] = []
    known: list[tuple[int, SeriesId, int]] = []
    reasons: dict[int, str] = {}
    for number, row in chunk.series.items():
        place = Place(files.series, row["row"])
        try:
            entry = (row["row"], identity(row), direction_of(row.get("direction")))
        except FieldError as fault:
            yield Skip(place, fault.field, fault.value, fault.reason, "series")
            reasons[number] = "its series was skipped"
            continue
        if not np.searchsorted(owners, number, "right") > np.searchsorted(owners, number):
            yield Skip(place, "series", number, "no usable point", "series")
            continue
        numbers.append(number)
        known.append(entry)
    chosen = np.isin(owners, numbers)
    for row in chunk.rows.filter(pa.array(~chosen)).select(["series", "row"]).to_pylist():
        reason = reasons.get(row["series"], chunk.strangers)
        yield Skip(Place(files.points, row["row"]), "series", row["series"], reason, "points")
    if numbers:
        edges = np.append(np.searchsorted(owners[chosen], numbers), int(chosen.sum()))
        rows, ids, directions = map(list, zip(*known, strict=True))
        points = chunk.rows.filter(pa.array(chosen))
        yield Group(files.series, rows, ids, directions, edges.astype(np.int64), points)


def candidate(row: dict[str, Any], series: dict[str, Any], file: str) -> Document:
    """Return a row of the table of candidates as a document."""
    triage = {"triage_status": row["verdict"], "triaged_on": row["triaged_on"]}
    fields = {name: row[name] for name in ("order", "commit", "calculated_on", "algorithm")}
    info = fields_of(identity(series))
    return Document(Place(file, row["row"]), {**fields, "time_series_info": info, "triage": triage})

"""Some series with their points, as the loader takes them: columns, or documents."""

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
    """What messages call the files."""

    series: str
    points: str


@dataclass(frozen=True, slots=True)
class Group:
    """Series that have points: of each its row and identity, and the range of its points."""

    file: str
    rows: list[int]
    ids: list[SeriesId]
    directions: list[int]
    edges: Ints  # where the points of each start, and where those of the last end
    points: pa.Table

    def items(self) -> Iterator[SeriesColumns | Document]:
        """All in one where every order rises and the rows follow each other; else one by one."""
        orders = self.points.column("order").to_numpy()
        rises = np.diff(orders) > 0
        rises[self.edges[1:-1] - 1] = True
        if rises.all() and np.all(np.diff(self.rows) == 1):
            yield self._columns(orders)
        else:
            yield from self.documents()

    def documents(self) -> Iterator[Document]:
        """Each series as a document, whose points the loader puts right."""
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


def grouped(step: SeriesChunk, files: Files) -> Iterator[Group | Skip]:
    """The usable series of a step; and whatever is not usable, told."""
    owners = step.rows.column("series").to_numpy()
    numbers: list[int] = []
    known: list[tuple[int, SeriesId, int]] = []
    reasons: dict[int, str] = {}
    for number, row in step.series.items():
        place = Place(files.series, row["row"])
        try:
            known_one = (row["row"], identity(row), direction_of(row.get("direction")))
        except FieldError as fault:
            yield Skip(place, fault.field, fault.value, fault.reason, "series")
            reasons[number] = "its series was skipped"
            continue
        if not np.searchsorted(owners, number, "right") > np.searchsorted(owners, number):
            yield Skip(place, "series", number, "no usable point", "series")
            continue
        numbers.append(number)
        known.append(known_one)
    chosen = np.isin(owners, numbers)
    for row in step.rows.filter(pa.array(~chosen)).select(["series", "row"]).to_pylist():
        reason = reasons.get(row["series"], step.strangers)
        yield Skip(Place(files.points, row["row"]), "series", row["series"], reason, "points")
    if numbers:
        edges = np.append(np.searchsorted(owners[chosen], numbers), int(chosen.sum()))
        rows, ids, directions = (list(one) for one in zip(*known, strict=True))
        points = step.rows.filter(pa.array(chosen))
        yield Group(files.series, rows, ids, directions, edges.astype(np.int64), points)


def candidate(row: dict[str, Any], series: dict[str, Any], file: str) -> Document:
    """A row of the table of candidates as a document."""
    triage = {"triage_status": row["verdict"], "triaged_on": row["triaged_on"]}
    fields = {name: row[name] for name in ("order", "commit", "calculated_on", "algorithm")}
    info = fields_of(identity(series))
    return Document(Place(file, row["row"]), {**fields, "time_series_info": info, "triage": triage})

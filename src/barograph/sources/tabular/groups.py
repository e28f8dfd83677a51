"""Groups of series with their results, as columns or as documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from barograph.parquet import texts_of
from barograph.repeats import OTHER_COMMIT, Combined, Results, combine
from barograph.series import UNKNOWN_TIME, Ints, SeriesId
from barograph.sources.base import Document, Place, SeriesColumns, Skip
from barograph.sources.fields import FieldError, direction_of
from barograph.sources.tabular.identities import fields_of, identity
from barograph.sources.tabular.runs import SeriesChunk

LATE = "points out of order, sorted"


@dataclass(frozen=True, slots=True)
class Files:
    """The names of the files in messages."""

    series: str
    points: str


@dataclass(frozen=True, slots=True)
class Group:
    """Series with points: the row and the identity of each, and the range of its points."""

    file: str
    points_file: str
    rows: list[int]
    ids: list[SeriesId]
    directions: list[int]
    edges: Ints  # where the points of each start, and where those of the last end
    points: pa.Table

    def columns(self, aggregate: str) -> Iterator[SeriesColumns | Skip]:
        """Yield all series as columns, and a skip for each result that contradicts another.

        Args:
            aggregate: How the runs of a commit become one value.
        """
        orders = self.points.column("order").to_numpy()
        rises = np.diff(orders) > 0
        rises[self.edges[1:-1] - 1] = True
        plain = self.points.column("run").null_count == orders.size
        columns = self._as_listed(orders) if rises.all() and plain else None
        if columns is None:
            combined = combine(self._results(orders), aggregate)
            for row in combined.conflicts.tolist():
                yield self._conflict(row)
            columns = self._combined(combined, aggregate, self._late(orders))
        yield from self._without_gaps(columns)

    def _as_listed(self, orders: Ints) -> SeriesColumns:
        """Return series whose points are sorted and have one run each."""
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
            commits=texts_of(self.points.column("commit")),
        )

    def _results(self, orders: Ints) -> Results:
        times = self.points.column("time").fill_null(UNKNOWN_TIME)
        return Results(
            owners=self._owners(),
            orders=orders,
            times=times.to_numpy(),
            values=self.points.column("value").to_numpy(),
            commits=texts_of(self.points.column("commit")),
            runs=texts_of(self.points.column("run")),
        )

    def _combined(self, combined: Combined, aggregate: str, late: int) -> SeriesColumns:
        """Return series with the runs of each commit as one point, and what was corrected."""
        points, repeats = combined.points, combined.repeats
        several = repeats.counts > 1
        corrected = combined.corrected + Counter(
            {
                LATE: late,
                f"runs of one commit, replaced by their {aggregate}": int(
                    repeats.counts[several].sum()
                ),
            }
        )
        return SeriesColumns(
            file=self.file,
            first=self.rows[0],
            ids=self.ids,
            directions=self.directions,
            counts=np.bincount(points.owners, minlength=len(self.rows)),
            orders=points.orders,
            times=points.times,
            values=points.values,
            commits=points.commits,
            repeats=repeats,
            read=self.points.num_rows - combined.conflicts.size,
            corrected=corrected,
        )

    def _owners(self) -> Ints:
        owners: Ints = np.repeat(np.arange(len(self.rows)), np.diff(self.edges))
        return owners

    def _late(self, orders: Ints) -> int:
        """Count the points after a point of their series with a larger order."""
        ranks = np.unique(orders, return_inverse=True)[1]
        places = self._owners() * (int(ranks.max(initial=0)) + 1) + ranks
        return int((places < np.maximum.accumulate(places)).sum())

    def _conflict(self, row: int) -> Skip:
        found = self.points.slice(row, 1).to_pylist()[0]
        place = Place(self.points_file, found["row"])
        return Skip(place, "commit", found["commit"], OTHER_COMMIT, "points")

    def _without_gaps(self, columns: SeriesColumns) -> Iterator[SeriesColumns]:
        """Split columns where the numbers of the series have a gap."""
        gaps = np.flatnonzero(np.diff(self.rows) != 1) + 1
        bounds = [0, *gaps.tolist(), len(self.rows)]
        more = columns.results - columns.values.size
        for start, stop in pairwise(bounds):
            part = columns.part(start, stop)
            if start:
                yield replace(part, first=self.rows[start])
            else:  # it carries the counts of all parts
                read = part.values.size + more
                yield replace(part, read=read, corrected=columns.corrected)


def documents_of(columns: SeriesColumns) -> Iterator[Document]:
    """Yield each series as a document, with one point for each order."""
    edges = np.append(0, np.cumsum(columns.counts)).tolist()
    times = [None if time == UNKNOWN_TIME else time for time in columns.times.tolist()]
    rows = zip(
        columns.orders.tolist(),
        columns.values.tolist(),
        [commit or None for commit in columns.commits],
        times,
        strict=True,
    )
    points = [
        dict(zip(("order", "value", "commit", "commit_date"), row, strict=True)) for row in rows
    ]
    for number, (start, stop) in enumerate(pairwise(edges)):
        fields = {**fields_of(columns.ids[number]), "direction": columns.directions[number]}
        place = Place(columns.file, columns.first + number)
        yield Document(place, {**fields, "data": points[start:stop]})


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
        yield Group(
            files.series, files.points, rows, ids, directions, edges.astype(np.int64), points
        )


def candidate(row: dict[str, Any], series: dict[str, Any], file: str) -> Document:
    """Return a row of the table of candidates as a document."""
    triage = {"triage_status": row["verdict"], "triaged_on": row["triaged_on"]}
    fields = {name: row[name] for name in ("order", "commit", "calculated_on", "algorithm")}
    info = fields_of(identity(series))
    return Document(Place(file, row["row"]), {**fields, "time_series_info": info, "triage": triage})

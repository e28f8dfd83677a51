"""Find the series and the order of each measurement; create series and orders that are missing."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.series import Direction, SeriesId
from barograph.runtime.errors import DataError
from barograph.server.store.database import Insertion, Row, renew_revision, rows_in
from barograph.server.store.measurement import (
    Limits,
    Measurement,
    PointResult,
    PointStatus,
    direction_of,
    fault,
    in_unit,
    series_fault,
)
from barograph.server.store.reading import StoredSeries, series_named
from barograph.server.store.schema import commits, points, series

NEW_COMMIT = Insertion(commits, ("project", "commit", "order"), keep=True)
_C, _P = commits.c, points.c
COMMITS = sa.select(_C.commit, _C.order).where(_C.project == sa.bindparam("project"))
NEWEST = (
    sa.select(_P.order)
    .where(_P.series == sa.bindparam("series"), _P.settled.is_not(None))
    .order_by(_P.order.desc())
    .limit(1)
)
Arrived = dict[int, list["Arrival"]]  # by series


class Arrival(NamedTuple):
    """A measurement in its place, with its result; sorts by the place, then by arrival."""

    order: int
    run: str
    row: int
    measurement: Measurement
    result: PointResult


class Locator:
    """Finds the places of the measurements of one transaction.

    Args:
        connection: Of the writing transaction.
        limits: What a sender may ask.

    Attributes:
        orders: Orders of commits, by project and name.
    """

    def __init__(self, connection: sa.Connection, limits: Limits) -> None:
        self._connection, self._limits = connection, limits
        self.orders: dict[tuple[str, str], int] = {}
        self._last: dict[str, int] = {}  # the highest order by project, where it was needed

    def locate(
        self, measurements: Sequence[Measurement], results: Sequence[PointResult]
    ) -> Arrived:
        """Find the series and the order of each measurement; give a reason if it has none."""
        for measurement, result in zip(measurements, results, strict=True):
            result.reason = fault(measurement, self._limits)
        valid = [row for row, result in enumerate(results) if not result.reason]
        numbers, known, refused = self._series_of([measurements[row] for row in valid])
        self._read_orders(measurements[row] for row in valid)
        arrived: Arrived = {}
        without_order: list[tuple[int, int, Measurement]] = []
        for row in valid:
            measurement, result = measurements[row], results[row]
            number = numbers.get(measurement.series)
            if number is None:
                result.reason = refused[measurement.series]
                continue
            try:
                measurement = self._fitted(measurement, number, known)
            except DataError as error:
                result.reason = str(error)
                continue
            if measurement.order is None:
                without_order.append((number, row, measurement))
                continue
            arrival = Arrival(measurement.order, measurement.run, row, measurement, result)
            arrived.setdefault(number, []).append(arrival)
            if measurement.commit:
                self.orders.setdefault(commit_of(measurement), measurement.order)
        for number, row, measurement in without_order:
            arrivals = arrived.setdefault(number, [])
            order = self._order_of(number, measurement, arrivals)
            arrivals.append(Arrival(order, measurement.run, row, measurement, results[row]))
        return arrived

    def _series_of(
        self, measurements: Sequence[Measurement]
    ) -> tuple[dict[SeriesId, int], dict[int, StoredSeries], dict[SeriesId, str]]:
        """Return numbers by name, series by number, and why others are refused; create new ones."""
        first = {m.series: m for m in reversed(measurements)}
        refused = {name: reason for name in first if (reason := series_fault(name, self._limits))}
        names = [m.series for m in measurements if m.series not in refused]
        found = series_named(self._connection, dict.fromkeys(names))
        if new := [name for name in dict.fromkeys(names) if name not in found]:
            rows = [
                {
                    "digest": name.digest,
                    **name.labels,
                    "args": name.args_json,
                    "direction": int(direction_of(first[name])),
                    "unit": first[name].unit,
                }
                for name in new
            ]
            self._connection.execute(sa.insert(series), rows)
            found |= series_named(self._connection, new)
        numbers = {name: stored.id for name, stored in found.items()}
        return numbers, {stored.id: stored for stored in found.values()}, refused

    def _fitted(
        self, measurement: Measurement, number: int, known: dict[int, StoredSeries]
    ) -> Measurement:
        """Return a measurement in the unit of its series.

        A series that has no direction or no unit yet gets that of the measurement. If that states
        no direction, its unit gives it.

        Raises:
            DataError: The series has another direction, or a unit that it cannot be converted to.
        """
        stored = known[number]
        has_direction = measurement.direction in (Direction.UNKNOWN, stored.direction)
        if has_direction and measurement.unit in ("", stored.unit):
            return measurement
        direction = stored.direction or direction_of(measurement)
        unit = stored.unit or measurement.unit
        if measurement.direction and measurement.direction != direction:
            raise DataError(
                f"direction: {int(measurement.direction)}, but the series has {int(direction)}"
            )
        if measurement.unit and measurement.unit != unit:
            measurement = in_unit(measurement, unit, self._limits)
        if (direction, unit) != (stored.direction, stored.unit):
            query = sa.update(series).where(series.c.id == number)
            self._connection.execute(query.values(direction=int(direction), unit=unit))
            renew_revision(self._connection)
            known[number] = stored._replace(direction=direction, unit=unit)
        return measurement

    def _read_orders(self, measurements: Iterable[Measurement]) -> None:
        """Read the orders that commits have in their projects."""
        named = sorted({commit_of(m) for m in measurements if m.commit})
        for project, group in groupby(named, lambda commit: commit[0]):
            names = [name for _, name in group]
            rows = rows_in(self._connection, COMMITS, _C.commit, names, project=project)
            self.orders |= {(project, name): order for name, order in rows}

    def save_orders(
        self, measurements: Sequence[Measurement], results: Sequence[PointResult]
    ) -> None:
        """Store the orders of the commits that have results; a stored order stays."""
        kept = {
            commit_of(measurement)
            for measurement, result in zip(measurements, results, strict=True)
            if measurement.commit and result.status is not PointStatus.REJECTED
        }
        rows: list[Row] = [(*commit, self.orders[commit]) for commit in sorted(kept)]
        NEW_COMMIT.into(self._connection, rows)

    def _order_of(self, number: int, measurement: Measurement, arrivals: Sequence[Arrival]) -> int:
        """Return the order of the commit of a measurement; a new commit gets the next one."""
        project, _ = commit = commit_of(measurement)
        if commit not in self.orders:
            newest = self._connection.scalar(NEWEST, {"series": number})
            orders = [arrival.order for arrival in arrivals] + ([] if newest is None else [newest])
            order = max([self._last_order(project), *orders]) + 1
            self.orders[commit] = self._last[project] = order
        return self.orders[commit]

    def _last_order(self, project: str) -> int:
        """Return the highest order of the commits of a project, or -1 without any."""
        if project not in self._last:
            query = sa.select(sa.func.max(_C.order)).where(_C.project == project)
            stored = self._connection.scalar(query)
            known = [order for (name, _), order in self.orders.items() if name == project]
            self._last[project] = max(known if stored is None else [*known, stored], default=-1)
        return self._last[project]


def commit_of(measurement: Measurement) -> tuple[str, str]:
    """Return the project and the name of the commit of a measurement."""
    return measurement.series.project, measurement.commit

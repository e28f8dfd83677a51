"""Find the series and the order of each measurement; create series and orders that are missing."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.series import LABELS, Direction, SeriesId
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
from barograph.server.store.reading import StoredSeries, orders_before, series_named
from barograph.server.store.schema import commits, series

NEW_SERIES = Insertion(series, ("digest", *LABELS, "args", "direction", "unit"))
NEW_COMMIT = Insertion(commits, ("project", "commit", "order"), keep=True)
_C = commits.c


class Arrival(NamedTuple):
    """A measurement in its place, with its result; sorts by the place, then by arrival."""

    series: int
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
        self._series: dict[int, StoredSeries] = {}

    def locate(
        self, measurements: Sequence[Measurement], results: Sequence[PointResult]
    ) -> list[Arrival]:
        """Return the measurements that have a place, sorted; the others get a reason."""
        for measurement, result in zip(measurements, results, strict=True):
            result.reason = fault(measurement, self._limits)
        valid = [row for row, result in enumerate(results) if not result.reason]
        numbers, refused = self._numbers_of([measurements[row] for row in valid])
        self._read_orders(measurements[row] for row in valid)
        arrivals: list[Arrival] = []
        without_order: list[tuple[int, int, Measurement]] = []
        for row in valid:
            measurement, result = measurements[row], results[row]
            number = numbers.get(measurement.series)
            if number is None:
                result.reason = refused[measurement.series]
                continue
            try:
                measurement = self._fitted(measurement, number)
            except DataError as error:
                result.reason = str(error)
                continue
            if measurement.order is None:
                without_order.append((number, row, measurement))
                continue
            place = number, measurement.order, measurement.run
            arrivals.append(Arrival(*place, row, measurement, result))
            if measurement.commit:
                self.orders.setdefault(commit_of(measurement), measurement.order)
        for number, row, measurement in without_order:
            place = number, self._order_of(number, measurement, arrivals), measurement.run
            arrivals.append(Arrival(*place, row, measurement, results[row]))
        return sorted(arrivals)

    def _numbers_of(
        self, measurements: Sequence[Measurement]
    ) -> tuple[dict[SeriesId, int], dict[SeriesId, str]]:
        """Return numbers of series, and why others are refused; create those that are missing."""
        first: dict[SeriesId, Measurement] = {}
        for measurement in measurements:
            first.setdefault(measurement.series, measurement)
        refused = {name: reason for name in first if (reason := series_fault(name, self._limits))}
        names = [name for name in first if name not in refused]
        found = series_named(self._connection, names)
        if new := [name for name in names if name not in found]:
            rows: list[Row] = [
                (name.digest, *name.labels.values(), name.args_json, int(direction_of(m)), m.unit)
                for name, m in ((name, first[name]) for name in new)
            ]
            NEW_SERIES.into(self._connection, rows)
            found |= series_named(self._connection, new)
        self._series = {stored.id: stored for stored in found.values()}
        return {name: stored.id for name, stored in found.items()}, refused

    def _fitted(self, measurement: Measurement, number: int) -> Measurement:
        """Return a measurement in the unit of its series.

        A series that has no direction or no unit yet gets that of the measurement. If that states
        no direction, its unit gives it.

        Raises:
            DataError: The series has another direction, or a unit that it cannot be converted to.
        """
        stored = self._series[number]
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
            self._series[number] = stored._replace(direction=direction, unit=unit)
        return measurement

    def _read_orders(self, measurements: Iterable[Measurement]) -> None:
        """Read the orders that commits have in their projects."""
        named = sorted({commit_of(m) for m in measurements if m.commit})
        for project, group in groupby(named, lambda commit: commit[0]):
            query = sa.select(_C.commit, _C.order).where(_C.project == project)
            rows = rows_in(self._connection, query, _C.commit, [name for _, name in group])
            self.orders |= {(project, name): order for name, order in rows}

    def _order_of(self, number: int, measurement: Measurement, arrivals: Sequence[Arrival]) -> int:
        """Return the order of the commit of a measurement; a new commit gets the next one."""
        project, _ = commit = commit_of(measurement)
        if commit not in self.orders:
            if project not in self._last:
                query = sa.select(sa.func.max(_C.order)).where(_C.project == project)
                stored = self._connection.scalar(query)
                known = [order for (name, _), order in self.orders.items() if name == project]
                self._last[project] = max(known if stored is None else [*known, stored], default=-1)
            of_series = [arrival.order for arrival in arrivals if arrival.series == number]
            of_series += orders_before(self._connection, number, None, 1)
            self.orders[commit] = self._last[project] = max([self._last[project], *of_series]) + 1
        return self.orders[commit]

    def save_orders(self, arrivals: Iterable[Arrival]) -> None:
        """Store the orders of the commits that have results; a stored order stays."""
        kept = {
            commit_of(arrival.measurement)
            for arrival in arrivals
            if arrival.measurement.commit and arrival.result.status is not PointStatus.REJECTED
        }
        rows: list[Row] = [(*commit, self.orders[commit]) for commit in sorted(kept)]
        NEW_COMMIT.into(self._connection, rows)


def commit_of(measurement: Measurement) -> tuple[str, str]:
    """Return the project and the name of the commit of a measurement."""
    return measurement.series.project, measurement.commit

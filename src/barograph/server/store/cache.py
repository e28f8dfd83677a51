"""What the next results need, kept in memory: numbers of series, orders of commits, newest values.

A commit counts with one value, however many runs it has: the settled one. After a start the values
are read from the database: the table `blocks` holds the newest values of a series as bytes, so that
a start reads those and the few points after them instead of every point. The block of a series is
rewritten in the transaction of every 64th commit; the series take turns, so that no transaction
writes the blocks of all of them.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, Self

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import AlarmState
from barograph.detection.online.views import kept_from
from barograph.results.series import Floats, SeriesId
from barograph.runtime.errors import DataError
from barograph.server.store.database import Insertion, chunks, renew_revision, rows_in
from barograph.server.store.measurement import (
    CHANGE,
    Limits,
    Measurement,
    direction_of,
    in_unit,
    series_fault,
)
from barograph.server.store.reading import StoredSeries, series_named, stored_series
from barograph.server.store.schema import blocks, commits, points, series, steps

CACHED = 200_000  # names of each kind; beyond this they are forgotten
ORDER_OF = sa.select(commits.c.order).where(
    commits.c.project == sa.bindparam("project"), commits.c.commit == sa.bindparam("commit")
)
NOWHERE = -(2**63)  # before every order
BLOCK_EVERY = 64  # points of a series between two blocks
_BLOCK = ("order", "count", "start", "values")
BLOCK = Insertion(blocks, ("series", *_BLOCK), replace=_BLOCK)


class Registry:
    """The numbers of series, and the orders of commits in their projects."""

    def __init__(self) -> None:
        self._series: dict[SeriesId, StoredSeries] = {}
        self._commits: dict[tuple[str, str], int] = {}
        self.new_commits: set[tuple[str, str]] = set()  # that this transaction stored

    def find(
        self, connection: sa.Connection, measurements: Sequence[Measurement], limits: Limits
    ) -> list[StoredSeries | str]:
        """Return the series of each measurement, or why it is refused; create missing ones."""
        if len(self._series) > CACHED:
            self._series.clear()
        found = [self._series.get(measurement.series) for measurement in measurements]
        first: dict[SeriesId, Measurement] = {}
        for known, measurement in zip(found, measurements, strict=True):
            if known is None:
                first.setdefault(measurement.series, measurement)
        refused = {name: reason for name in first if (reason := series_fault(name, limits))}
        if names := [name for name in first if name not in refused]:
            self._series |= series_named(connection, names)
        if new := [name for name in names if name not in self._series]:
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
            connection.execute(sa.insert(series), rows)
            self._series |= series_named(connection, new)
        return [
            known or refused.get(measurement.series) or self._series[measurement.series]
            for known, measurement in zip(found, measurements, strict=True)
        ]

    def preload(self, connection: sa.Connection, after: int, count: int) -> list[int]:
        """Cache the series whose numbers follow one; return their numbers."""
        if len(self._series) + count > CACHED:
            return []
        query = sa.select(series).where(series.c.id > after).order_by(series.c.id)
        rows = connection.execute(query.limit(count)).all()
        known = list(map(stored_series, rows))
        self._series |= {stored.name: stored for stored in known}
        return [stored.id for stored in known]

    def fit(
        self, connection: sa.Connection, measurement: Measurement, limits: Limits
    ) -> Measurement:
        """Return a measurement in the unit of its series.

        A series that has no direction or no unit yet gets that of the measurement. If that states
        no direction, its unit gives it.

        Raises:
            DataError: The series has another direction, or a unit that it cannot be converted to.
        """
        name = measurement.series
        known = self._series[name]
        if not (known.direction and known.unit):  # it may have got them under another name
            known = series_named(connection, [name])[name]
        direction = known.direction or direction_of(measurement)
        unit = known.unit or measurement.unit
        if measurement.direction and measurement.direction != direction:
            raise DataError(
                f"direction: {int(measurement.direction)}, but the series has {int(direction)}"
            )
        if measurement.unit:
            measurement = in_unit(measurement, unit, limits)
        if (direction, unit) != (known.direction, known.unit):
            query = sa.update(series).where(series.c.id == known.id)
            connection.execute(query.values(direction=int(direction), unit=unit))
            renew_revision(connection)
        self._series[name] = known._replace(direction=direction, unit=unit)
        return measurement

    def order_of(self, connection: sa.Connection, project: str, commit: str) -> int | None:
        """Return the order of a commit in its project, if it has one."""
        known = self._commits.get((project, commit))
        if known is None:
            known = connection.scalar(ORDER_OF, {"project": project, "commit": commit})
            if known is not None:
                if len(self._commits) > CACHED:
                    self._commits.clear()
                self._commits[project, commit] = known
        return known

    def next_order(self, connection: sa.Connection, project: str) -> int:
        """Return the order after all commits of a project."""
        last = connection.scalar(
            sa.select(sa.func.max(commits.c.order)).where(commits.c.project == project)
        )
        return 0 if last is None else last + 1

    def add_commits(self, connection: sa.Connection, orders: dict[tuple[str, str], int]) -> None:
        """Store the orders of commits, by project and commit; an order that is stored stays."""
        new = {c: order for c, order in orders.items() if self.order_of(connection, *c) is None}
        if new:
            rows = [{"project": p, "commit": c, "order": order} for (p, c), order in new.items()]
            connection.execute(sa.insert(commits), rows)
            self._commits |= new
            self.new_commits |= new.keys()

    def keep_commits(self, connection: sa.Connection, used: AbstractSet[tuple[str, str]]) -> None:
        """Delete the orders that this transaction stored, except those of some commits."""
        c = commits.c
        for project, commit in self.new_commits - used:
            self._commits.pop((project, commit), None)
            unused = c.project == project, c.commit == commit
            connection.execute(sa.delete(commits).where(*unused))


def fits(known: StoredSeries, measurement: Measurement) -> bool:
    """Return whether a measurement states the direction and the unit of its series, or none."""
    return (not measurement.direction or measurement.direction == known.direction) and (
        not measurement.unit or measurement.unit == known.unit
    )


def needed(count: int, history: int) -> int:
    """Return how many of the newest values the next decision on a series of `count` reads."""
    return count - kept_from(count, history)


@dataclass(slots=True)
class SeriesTail:
    """The newest values of one series, and the position of its last change point.

    Attributes:
        values: One for each commit, oldest first.
        start: Index of the last change point among the values, 0 if it is before them.
        last: Order of the newest commit.
        count: Number of commits of the whole series.
        state: State of the second look; its positions count all commits of the series.
    """

    values: Floats = field(default_factory=lambda: np.empty(0))
    start: int = 0
    last: int = NOWHERE
    count: int = 0
    state: AlarmState | None = None

    @classmethod
    def of(
        cls,
        values: Floats,
        start: int,
        last: int,
        count: int,
        history: int,
        state: AlarmState | None = None,
    ) -> Self:
        """Return a tail that keeps only what the next decision reads."""
        drop = max(0, values.size - needed(count, history))
        kept = values[drop:].copy() if drop else values
        return cls(kept, max(0, start - drop), last, count, state)


class TailCache:
    """Tails by series number; the least recently used are evicted first.

    Args:
        room: Number of values to hold in all, eight bytes each.

    Attributes:
        used: Number of values held.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.used = 0
        self._tails: OrderedDict[int, SeriesTail] = OrderedDict()

    @property
    def is_full(self) -> bool:
        """Whether another series of average length would not fit."""
        return self.used * (len(self._tails) + 1) > self.room * len(self._tails) > 0

    def __getitem__(self, series: int) -> SeriesTail:
        return self._tails[series]

    def use(self, series: int) -> bool:
        """Mark a series as recently used; return whether it is cached."""
        cached = series in self._tails
        if cached:
            self._tails.move_to_end(series)
        return cached

    def put(self, series: int, tail: SeriesTail) -> None:
        """Add or replace the tail of a series."""
        self.drop(series)
        self._tails[series] = tail
        self.used += tail.values.size

    def drop(self, series: int) -> None:
        """Evict the tail of a series."""
        if series in self._tails:
            self.used -= self._tails.pop(series).values.size

    def trim(self) -> None:
        """Evict the least recently used tails until the rest fits."""
        while self.used > self.room:
            self.drop(next(iter(self._tails)))


def load_tails(
    connection: sa.Connection, numbers: Sequence[int], history: int
) -> dict[int, SeriesTail]:
    """Read the tails of series; one without points gets an empty tail."""
    tails: dict[int, SeriesTail] = {}
    for part in chunks(numbers):
        tails.update(_load_chunk(connection, part, history))
    for number, state in second_look_states(connection, numbers).items():
        tails[number].state = state
    return tails


def is_block_due(series: int, before: int, after: int) -> bool:
    """Return whether a series needs a new block when it grows from `before` to `after` values."""
    turn = (before + series) // BLOCK_EVERY != (after + series) // BLOCK_EVERY
    return turn and after >= BLOCK_EVERY


def write_blocks(connection: sa.Connection, tails: Iterable[tuple[int, SeriesTail]]) -> None:
    """Write the tails of series as blocks."""
    BLOCK.into(
        connection,
        [
            (series, tail.last, tail.count, tail.start, tail.values.astype("<f8").tobytes())
            for series, tail in tails
        ],
    )


def _load_chunk(
    connection: sa.Connection, numbers: Sequence[int], history: int
) -> dict[int, SeriesTail]:
    tails = {series: SeriesTail() for series in numbers}
    p, b = points.c, blocks.c
    for row in connection.execute(sa.select(blocks).where(b.series.in_(numbers))):
        series, order, count, start, content = row
        values = np.frombuffer(content, dtype="<f8")
        if values.size >= needed(count, history):  # else it was written for a shorter history
            tails[series] = SeriesTail.of(values, start, order, count, history)
    with_block = [series for series, tail in tails.items() if tail.count]
    without = [series for series, tail in tails.items() if not tail.count]
    after_block = b.series.in_(with_block), b.series == p.series, p.order > b.order
    for where in ((p.series.in_(without),), after_block):
        for series, rows in _settled(connection, *where):
            tails[series] = with_stored(tails[series], rows, history)
    return tails


def _settled(
    connection: sa.Connection, *where: sa.ColumnElement[bool]
) -> Iterator[tuple[int, list[Any]]]:
    """Read settled values with their decisions, series by series."""
    p = points.c
    query = sa.select(p.series, p.order, p.settled, p.answer, p.baseline_size)
    settled = query.where(p.settled.is_not(None), *where)
    ordered = connection.execute(settled.order_by(p.series, p.order))
    for number, rows in groupby(ordered, attrgetter("series")):
        yield number, list(rows)


def with_stored(tail: SeriesTail, rows: list[Any], history: int) -> SeriesTail:
    """Return a tail with stored values appended; the decision on the last says where Pre starts."""
    values = np.concatenate((tail.values, [row.settled for row in rows]))
    last, newest = rows[-1], values.size - 1
    start = newest if last.answer == CHANGE else max(0, newest - last.baseline_size)
    return SeriesTail.of(values, start, last.order, tail.count + len(rows), history)


def second_look_states(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, AlarmState]:
    """Return the state of the second look after the last step of each series."""
    s = steps.c
    columns = (s.series, s.standing, s.score, s.confirmed, s.direction, s.probability)
    query = sa.select(*columns).order_by(s.series, s.order)
    rows = rows_in(connection, query, s.series, numbers)
    return {series: AlarmState(*fields) for series, *fields in rows}


def orders_before(connection: sa.Connection, series: int, order: int, count: int) -> list[int]:
    """Return the orders of the last commits of a series before an order, the newest first."""
    p = points.c
    before = p.series == series, p.order < order, p.settled.is_not(None)
    newest_first = sa.select(p.order).where(*before).order_by(p.order.desc())
    return list(connection.scalars(newest_first.limit(count)))

"""Which arriving points are new, which the store has, and which say something else."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.store.lookups import questions
from barograph.store.measurement import Measurement
from barograph.store.results import PointResult, Status, StepRecord
from barograph.store.rows import Alteration, Insertion, Row
from barograph.store.schema import newest, points, revisions, steps
from barograph.store.shelf import ALL, shelve
from barograph.store.tail import Key

EVER = -(2**63)  # a time that is not known is before every other


Said = tuple[float, bool, int]  # probability, whether it is a change, and the length of Pre


class Entry(NamedTuple):
    """One measurement at its place in a series; sorts by it, then by arrival."""

    order: int
    run: str
    row: int

    @property
    def key(self) -> Key:
        """Its place."""
        return self.order, self.run


@dataclass(slots=True)
class Held:
    """What the store has at one place."""

    commit: str
    time: int | None
    value: float
    decision: Said | None = None
    others: dict[float, int | None] = field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()

    def knows(self, value: float) -> bool:
        """Whether the value is the one that holds, or one of its revisions."""
        return value == self.value or value in self.others

    def is_later(self, value: float, time: int | None) -> bool:
        """Whether a value that is known was measured again, later than is known of it."""
        told = self.time if value == self.value else self.others[value]
        return (EVER if time is None else time) > (EVER if told is None else told)

    def gives_way(self, value: float, time: int | None) -> bool:
        """Whether another value holds instead: the later measured one, then the larger one.

        Arrival plays no part, so that the same requests in any order leave the same store.
        """
        mine = EVER if self.time is None else self.time
        return ((EVER if time is None else time), value) > (mine, self.value)


Existing = dict[tuple[int, int, str], Held]


def existing(connection: sa.Connection, places: Iterable[tuple[int, int]]) -> Existing:
    """Return what the store has at pairs of series and order, with what was decided there."""
    found: Existing = {}
    for numbers, orders in questions(places):
        for row in connection.execute(_points_at(numbers, orders)):
            number, order, run, commit, time, value, *decision = row
            found[number, order, run] = Held(commit, time, value, tuple(decision))
        columns = revisions.c
        query = sa.select(columns.series, columns.order, columns.run, columns.value, columns.time)
        for number, order, run, value, time in connection.execute(
            query.where(columns.series.in_(numbers), columns.order.in_(orders))
        ):
            found[number, order, run].others[value] = time
        for number, order, run, *step in connection.execute(_steps_at(numbers, orders)):
            found[number, order, run].steps = (StepRecord(*step),)
    return found


def _steps_at(numbers: list[int], orders: list[int]) -> sa.Select[Any]:
    s = steps.c
    said = (s.kind, s.change_order, s.change_run, s.probability, s.from_order, s.from_run)
    return sa.select(s.series, s.order, s.run, *said).where(
        s.series.in_(numbers), s.order.in_(orders)
    )


def _points_at(numbers: list[int], orders: list[int]) -> sa.Select[Any]:
    p = ALL.c
    return sa.select(
        *(p.series, p.order, p.run, p.commit, p.time, p.value),
        *(p.probability, p.is_change, p.baseline_size),
    ).where(p.series.in_(numbers), p.order.in_(orders))


PLACE = ("series", "order", "run")
MEASURED = ("commit", "time", "value", "received")
SAID = ("probability", "is_change", "baseline_size", "model", "reasons", "decided")
NEW_POINT = Insertion(points, (*PLACE, *MEASURED, *SAID))
NEWEST_POINT = Insertion(newest, (*PLACE, *MEASURED, *SAID))
OTHER_VALUE = Alteration(points, PLACE, MEASURED)
OTHER_DECISION = Alteration(points, PLACE, SAID)
UNDECIDED = (0.0, False, 0)
REVISED = ("series", "order", "run", "value", "time", "received")
REVISION = Insertion(revisions, REVISED, replace=("time", "received"))


@dataclass
class Changes:
    """The rows to write, gathered over a group of requests.

    Attributes:
        at: when they were received.
        model: that decides on them.
        unsettled: the series whose rows are altered, or get some between others.
    """

    at: int
    model: int
    unsettled: set[int] = field(default_factory=set)
    added: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    # By place and value; None where that value holds again, and is no revision any more.
    revised: dict[Row, Row | None] = field(default_factory=dict)

    def add(self, series: int, entry: Entry, one: Measurement) -> None:
        """A point at a place that was empty; it is decided with those behind it."""
        self.unsettled.add(series)
        self.added.append(self.row(series, entry, one, UNDECIDED))

    def row(self, series: int, entry: Entry, one: Measurement, said: Said) -> Row:
        """One row of the table of points; reasons are found once somebody asks."""
        value = float(one.value) + 0.0  # of the two zeros one is kept
        measured = (series, entry.order, entry.run, one.commit, one.time, value, self.at)
        return (*measured, *self.decision(said))

    def decision(self, said: Said) -> Row:
        """What is kept of a decision."""
        return (*said, self.model, None, self.at)

    def again(self, series: int, entry: Entry, held: Held, one: Measurement) -> tuple[Status, bool]:
        """What was sent for a place that is taken; return whether another value holds from now on.

        Of every value the latest time is kept, so that arrival plays no part in which one holds.
        """
        place = (series, entry.order, entry.run)
        value, time = float(one.value), one.time
        named = bool(one.commit) and not held.commit
        held.commit = held.commit or one.commit
        known = held.knows(value)
        if known and not held.is_later(value, time):
            if named:
                self._replace(place, held)
            return Status.DUPLICATE, False
        if value == held.value:
            held.time = time
            self._replace(place, held)
            return Status.DUPLICATE, False
        wins = held.gives_way(value, time)
        if wins:
            held.others.pop(value, None)
            self.revised[(*place, value)] = None
            value, time, held.value, held.time = held.value, held.time, value, time
        if wins or named:
            self._replace(place, held)
        held.others[value] = time
        self.revised[(*place, value)] = (*place, value, time, self.at)
        return (Status.DUPLICATE if known and not wins else Status.REVISED), wins

    def _replace(self, place: tuple[int, int, str], held: Held) -> None:
        self.unsettled.add(place[0])
        self.replaced.append((*place, held.commit, held.time, held.value, self.at))

    def write(self, connection: sa.Connection) -> None:
        """Write them all; a place that is new and replaced at once is first made, then replaced."""
        shelve(connection, self.unsettled)
        NEW_POINT.into(connection, self.added)
        OTHER_VALUE.into(connection, self.replaced)
        for key, row in self.revised.items():
            if row is None:
                same = [c == part for c, part in zip(revisions.primary_key, key, strict=True)]
                connection.execute(sa.delete(revisions).where(*same))
        REVISION.into(connection, [row for row in self.revised.values() if row is not None])


def settle(
    series: int,
    entry: Entry,
    one: Measurement,
    held: Held | None,
    changes: Changes,
) -> tuple[PointResult, bool]:
    """Decide what becomes of a measurement; return whether the history changes by it."""
    if held is None:
        changes.add(series, entry, one)
        return PointResult(Status.WRITTEN, series=series, order=entry.order), True
    if one.commit and held.commit and one.commit != held.commit:
        reason = f"commit: order {entry.order} of this series is {held.commit!r}"
        return PointResult(Status.REJECTED, reason), False
    status, wins = changes.again(series, entry, held, one)
    reason = f"the value {held.value!r} holds" if status is Status.REVISED else ""
    return PointResult(status, reason, series, entry.order), wins

"""Which arriving points are new, which the store has, and which say something else."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.triage.answer import Noted, Outcome, Status
from barograph.triage.insertion import Insertion, Row
from barograph.triage.measurement import Measurement
from barograph.triage.places import questions
from barograph.triage.recent import Key
from barograph.triage.schema import decisions, points, revisions, steps

EVER = -(2**63)  # a time that is not known is before every other


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
    decision: tuple[float, bool, int] | None = None
    others: dict[float, int | None] = field(default_factory=dict)
    steps: tuple[Noted, ...] = ()

    def knows(self, value: float) -> bool:
        """Whether the value is the one that holds, or one of its revisions."""
        return value == self.value or value in self.others

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
            number, order, run, commit, time, value, probability, is_change, pre = row
            decision = None if probability is None else (probability, is_change, pre)
            found[number, order, run] = Held(commit, time, value, decision)
        columns = revisions.c
        query = sa.select(columns.series, columns.order, columns.run, columns.value, columns.time)
        for number, order, run, value, time in connection.execute(
            query.where(columns.series.in_(numbers), columns.order.in_(orders))
        ):
            found[number, order, run].others[value] = time
        for number, order, run, *step in connection.execute(_steps_at(numbers, orders)):
            found[number, order, run].steps = (Noted(*step),)
    return found


def _steps_at(numbers: list[int], orders: list[int]) -> sa.Select[Any]:
    s = steps.c
    said = (s.kind, s.change_order, s.change_run, s.probability, s.from_order, s.from_run)
    return sa.select(s.series, s.order, s.run, *said).where(
        s.series.in_(numbers), s.order.in_(orders)
    )


def _points_at(numbers: list[int], orders: list[int]) -> sa.Select[Any]:
    p, d = points.c, decisions.c
    same = sa.and_(d.series == p.series, d.order == p.order, d.run == p.run)
    return (
        sa.select(
            *(p.series, p.order, p.run, p.commit, p.time, p.value),
            *(d.probability, d.is_change, d.pre),
        )
        .select_from(points.outerjoin(decisions, same))
        .where(p.series.in_(numbers), p.order.in_(orders))
    )


POINT = ("series", "order", "run", "commit", "time", "value", "received")
NEW_POINT = Insertion(points, POINT)
OTHER_VALUE = Insertion(points, POINT, replace=("time", "value", "received"))
REVISION = Insertion(revisions, ("series", "order", "run", "value", "time", "received"))


@dataclass
class Changes:
    """The rows to write, gathered over a group of requests."""

    received: int
    added: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    revised: list[Row] = field(default_factory=list)

    def add(self, series: int, entry: Entry, one: Measurement) -> None:
        """A point at a place that was empty."""
        value = float(one.value)
        self.added.append(
            (series, entry.order, entry.run, one.commit, one.time, value, self.received)
        )

    def revise(self, series: int, entry: Entry, held: Held, one: Measurement) -> bool:
        """Keep another value for a place; return whether it holds from now on."""
        place = (series, entry.order, entry.run)
        value, time = float(one.value), one.time
        wins = held.gives_way(value, time)
        if wins:
            value, time, held.value, held.time = held.value, held.time, value, time
            self.replaced.append((*place, held.commit, held.time, held.value, self.received))
        held.others[value] = time
        self.revised.append((*place, value, time, self.received))
        return wins

    def write(self, connection: sa.Connection) -> None:
        """Write them all; a place that is new and replaced at once is first made, then replaced."""
        NEW_POINT.into(connection, self.added)
        OTHER_VALUE.into(connection, self.replaced)
        REVISION.into(connection, self.revised)


def settle(
    series: int,
    entry: Entry,
    one: Measurement,
    held: Held | None,
    changes: Changes,
) -> tuple[Outcome, bool]:
    """Decide what becomes of a measurement; return whether the history changes by it."""
    if held is None:
        changes.add(series, entry, one)
        return Outcome(Status.WRITTEN, series=series, order=entry.order), True
    if one.commit and held.commit and one.commit != held.commit:
        reason = f"commit: order {entry.order} of this series is {held.commit!r}"
        return Outcome(Status.REJECTED, reason), False
    if held.knows(one.value):
        return Outcome(Status.DUPLICATE, series=series, order=entry.order), False
    wins = changes.revise(series, entry, held, one)
    reason = f"the value {held.value!r} holds"
    return Outcome(Status.REVISED, reason, series, entry.order), wins

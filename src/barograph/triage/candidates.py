"""Candidates as data arrives: a detector looks again, and what it finds keeps its identity.

Daly et al. 2020, 3: after each batch the change points of the touched series are found anew. One
that moved by a few commits is the same candidate, with its move noted; one that people judged
stays where it is; one that is found no more is kept aside, and is the same should it come back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from barograph.detection.online import Scorer
from barograph.detection.scoring import Candidates, score_candidates
from barograph.series import ChangePoint, Direction, Floats, Ints, Verdict
from barograph.store.rows import Insertion, Row
from barograph.store.schema import candidates, moves, series
from barograph.store.shelf import ALL
from barograph.triage.hazard import hazard
from barograph.triage.matching import match

UNKNOWN = int(np.iinfo(np.int64).min)  # a date that is missing, as the features have it
CHUNK = 1000  # candidates in one statement: a database takes no more than some ten thousand
FOUND = (
    *("order", "commit", "detector", "statistic", "pvalue", "before", "after", "hazard"),
    *("probability", "model", "present", "calculated_on"),
)
NEW = Insertion(candidates, ("series", *FOUND, "verdict", "triaged_on"))
KNOWN = Insertion(candidates, ("id", "series", *FOUND, "verdict", "triaged_on"), replace=FOUND)
MOVE = Insertion(moves, ("candidate", "from_order", "to_order", "moved"))


class Finder(Protocol):
    """What is asked of a detector; those of `barograph.detection` are such."""

    def detect(self, values: npt.ArrayLike) -> list[ChangePoint]:
        """Find the change points of a series."""


class Stored(NamedTuple):
    """A candidate as the store has it."""

    id: int
    order: int
    verdict: Verdict
    calculated_on: int
    triaged_on: int


@dataclass(frozen=True)
class Course:
    """One series as the detector sees it."""

    series: int
    project: str
    direction: Direction
    orders: Ints
    commits: list[str]
    values: Floats

    def place(self, order: int) -> int:
        """The place of the first point of a commit, or of the first one behind it."""
        return int(np.searchsorted(self.orders, order))


class Fresh(NamedTuple):
    """A change point that was just found, and which stored candidate it is, if any."""

    change: ChangePoint
    order: int
    known: Stored | None


@dataclass(frozen=True)
class Refreshed:
    """What a look at some series did to their candidates."""

    series: int = 0
    added: int = 0
    moved: int = 0
    withdrawn: int = 0
    projects: frozenset[str] = frozenset()

    def __add__(self, other: Refreshed) -> Refreshed:
        """Both together."""
        return Refreshed(
            self.series + other.series,
            self.added + other.added,
            self.moved + other.moved,
            self.withdrawn + other.withdrawn,
            self.projects | other.projects,
        )


@dataclass(frozen=True)
class Plan:
    """What will be written of one series."""

    course: Course
    fresh: list[Fresh]
    judged: list[Stored]
    gone: list[Stored]


def courses(connection: sa.Connection, wanted: Sequence[int]) -> list[Course]:
    """Read whole series, in the order of their numbers."""
    p, s = ALL.c, series.c
    named = sa.select(s.id, s.project, s.direction).where(s.id.in_(wanted)).order_by(s.id)
    rows = connection.execute(
        sa.select(p.series, p.order, p.commit, p.value, p.run)
        .where(p.series.in_(wanted))
        .order_by(p.series, p.order, p.run)
    ).all()
    owners = np.array([row[0] for row in rows], dtype=np.int64)
    found = []
    for number, project, direction in connection.execute(named):
        low, high = np.searchsorted(owners, [number, number + 1])
        mine = rows[low:high]
        found.append(
            Course(
                number,
                project,
                Direction(direction),
                np.array([row[1] for row in mine], dtype=np.int64),
                [row[2] for row in mine],
                np.array([row[3] for row in mine], dtype=np.float64),
            )
        )
    return found


def stored(connection: sa.Connection, wanted: Sequence[int]) -> dict[int, list[Stored]]:
    """Read the candidates of some series, also those found no more."""
    c = candidates.c
    found: dict[int, list[Stored]] = {number: [] for number in wanted}
    for number, *fields, calculated_on, triaged_on in connection.execute(
        sa.select(c.series, c.id, c.order, c.verdict, c.calculated_on, c.triaged_on)
        .where(c.series.in_(wanted))
        .order_by(c.id)
    ):
        key, order, verdict = fields
        dates = [UNKNOWN if date is None else date for date in (calculated_on, triaged_on)]
        found[number].append(Stored(key, order, Verdict(verdict), *dates))
    return found


def plan(course: Course, known: Sequence[Stored], found: Sequence[ChangePoint]) -> Plan:
    """Say which found change point is which stored candidate, and which are no longer there.

    Places are compared in points of the series, so that a gap in the orders does not matter.
    """
    judged = [one for one in known if one.verdict is not Verdict.NOT_TRIAGED]
    open_ = [one for one in known if one.verdict is Verdict.NOT_TRIAGED]
    places = [change.index for change in found]
    # What people judged comes first: its change point is found again, not a new one.
    again = match([course.place(one.order) for one in judged], places)
    rest = [number for number in range(len(found)) if number not in again]
    pairs = match([course.place(one.order) for one in open_], [places[k] for k in rest])
    fresh = []
    orders: set[int] = {one.order for one in judged}
    for at, number in enumerate(rest):
        order = int(course.orders[places[number]])
        if order not in orders:  # two runs of one commit are one candidate
            orders.add(order)
            same = open_[pairs[at]] if at in pairs else None
            fresh.append(Fresh(found[number], order, same))
    kept = {one.known.id for one in fresh if one.known is not None}
    return Plan(course, fresh, judged, [one for one in open_ if one.id not in kept])


def score(model: Scorer, plans: Sequence[Plan], at: int) -> list[float]:
    """Return the probability of each fresh candidate, plan after plan."""
    rows: list[tuple[int, int, str, int, int]] = []
    wanted: list[bool] = []
    for number, one in enumerate(plans):
        for fresh in one.fresh:
            place = one.course.place(fresh.order)
            rows.append((number, place, Verdict.NOT_TRIAGED.value, at, UNKNOWN))
            wanted.append(True)
        for old in one.judged:
            place = one.course.place(old.order)
            if 0 < place < one.course.values.size:
                rows.append((number, place, old.verdict.value, old.calculated_on, old.triaged_on))
                wanted.append(False)
    if not any(wanted):
        return []
    sizes = [one.course.values.size for one in plans]
    values = np.concatenate([one.course.values for one in plans])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = list(zip(*rows, strict=True))
    numbers = [np.array(column, dtype=np.int64) for column in (*columns[:2], *columns[3:])]
    around = Candidates(numbers[0], numbers[1], np.array(columns[2], dtype=np.str_), *numbers[2:])
    scores = score_candidates(model, values, offsets, around)
    return [float(one) for one in scores[np.array(wanted)]]


@dataclass(frozen=True)
class Look:
    """The chosen detector, and the model that judges what it finds.

    Args:
        detector: any detector of `barograph.detection`.
        name: what the candidates say found them.
        model: trained for the use `label_free`; None leaves them without a probability.
        version: of the model.
    """

    detector: Finder
    name: str
    model: Scorer | None = None
    version: str = ""

    def __call__(
        self, read: Sequence[Course], known: dict[int, list[Stored]], at: int
    ) -> tuple[list[Plan], list[float | None]]:
        """Look at some series; nothing is written."""
        plans = [
            plan(one, known.get(one.series, []), self.detector.detect(one.values)) for one in read
        ]
        if self.model is None:
            return plans, [None for one in plans for _ in one.fresh]
        return plans, [*score(self.model, plans, at)]


def write(
    connection: sa.Connection,
    plans: Sequence[Plan],
    probabilities: Sequence[float | None],
    look: Look,
    model: int | None,
    at: int,
) -> Refreshed:
    """Put plans into effect; a candidate that got its verdict since they were made stays as it is.

    Args:
        connection: of the writing transaction.
        plans: of the series whose points are still those that were looked at.
        probabilities: of all their fresh candidates, plan after plan.
        look: what made them.
        model: its number in the store.
        at: the time.
    """
    judged = _judged_by_now(connection, [one.course.series for one in plans])
    new: list[Row] = []
    again: list[Row] = []
    moved: list[Row] = []
    told = iter(probabilities)
    for one in plans:
        for fresh in one.fresh:
            row = (*_found(one.course, fresh, next(told), look, model, at), "not_triaged", None)
            old = fresh.known
            if old is None:
                new.append((one.course.series, *row))
            elif old.id not in judged:
                again.append((old.id, one.course.series, *row))
                if old.order != fresh.order:
                    moved.append((old.id, old.order, fresh.order, at))
    NEW.into(connection, new)
    KNOWN.into(connection, again)
    MOVE.into(connection, moved)
    withdrawn = _withdraw(connection, [old.id for one in plans for old in one.gone])
    projects = frozenset(one.course.project for one in plans)
    return Refreshed(len(plans), len(new), len(moved), withdrawn, projects)


def _judged_by_now(connection: sa.Connection, some: list[int]) -> set[int]:
    c = candidates.c
    judged = c.verdict != Verdict.NOT_TRIAGED.value
    return set(connection.scalars(sa.select(c.id).where(c.series.in_(some), judged)))


def _found(
    course: Course,
    fresh: Fresh,
    probability: float | None,
    look: Look,
    model: int | None,
    at: int,
) -> Row:
    """The columns of FOUND."""
    change = fresh.change
    commit = course.commits[course.place(fresh.order)]
    regions = (json.dumps(asdict(region)) for region in (change.before, change.after))
    level = hazard(change.before.mean, change.after.mean, course.direction)
    facts: tuple[Any, ...] = (fresh.order, commit, look.name, change.statistic, change.pvalue)
    return (*facts, *regions, level, probability, model, True, at)


def _withdraw(connection: sa.Connection, gone: list[int]) -> int:
    c = candidates.c
    count = 0
    for first in range(0, len(gone), CHUNK):
        some = gone[first : first + CHUNK]
        # One that got its verdict while the detector looked stays.
        untouched = sa.and_(c.id.in_(some), c.present, c.verdict == Verdict.NOT_TRIAGED.value)
        withdrawn = sa.update(candidates).where(untouched).values(present=False)
        count += connection.execute(withdrawn).rowcount
    return count

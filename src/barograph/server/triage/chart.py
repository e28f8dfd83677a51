"""Everything that the chart of a series shows, in columns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.detection.excursions import excursions
from barograph.detection.slow import SlowChange, slow_changes
from barograph.results.series import Direction, Verdict
from barograph.results.sizes import LevelLine, level_lines
from barograph.results.wording import CHANGED, EffectWord
from barograph.server.store import reading
from barograph.server.store.arrivals import SUSPECT
from barograph.server.store.candidate_records import CandidateRecord, candidates_of_series
from barograph.server.store.reading import StoredSeries
from barograph.server.store.schema import candidates, moves, points, ticketed, tickets


class MarkState(StrEnum):
    """The state of a change point on a chart."""

    UNPROCESSED = "unprocessed"
    REAL = "real"
    NOISE = "noise"
    MOVED = "moved"  # it was here, and is elsewhere now
    WITHDRAWN = "withdrawn"  # the latest detection does not find it


DECIDED = {Verdict.TRUE_POSITIVE: MarkState.REAL, Verdict.FALSE_POSITIVE: MarkState.NOISE}
# Change points of these states separate levels.
DIVIDING = (MarkState.UNPROCESSED, MarkState.REAL)


@dataclass(frozen=True, slots=True)
class Mark:
    """A change point on a chart, or the place that it moved away from.

    Attributes:
        id: Number of the candidate.
        version: Its version, which verdicts refer to.
        index: Index of its first result among those of the chart.
        order: Its order.
        commit: Commit of that result.
        state: What is drawn.
        verdict: The verdict that holds.
        probability: The probability that a person calls it real.
        hazard: Size of the change; positive is worse.
        before: The level before.
        after: The level after.
        effect: worse, better, changed or trend.
        time: When it moved away, or got its verdict, or was found.
    """

    id: int
    version: int
    index: int
    order: int
    commit: str
    state: MarkState
    verdict: Verdict
    probability: float | None
    hazard: float | None
    before: float | None
    after: float | None
    effect: EffectWord
    time: int | None


@dataclass(frozen=True, slots=True)
class TicketMark:
    """A ticket about a change point on a chart."""

    key: str
    url: str
    title: str
    status: str
    index: int


@dataclass(frozen=True, slots=True)
class SeriesChart:
    """A series for a chart: one entry of each column for a commit, oldest first.

    Attributes:
        series: The series.
        orders: Orders of the commits.
        commits: Their names; empty where unknown.
        times: When they were measured, in milliseconds since 1970.
        values: The values that count for them.
        low: The least result of their runs.
        high: The largest result of their runs.
        runs: The number of their runs.
        levels: The levels, as indices and values.
        marks: The change points, oldest first.
        outliers: Indices of results that belong to a short excursion.
        suspects: Indices of the newest results that wait for a rerun.
        ranges: First and last index of the results around each undecided change.
        tickets: The tickets about its change points.
        slow: The drifts and lasting changes of noise. They are found when the chart is asked for: a
            search of the values takes less time than a query, and they have no verdicts.
    """

    series: StoredSeries
    orders: list[int]
    commits: list[str]
    times: list[int | None]
    values: list[float]
    low: list[float]
    high: list[float]
    runs: list[int]
    levels: list[LevelLine] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    outliers: list[int] = field(default_factory=list)
    suspects: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    tickets: list[TicketMark] = field(default_factory=list)
    slow: list[SlowChange] = field(default_factory=list)


def series_chart(connection: sa.Connection, number: int) -> SeriesChart:
    """Return everything that the chart of a series shows, in five queries.

    Args:
        connection: From `Store.read`.
        number: Number of the series.

    Raises:
        NotFoundError: There is no such series.
    """
    series = reading.get_series(connection, number)
    orders, commits, times, values, low, high, runs, answers = _columns(connection, number)
    records = candidates_of_series(connection, [number], withdrawn=True)[number]
    marks = _marks(connection, series, records, orders, commits) if orders else []
    dividing = {mark.index: mark.id for mark in marks if mark.state in DIVIDING}
    known = {change.id: change for change in records}
    sides = [(k, known[key].before, known[key].after) for k, key in sorted(dividing.items()) if k]
    # Results in excursions that have ended and are no levels.
    ended = [
        run
        for run in (excursions(np.array(values)) if values else ())
        if run.start not in dividing and run.end < len(values)
    ]
    settled = max((k + 1 for k, answer in enumerate(answers) if answer != SUSPECT), default=0)
    open_marks = (mark for mark in marks if mark.state is MarkState.UNPROCESSED and mark.index)
    return SeriesChart(
        *(series, orders, commits, times, values, low, high, runs),
        levels=level_lines(np.array(values), sides),
        marks=marks,
        outliers=[k for run in ended for k in range(run.start, run.end)],
        suspects=list(range(settled, len(answers))),
        ranges=[(mark.index - 1, mark.index) for mark in open_marks],
        tickets=_tickets(connection, number, orders) if orders else [],
        slow=slow_changes(values),
    )


def _columns(connection: sa.Connection, number: int) -> list[list[Any]]:
    """Return the columns of a chart: the runs of a commit share an entry."""
    p, least, most = points.c, sa.func.min, sa.func.max
    facts = most(p.commit), most(p.time), most(p.settled), least(p.value), most(p.value)
    query = sa.select(p.order, *facts, sa.func.count(), most(p.answer)).where(p.series == number)
    rows = connection.execute(query.group_by(p.order).order_by(p.order)).all()
    return [[row[k] for row in rows] for k in range(len(facts) + 3)]


def _marks(
    connection: sa.Connection,
    series: StoredSeries,
    records: Sequence[CandidateRecord],
    orders: Sequence[int],
    names: Sequence[str],
) -> list[Mark]:
    """Return the change points, and the places that they moved away from."""
    c, m = candidates.c, moves.c
    query = (
        sa.select(m.candidate, m.from_order, sa.func.max(m.moved))
        .join(candidates, c.id == m.candidate)
        .where(c.series == series.id, m.kind == "moved", m.from_order != c.order)
        .group_by(m.candidate, m.from_order)
    )
    marks = {change.id: _mark(series, change, orders, names) for change in records}
    left = [
        replace(marks[key], **_place(order, orders, names), state=MarkState.MOVED, time=moved)
        for key, order, moved in connection.execute(query)
    ]
    every = [*left, *marks.values()]
    return sorted(every, key=lambda mark: (mark.index, mark.state != MarkState.MOVED))


def _place(order: int, orders: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    index = _index(orders, order)
    return {"index": index, "order": order, "commit": names[index]}


def _index(orders: Sequence[int], order: int) -> int:
    """Return the index of the first result at an order or later, and of the last one after all."""
    return min(bisect_left(orders, order), len(orders) - 1)


def _mark(
    series: StoredSeries, change: CandidateRecord, orders: Sequence[int], names: Sequence[str]
) -> Mark:
    size = change.size
    state = MarkState.UNPROCESSED if change.present else MarkState.WITHDRAWN
    return Mark(
        id=change.id,
        version=change.version,
        **_place(change.order, orders, names),
        state=DECIDED.get(change.verdict, state),
        verdict=change.verdict,
        probability=change.probability,
        hazard=change.hazard,
        before=None if size is None else size.before,
        after=None if size is None else size.after,
        effect=CHANGED if size is None else size.effect(Direction(series.direction)),
        time=change.triaged_on or change.calculated_on,
    )


def _tickets(connection: sa.Connection, number: int, orders: Sequence[int]) -> list[TicketMark]:
    t, c, link = tickets.c, candidates.c, ticketed.c
    query = (
        sa.select(t.key, t.url, t.title, t.status, c.order)
        .join(ticketed, link.ticket == t.id)
        .join(candidates, c.id == link.candidate)
        .where(c.series == number)
        .order_by(c.order, t.id)
    )
    return [
        TicketMark(key, url, title, status, _index(orders, order))
        for key, url, title, status, order in connection.execute(query)
    ]

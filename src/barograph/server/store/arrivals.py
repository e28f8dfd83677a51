"""When results of each series come, so that silence, lateness and waiting are noticed.

Results that were rejected are counted by day and kind of reason.

A series whose points changed is looked at again: of its newest commits, how long the gaps between
them were, which came late, and whether the newest one is a suspect that waits for a rerun. One row
holds what was found; questions about all series read these rows, never the points.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, starmap
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import ANSWERS, Answer
from barograph.results.series import MIN_CHANGE, SeriesId
from barograph.results.sizes import Size
from barograph.server.store.audit import now
from barograph.server.store.database import Insertion, Row
from barograph.server.store.reading import series_id
from barograph.server.store.schema import arrivals, points, rejections, series

NEWEST = 21  # commits that the usual gap is learned from
LEAST = 5  # gaps; with fewer, the usual gap is unknown
USUAL = 0.9  # quantile of the gaps: two of twenty may be of any length
PATIENCE = 3  # usual gaps without a result make a series silent
HOUR = 3_600_000  # milliseconds; a shorter silence is never reported
SUSPECT = ANSWERS.index(Answer.SUSPECT)
COLUMNS = ("last", "expected", "late", "late_order", "late_received", "suspect_order", "reruns")
ARRIVAL = Insertion(arrivals, ("series", *COLUMNS), replace=COLUMNS)
DAY = 86_400_000  # milliseconds
KINDS = 100  # reasons of one day; more are counted as OTHER
OTHER = "other reasons"
LENGTH = 160  # characters
VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|(?<=unknown )field `[^`]*`|-?\d[\d.,e+-]*")
COUNTED = Insertion(
    rejections,
    ("day", "reason", "count", "example", "last"),
    replace=("count", "example", "last"),
)
PIPELINE = (series.c.project, series.c.variant, series.c.task)
# The rows of the series that are not retired.
ACTIVE = arrivals.join(
    series, sa.and_(series.c.id == arrivals.c.series, series.c.retired.is_(None))
)


class SilentSource(NamedTuple):
    """A series or a pipeline that fell silent.

    Attributes:
        series: Number of the series; 0 for a pipeline.
        name: Identity of the series, or project, variant and task.
        members: Number of series of the pipeline; 1 for a series.
        last: When its newest result was measured, in milliseconds since 1970.
        expected: Its usual gap in milliseconds.
    """

    series: int
    name: SeriesId | str
    members: int
    last: int
    expected: int


class LateSeries(NamedTuple):
    """A series with results that came after those of later commits."""

    series: int
    name: SeriesId
    late: int
    order: int
    received: int


class WaitingSuspect(NamedTuple):
    """A newest result that only a rerun can tell from a change.

    As with `gate`, what departs by less than 0.5 % waits for nothing.
    """

    series: int
    name: SeriesId
    order: int
    reruns: int
    last: int


class SeriesCounts(NamedTuple):
    """How many series there are, and how many of them are watched for silence."""

    active: int
    watched: int
    silent: int
    late: int
    suspects: int


class Rejection(NamedTuple):
    """A kind of reason, how often it occurred, an example, and when it occurred last."""

    reason: str
    results: int
    example: str
    last: int


def observe(connection: sa.Connection, numbers: Iterable[int]) -> list[Row]:
    """Return the rows of some series, for `write`.

    Args:
        connection: From `Store.read`.
        numbers: Numbers of the series.
    """
    p = points.c
    columns = p.order, p.time, p.received, p.answer, p.reruns, p.settled
    found: list[Row] = []
    for number in numbers:
        query = sa.select(*columns).where(p.series == number, p.settled.is_not(None))
        rows = connection.execute(query.order_by(p.order.desc()).limit(NEWEST)).all()
        if not rows:
            continue
        times = [row.received if row.time is None else row.time for row in rows]
        # A late result came after that of a later commit.
        earliest = accumulate((row.received for row in rows), min)
        pairs = zip(rows[1:], earliest, strict=False)
        late = [(row.received, row.order) for row, before in pairs if row.received > before]
        received, order = max(late, key=itemgetter(0), default=(None, None))
        newest = rows[0]
        waits = newest.answer == SUSPECT and newest.reruns and is_large([r.settled for r in rows])
        suspect = (newest.order, newest.reruns) if waits else (None, 0)
        lateness = len(late), order, received
        found.append((number, max(times), usual_gap(times), *lateness, *suspect))
    return found


def write(connection: sa.Connection, rows: list[Row]) -> None:
    """Write what was observed."""
    ARRIVAL.into(connection, rows)


def usual_gap(times: Iterable[int]) -> int | None:
    """Return the usual gap between times: the 0.9 quantile, or None for fewer than six times.

    Example:
        >>> usual_gap([0, 10, 20, 30, 40, 50, 60, 1_000, 1_010, 1_020, 1_030, 1_040])
        10
    """
    gaps = [later - earlier for earlier, later in pairwise(sorted(set(times)))]
    if len(gaps) < LEAST:
        return None
    return int(np.quantile(gaps, USUAL, method="lower"))


def counts(connection: sa.Connection, now: int) -> SeriesCounts:
    """Return how many series are watched, silent, late and suspect at a time."""
    a, count = arrivals.c, sa.func.count
    suspects = count(a.suspect_order)
    query = sa.select(
        count(), count(a.expected), _number_of(_is_silent(now)), _number_of(a.late > 0), suspects
    )
    return SeriesCounts(*connection.execute(query.select_from(ACTIVE)).one())


def silent_pipelines(connection: sa.Connection, now: int, limit: int) -> list[SilentSource]:
    """Return the pipelines all of whose watched series are silent, the longest silence first."""
    a = arrivals.c
    watched, last = sa.func.count(a.expected), sa.func.max(a.last)
    query = (
        sa.select(*PIPELINE, sa.func.count(), last, sa.func.max(a.expected))
        .select_from(ACTIVE)
        .group_by(*PIPELINE)
        .having(watched > 0, _number_of(_is_silent(now)) == watched)
        .order_by(last)
        .limit(limit)
    )
    return [
        SilentSource(0, " / ".join(filter(None, row[:3])) or "without a name", *row[3:])
        for row in connection.execute(query)
    ]


def silent_series(connection: sa.Connection, now: int, limit: int) -> list[SilentSource]:
    """Return silent series whose pipelines still send others, the longest silence first."""
    a = arrivals.c
    sends = a.expected.is_not(None), ~_is_silent(now)
    alive = sa.select(*PIPELINE).select_from(ACTIVE).where(*sends)
    is_silent = sa.and_(_is_silent(now), sa.tuple_(*PIPELINE).in_(alive))
    rows = _rows(connection, (a.last, a.expected), is_silent, a.last, limit)
    return [SilentSource(number, name, 1, *rest) for number, name, *rest in rows]


def late_series(connection: sa.Connection, limit: int) -> list[LateSeries]:
    """Return the series with late results, the latest arrival first."""
    a = arrivals.c
    columns, order = (a.late, a.late_order, a.late_received), a.late_received.desc()
    return list(starmap(LateSeries, _rows(connection, columns, a.late > 0, order, limit)))


def waiting_suspects(connection: sa.Connection, limit: int) -> list[WaitingSuspect]:
    """Return the suspects that wait for a rerun, the longest wait first."""
    a = arrivals.c
    columns, waits = (a.suspect_order, a.reruns, a.last), a.suspect_order.is_not(None)
    return list(starmap(WaitingSuspect, _rows(connection, columns, waits, a.last, limit)))


def is_large(values: Sequence[float]) -> bool:
    """Return whether the newest result is far from the one before it, or from the usual level.

    Args:
        values: Results, the newest first.

    Example:
        >>> is_large([100.2, 100.0, 100.1]), is_large([101.0, 100.0, 100.1])
        (False, True)
    """
    value, *before = values
    levels = (before[0], median(before)) if before else ()
    return any(abs(Size(level, value).percent) >= MIN_CHANGE for level in levels)


def _rows(
    connection: sa.Connection,
    columns: Sequence[sa.Column[Any]],
    match: sa.ColumnElement[bool],
    order: sa.ColumnElement[Any],
    limit: int,
) -> Iterator[tuple[Any, ...]]:
    """Yield number, identity and some columns of the active series that meet a condition."""
    query = sa.select(series, *columns).select_from(ACTIVE)
    for row in connection.execute(query.where(match).order_by(order).limit(limit)):
        yield row.id, series_id(row), *row[-len(columns) :]


def _is_silent(now: int) -> sa.ColumnElement[bool]:
    a = arrivals.c
    silent = a.expected.is_not(None), a.last + PATIENCE * a.expected < now, a.last + HOUR < now
    return sa.and_(*silent)


def _number_of(match: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    """Return the number of rows that meet a condition."""
    return sa.func.count(sa.case((match, 1)))


def kind_of(reason: str) -> str:
    """Return a reason without the values in it, so that equal faults are counted together.

    Example:
        >>> kind_of("commit: order 5 of this series is 'abc'")
        'commit: order … of this series is …'
    """
    return VARIABLE.sub("…", reason)[:LENGTH]


def note_rejections(
    connection: sa.Connection, reasons: Mapping[str, int], timestamp: int | None = None
) -> None:
    """Add counts to those of the day.

    Args:
        connection: The connection of a write transaction.
        reasons: How many results were rejected, by reason.
        timestamp: Milliseconds since 1970; now by default.
    """
    timestamp = now() if timestamp is None else timestamp
    day = timestamp - timestamp % DAY
    r = rejections.c
    known: Counter[str] = Counter()
    known.update(dict(connection.execute(sa.select(r.reason, r.count).where(r.day == day)).all()))
    examples: dict[str, str] = {}
    for reason, count in reasons.items():
        kind = kind_of(reason)
        if kind not in known and len(known) >= KINDS:
            kind = OTHER
        known[kind] += count
        examples[kind] = reason[: 2 * LENGTH]
    rows: list[Row] = [(day, kind, known[kind], examples[kind], timestamp) for kind in examples]
    COUNTED.into(connection, rows)


def recent_rejections(connection: sa.Connection, since: int) -> list[Rejection]:
    """Return the reasons of all days since a time, the most frequent first."""
    r = rejections.c
    query = (
        sa.select(r.reason, sa.func.sum(r.count), sa.func.max(r.example), sa.func.max(r.last))
        .where(r.day >= since - since % DAY)
        .group_by(r.reason)
        .order_by(sa.func.sum(r.count).desc(), r.reason)
    )
    return [Rejection(reason, int(n), *rest) for reason, n, *rest in connection.execute(query)]

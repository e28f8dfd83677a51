"""Search series by any part of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from barograph.results.series import LABELS, Verdict
from barograph.server.store.reading import StoredSeries, stored_series
from barograph.server.store.schema import candidates, points, series

WORDS = 8  # of a search; further words are ignored


@dataclass(frozen=True, slots=True)
class FoundSeries:
    """A series with what a list shows of it.

    Attributes:
        series: The series.
        undecided: The number of its change points without a final verdict.
        time: When its newest result was measured; None if unknown or there is none.
        value: Its newest result; None if there is none.
    """

    series: StoredSeries
    undecided: int
    time: int | None
    value: float | None


def search_series(
    connection: sa.Connection,
    text: str = "",
    *,
    project: str | None = None,
    after: int = 0,
    limit: int = 50,
) -> list[FoundSeries]:
    """Return the series whose labels or arguments contain all words of a text, by their numbers.

    Args:
        connection: From `Store.read`.
        text: Words in any order and case.
        project: Only series of this project.
        after: Number of the last series of the page before.
        limit: Maximum number of series.
    """
    s = series.c
    query = sa.select(series).where(s.id > after)
    if project is not None:
        query = query.where(s.project == project)
    separator = sa.literal("\n")
    name: sa.ColumnElement[str] = s[LABELS[0]]
    for label in (*LABELS[1:], "args"):
        name = name + separator + s[label]
    lower = sa.func.lower(name)
    for word in text.split()[:WORDS]:
        # SQLite's `lower` leaves letters beyond ASCII as they are.
        spellings = {word.lower(), "".join(c.lower() if c.isascii() else c for c in word)}
        matches = (lower.contains(text, autoescape=True) for text in sorted(spellings))
        query = query.where(sa.or_(*matches))
    rows = connection.execute(query.order_by(s.id).limit(limit)).all()
    numbers = [row.id for row in rows]
    undecided, newest = _undecided(connection, numbers), newest_results(connection, numbers)
    return [
        FoundSeries(stored_series(row), undecided.get(row.id, 0), *newest.get(row.id, (None, None)))
        for row in rows
    ]


def _undecided(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, int]:
    c = candidates.c
    query = (
        sa.select(c.series, sa.func.count())
        .where(c.series.in_(numbers), c.present, c.verdict == Verdict.NOT_TRIAGED.value)
        .group_by(c.series)
    )
    return dict(tuple(row) for row in connection.execute(query))


def newest_results(
    connection: sa.Connection, numbers: Sequence[int]
) -> dict[int, tuple[int | None, float | None]]:
    """Return time and value of the newest commit of each series, by the numbers of the series."""
    p = points.c
    last = points.alias("last")
    newest = (
        sa.select(sa.func.max(last.c.order))
        .where(last.c.series == p.series, last.c.settled.is_not(None))
        .correlate(points)
        .scalar_subquery()
    )
    query = sa.select(p.series, p.time, p.settled).where(
        p.series.in_(numbers), p.settled.is_not(None), p.order == newest
    )
    return {number: (time, value) for number, time, value in connection.execute(query)}

"""What may be asked of the store: series, points with their decisions, candidates; page by page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.errors import DataError
from barograph.series import LABELS, Direction, Region, Series, SeriesId, Verdict
from barograph.store.registry import series_id
from barograph.store.schema import candidates, models, moves, revisions, series
from barograph.store.shelf import ALL, BOTH

MEASURED = (
    *("order", "run", "commit", "time", "value"),
    *("probability", "is_change", "baseline_size", "reasons"),
)


class StoredSeries(NamedTuple):
    """A series as the store has it."""

    id: int
    name: SeriesId
    direction: Direction


class Measured(NamedTuple):
    """A point, and what the online detector said of it."""

    order: int
    run: str
    commit: str
    time: int | None
    value: float
    probability: float
    is_change: bool
    baseline_size: int
    model: str
    threshold: float
    reasons: Any


class Revision(NamedTuple):
    """One value that was sent for a point, and whether it is the one that holds."""

    value: float
    time: int | None
    received: int
    holds: bool


@dataclass(frozen=True)
class Candidate:
    """A candidate change point with all that is known of it."""

    id: int
    series: int
    order: int
    commit: str
    detector: str | None
    statistic: float | None
    pvalue: float | None
    before: Region | None
    after: Region | None
    hazard: float | None
    probability: float | None
    model: str | None
    verdict: Verdict
    present: bool
    calculated_on: int | None
    triaged_on: int | None


def find_series(
    connection: sa.Connection,
    *,
    after: int = 0,
    limit: int = 100,
    **labels: str,
) -> list[StoredSeries]:
    """Return series by their labels, in the order of their numbers.

    Args:
        connection: from `Store.read`.
        after: the number of the last series of the page before.
        limit: how many.
        labels: project, variant, task, test or measurement, and what it must be.
    """
    unknown = set(labels) - set(LABELS)
    if unknown:
        raise DataError(f"a series has no label {min(unknown)!r}")
    query = sa.select(series).where(series.c.id > after)
    for name, text in labels.items():
        query = query.where(series.c[name] == text)
    rows = connection.execute(query.order_by(series.c.id).limit(limit))
    return [StoredSeries(row.id, series_id(row), Direction(row.direction)) for row in rows]


def read_series(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Series]:
    """Return whole series with all their points, by their numbers in the store."""
    p, s = ALL.c, series.c
    rows = connection.execute(
        sa.select(p.series, p.order, p.commit, p.value, p.run)
        .where(p.series.in_(numbers))
        .order_by(p.series, p.order, p.run)
    ).all()
    owners = np.array([row[0] for row in rows], dtype=np.int64)
    result = {}
    for row in connection.execute(sa.select(series).where(s.id.in_(numbers)).order_by(s.id)):
        low, high = np.searchsorted(owners, [row.id, row.id + 1])
        points = rows[low:high]
        result[row.id] = Series(
            series_id(row),
            np.array([point[1] for point in points], dtype=np.int64),
            np.array([point[3] for point in points], dtype=np.float64),
            [point[2] for point in points],
            direction=Direction(row.direction),
        )
    return result


def one_series(connection: sa.Connection, number: int) -> StoredSeries:
    """Return a series by its number."""
    row = connection.execute(sa.select(series).where(series.c.id == number)).first()
    if row is None:
        raise DataError(f"there is no series {number}")
    return StoredSeries(row.id, series_id(row), Direction(row.direction))


def number_of(connection: sa.Connection, name: SeriesId) -> int | None:
    """Return the number of a series by its identity."""
    return connection.scalar(sa.select(series.c.id).where(series.c.digest == name.digest))


def points_of(
    connection: sa.Connection,
    number: int,
    *,
    first: int | None = None,
    last: int | None = None,
    limit: int = 1000,
    newest: bool = False,
) -> list[Measured]:
    """Return the points of a series from one order to another, both included, rising.

    Where there are more than `limit`, the first ones, or with `newest` the last ones.
    """
    p = ALL.c
    mine = sa.select(*(p[name] for name in (*MEASURED, "model"))).where(p.series == number)
    if first is not None:
        mine = mine.where(p.order >= first)
    if last is not None:
        mine = mine.where(p.order <= last)
    turned: Callable[[Any], sa.UnaryExpression[Any]] = sa.desc if newest else sa.asc
    page = mine.order_by(turned(p.order), turned(p.run)).limit(limit).subquery()
    # Joined before that, PostgreSQL would read the whole series for a page of it.
    query = (
        sa.select(*(page.c[name] for name in MEASURED))
        .add_columns(models.c.version.label("model"), models.c.threshold)
        .join_from(page, models, models.c.id == page.c.model)
        .order_by(page.c.order, page.c.run)
    )
    return [_measured(row) for row in connection.execute(query)]


def _measured(row: Any) -> Measured:
    fields = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
    text = fields["reasons"]
    return Measured(**{**fields, "reasons": None if text is None else json.loads(text)})


def revisions_of(
    connection: sa.Connection,
    number: int,
    order: int,
    run: str,
    *,
    after: int = 0,
    limit: int = 100,
) -> list[Revision]:
    """Return every value that was sent for one identity, the one that holds first.

    Args:
        connection: from `Store.read`.
        number: of the series.
        order: of the point.
        run: of the point.
        after: how many were on the pages before.
        limit: how many.

    Raises:
        DataError: there is no such point.
    """

    def values(table: sa.FromClause, *, hold: bool) -> sa.Select[Any]:
        t = table.c
        return sa.select(t.value, t.time, t.received, sa.literal(hold).label("holds")).where(
            t.series == number, t.order == order, t.run == run
        )

    held = values(ALL, hold=True)
    if connection.execute(held).first() is None:
        raise DataError(f"there is no point at order {order}, run {run!r:.60}")
    every = sa.union_all(held, values(revisions, hold=False)).subquery()
    query = sa.select(every).order_by(every.c.holds.desc(), every.c.value)
    return [Revision(*row) for row in connection.execute(query.offset(after).limit(limit))]


def explain(connection: sa.Connection, number: int, order: int, run: str, reasons: Any) -> None:
    """Keep the reasons of a decision, once somebody asked for them."""
    text = json.dumps(reasons, ensure_ascii=False)
    for table in BOTH:
        p = table.c
        mine = sa.and_(p.series == number, p.order == order, p.run == run)
        connection.execute(sa.update(table).where(mine).values(reasons=text))


def find_candidates(
    connection: sa.Connection,
    *,
    number: int | None = None,
    project: str | None = None,
    verdict: Verdict | None = None,
    present: bool | None = True,
    after: int = 0,
    limit: int = 100,
) -> list[Candidate]:
    """Return candidates, in the order of their numbers.

    Args:
        connection: from `Store.read`.
        number: only those of this series.
        project: only those of this project.
        verdict: only those of which people say this.
        present: only those that the latest look found, or judged ones; None for all.
        after: the number of the last candidate of the page before.
        limit: how many.
    """
    c = candidates.c
    query = _candidates().where(c.id > after)
    if number is not None:
        query = query.where(c.series == number)
    if project is not None:
        query = query.where(series.c.project == project)
    if verdict is not None:
        query = query.where(c.verdict == verdict.value)
    if present is not None:
        query = query.where(c.present == present)
    return [_candidate(row) for row in connection.execute(query.order_by(c.id).limit(limit))]


def one_candidate(connection: sa.Connection, number: int) -> Candidate:
    """Return a candidate by its number."""
    row = connection.execute(_candidates().where(candidates.c.id == number)).first()
    if row is None:
        raise DataError(f"there is no candidate {number}")
    return _candidate(row)


def moves_of(connection: sa.Connection, candidate: int) -> list[tuple[int, int, int]]:
    """Return how a candidate moved: from which order, to which, and when."""
    m = moves.c
    query = sa.select(m.from_order, m.to_order, m.moved).where(m.candidate == candidate)
    return [(first, then, at) for first, then, at in connection.execute(query.order_by(m.id))]


def _candidates() -> sa.Select[Any]:
    c = candidates.c
    named = [column for column in c if column.name != "model"]
    return (
        sa.select(*named, models.c.version.label("model"))
        .join(series, series.c.id == c.series)
        .outerjoin(models, models.c.id == c.model)
    )


def _candidate(row: sa.Row[Any]) -> Candidate:
    fields = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
    for side in ("before", "after"):
        fields[side] = None if fields[side] is None else Region(**json.loads(fields[side]))
    return Candidate(**{**fields, "verdict": Verdict(fields["verdict"])})

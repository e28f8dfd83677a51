"""Read series, and points with their decisions, page by page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import AlarmStep, StepKind
from barograph.detection.online.decision import reasons_for_newest
from barograph.models import TriageModel
from barograph.results.series import Direction, Floats, Series, SeriesId
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store.database import rows_in
from barograph.server.store.measurement import DECISION, CommitDecision
from barograph.server.store.schema import aliases, models, points, revisions, series, steps

POINT = ("order", "run", "commit", "time", "value", "settled", *DECISION)
STEP = ("kind", "change_order", "order", "probability", "from_order", "score")


class OtherModelError(DataError):
    """Raised when the model of a decision is no longer loaded."""


class StoredSeries(NamedTuple):
    """A series with its number in the store, its unit, and since when it is retired."""

    id: int
    name: SeriesId
    direction: Direction
    unit: str = ""
    retired: int | None = None


class StoredPoint(NamedTuple):
    """A result and the decision on its commit.

    Attributes:
        order: Order of the commit.
        run: Run of the commit.
        commit: Commit, or an empty text.
        time: When it was measured, if known.
        value: The result.
        settled: The value that counts for the commit; None if this is a rerun.
        decision: The decision on the commit.
        model: Version of the model that decided.
        threshold: Threshold of the model.
    """

    order: int
    run: str
    commit: str
    time: int | None
    value: float
    settled: float | None
    decision: CommitDecision
    model: str
    threshold: float


class Revision(NamedTuple):
    """One value that was sent for a point, and whether it is the one that holds."""

    value: float
    time: int | None
    received: int
    holds: bool


def find_series(
    connection: sa.Connection,
    *,
    after: int = 0,
    limit: int = 100,
    **labels: str,
) -> list[StoredSeries]:
    """Return series by their labels, in the order of their numbers.

    Args:
        connection: From `Store.read`.
        after: Number of the last series of the page before.
        limit: Maximum number of series.
        labels: Required values of project, variant, task, test or measurement.
    """
    query = sa.select(series).where(series.c.id > after)
    for name, text in labels.items():
        query = query.where(series.c[name] == text)
    rows = connection.execute(query.order_by(series.c.id).limit(limit))
    return list(map(stored_series, rows))


def projects(connection: sa.Connection) -> list[str]:
    """Return the projects of all series, sorted."""
    return sorted(connection.scalars(sa.select(series.c.project).distinct()))


def get_series(connection: sa.Connection, number: int) -> StoredSeries:
    """Return a series by its number."""
    row = connection.execute(sa.select(series).where(series.c.id == number)).first()
    if row is None:
        raise NotFoundError(f"there is no series {number}")
    return stored_series(row)


def series_id(row: sa.Row[Any]) -> SeriesId:
    """Return the identity in a row that has the columns of the table."""
    return SeriesId.from_row(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it


def stored_series(row: sa.Row[Any]) -> StoredSeries:
    """Return the series of a row that has the columns of the table."""
    direction = Direction(row.direction)
    return StoredSeries(row.id, series_id(row), direction, row.unit, row.retired)


def series_named(
    connection: sa.Connection, names: Iterable[SeriesId]
) -> dict[SeriesId, StoredSeries]:
    """Return series by their identities, present or former; those that are unknown are left out."""
    by_digest = {name.digest: name for name in names}
    former = sa.select(aliases.c.digest.label("sent"), series).join_from(aliases, series)
    present = sa.select(series.c.digest.label("sent"), series)
    return {
        by_digest[row.sent]: stored_series(row)
        for query, sent in ((former, aliases.c.digest), (present, series.c.digest))
        for row in rows_in(connection, query, sent, [*by_digest])
    }


def points_of(
    connection: sa.Connection,
    number: int,
    *,
    first: int | None = None,
    last: int | None = None,
    limit: int = 1000,
    reruns: bool = True,
) -> list[StoredPoint]:
    """Return the points of a series between two orders, ascending by order and run.

    Args:
        connection: From `Store.read`.
        number: Number of the series.
        first: Lowest order to include.
        last: Highest order to include.
        limit: Maximum number of points.
        reruns: Whether to return all runs of a commit, not the first one alone.
    """
    p = points.c
    page = sa.select(*(p[name] for name in (*POINT, "model"))).where(p.series == number)
    if first is not None:
        page = page.where(p.order >= first)
    if last is not None:
        page = page.where(p.order <= last)
    if not reruns:
        page = page.where(p.settled.is_not(None))
    # With the join inside the subquery PostgreSQL would read the whole series for each page.
    c = page.order_by(p.order, p.run).limit(limit).subquery().c
    columns = (*(c[name] for name in POINT), models.c.version, models.c.threshold)
    query = sa.select(*columns).join(models, models.c.id == c.model).order_by(c.order, c.run)
    rows = connection.execute(query).all()
    commits = commits_at(connection, number, {row.known_since for row in rows})
    return [_point(row, commits) for row in rows]


def _point(row: Sequence[Any], commits: Mapping[int | None, str]) -> StoredPoint:
    """Return the point of the columns POINT, version and threshold of a model."""
    order, run, commit, time, value, settled, *stored, version, threshold = row
    decision = CommitDecision.of(tuple(stored), commits.get(stored[-1], ""))
    return StoredPoint(order, run, commit, time, value, settled, decision, version, threshold)


def commits_at(
    connection: sa.Connection, number: int, orders: Iterable[int | None]
) -> dict[int | None, str]:
    """Return the commits of a series at some orders."""
    p = points.c
    known = [order for order in orders if order is not None]
    if not known:
        return {}
    match = p.series == number, p.order.in_(known), p.settled.is_not(None)
    rows = connection.execute(sa.select(p.order, p.commit).where(*match))
    return dict(tuple(row) for row in rows)


def orders_before(
    connection: sa.Connection, series: int, order: int | None, count: int
) -> list[int]:
    """Return the orders of the last commits of a series, the newest first.

    Args:
        connection: From `Store.read`.
        series: Number of the series.
        order: Only commits before this order; None for all.
        count: Maximum number of commits.
    """
    p = points.c
    query = sa.select(p.order).where(p.series == series, p.settled.is_not(None))
    if order is not None:
        query = query.where(p.order < order)
    return list(connection.scalars(query.order_by(p.order.desc()).limit(count)))


def read_series(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Series]:
    """Return whole series, by their numbers in the store: one settled value for each commit."""
    p = points.c
    rows = connection.execute(
        sa.select(p.series, p.order, p.commit, p.settled)
        .where(p.series.in_(numbers), p.settled.is_not(None))
        .order_by(p.series, p.order)
    )
    points_of_series = {number: list(of) for number, of in groupby(rows, itemgetter(0))}
    known = sa.select(series).where(series.c.id.in_(numbers)).order_by(series.c.id)
    found: dict[int, Series] = {}
    for row in connection.execute(known):
        columns = [*zip(*points_of_series.get(row.id, ()), strict=True)] or [()] * 4
        _, orders, commits, values = columns
        found[row.id] = Series(
            series_id(row),
            np.array(orders, dtype=np.int64),
            np.array(values, dtype=np.float64),
            commits,
            direction=Direction(row.direction),
            unit=row.unit,
        )
    return found


def read_runs(
    connection: sa.Connection, series_: Mapping[int, Series]
) -> dict[int, dict[int, Floats]]:
    """Return the values of all runs of the commits that have several, by position in their series.

    Args:
        connection: From `Store.read`.
        series_: Whole series, by their numbers.
    """
    p, other = points.c, points.alias().c
    same = other.series == p.series, other.order == p.order, other.settled.is_(None)
    rows = connection.execute(
        sa.select(p.series, p.order, p.value)
        .where(p.series.in_([*series_]), sa.exists().where(*same))
        .order_by(p.series, p.order, p.run)
    )
    runs: dict[int, dict[int, Floats]] = {number: {} for number in series_}
    for (number, order), of_commit in groupby(rows, itemgetter(0, 1)):
        place = series_[number].index_of(order)
        runs[number][place] = np.array([value for _, _, value in of_commit])
    return runs


def revisions_of(
    connection: sa.Connection,
    number: int,
    order: int,
    run: str,
    *,
    after: int = 0,
    limit: int = 100,
) -> list[Revision]:
    """Return every value that was sent for one point, the one that holds first.

    Args:
        connection: From `Store.read`.
        number: Number of the series.
        order: Order of the point.
        run: Run of the point.
        after: Number of values on the pages before.
        limit: Maximum number of values.

    Raises:
        NotFoundError: There is no such point.
    """
    queries: list[sa.Select[Any]] = [
        sa.select(*(t[name] for name in ("value", "time", "received")), sa.literal(holds))
        .where(t.series == number, t.order == order, t.run == run)
        .order_by(t.value)
        for t, holds in ((points.c, True), (revisions.c, False))
    ]
    rows = [Revision(*row) for query in queries for row in connection.execute(query)]
    if not rows:
        raise NotFoundError(f"there is no point at order {order}, run {run!r:.60}")
    return rows[after : after + limit]


def steps_between(
    connection: sa.Connection, number: int, first: int, last: int
) -> dict[int, tuple[AlarmStep, str]]:
    """Return the steps that happened from one order to another, each with its model."""
    s = steps.c
    query = sa.select(*(s[name] for name in STEP), models.c.version)
    chosen = query.join(models, models.c.id == s.model).where(s.series == number)
    rows = connection.execute(chosen.where(s.order >= first, s.order <= last)).all()
    happened = [(AlarmStep(StepKind(kind), *rest), model) for kind, *rest, model in rows]
    return {step.newest: (step, model) for step, model in happened}


def current_states(connection: sa.Connection, number: int, first: int, last: int) -> dict[int, str]:
    """Return the state of every change that begins, or began, from one order to another.

    `moved` is a change that begins elsewhere now; there it is `called` or `confirmed`. A change
    that another one replaces is `withdrawn`.
    """
    s = steps.c
    within = sa.or_(s.change_order.between(first, last), s.from_order.between(first, last))
    states: dict[int, str] = {}
    for kind, order, from_order in connection.execute(
        sa.select(s.kind, s.change_order, s.from_order)
        .where(s.series == number, within)
        .order_by(s.order)
    ):
        states[order] = StepKind.CALLED.value if kind == StepKind.MOVED.value else kind
        if from_order is not None:
            replaced = kind == StepKind.CALLED.value
            states[from_order] = StepKind.WITHDRAWN.value if replaced else kind
    return {order: state for order, state in states.items() if first <= order <= last}


def explained(
    connection: sa.Connection, model: TriageModel, version: str, series: int, order: int
) -> list[dict[str, Any]]:
    """Return the features of a commit with value and contribution, the most decisive first.

    Args:
        connection: From `Store.read`.
        model: The model that decides now.
        version: Its version.
        series: Number of the series.
        order: Order of the commit.

    Raises:
        NotFoundError: There is no such point.
        OtherModelError: Another model decided.
    """
    first_run = points_of(connection, series, first=order, last=order, limit=1)
    if not first_run:
        raise NotFoundError(f"there is no point at order {order}")
    [point] = first_run
    if not point.decision.baseline_size:
        return []  # the first points of a series are not judged
    if point.model != version:
        raise OtherModelError(
            f"the point was decided by model {point.model}, but {version} is loaded now"
        )
    p, count = points.c, point.decision.baseline_size + 1
    match = p.series == series, p.order <= order, p.settled.is_not(None)
    query = sa.select(p.settled).where(*match).order_by(p.order.desc()).limit(count)
    values = np.array(connection.scalars(query).all()[::-1])
    return [reason._asdict() for reason in reasons_for_newest(model, values)]

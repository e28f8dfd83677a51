"""Verdicts with the probabilities before them, and the candidates that are still open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from barograph.results.series import FINAL, Verdict
from barograph.server.store.candidate_records import is_listed
from barograph.server.store.database import rows_in
from barograph.server.store.schema import (
    candidates,
    models,
    points,
    series,
    steps,
    ticketed,
    verdicts,
)

if TYPE_CHECKING:
    import pandas as pd

NEAR = 5  # commits between a change and the place that its alarm points at
CALLED = ("called", "moved")


class Effectiveness(NamedTuple):
    """What became of the change points, as Daly et al. 2020 count it in section 5.2.

    Attributes:
        change_points: Number of candidates that the latest search found, or that were judged.
        commits: Number of commits that they are at, each of one project.
        commits_with_ticket: Number of commits where a ticket is about one of them.
        commits_processed: Number of commits where one of them is judged real or noise.
        tickets: Number of tickets about them.
        real: Number of those judged real.
        real_not_found: Real, but no longer found.
        real_without_ticket: Real, but no ticket is about it.
        noise: Number of those judged noise.
        noise_with_ticket: Noise, but a ticket is about it.
        noise_not_found: Noise, and no longer found.
    """

    change_points: int
    commits: int
    commits_with_ticket: int
    commits_processed: int
    tickets: int
    real: int
    real_not_found: int
    real_without_ticket: int
    noise: int
    noise_with_ticket: int
    noise_not_found: int


def effectiveness(
    connection: sa.Connection, *, since: int | None = None, project: str | None = None
) -> Effectiveness:
    """Count what became of the change points.

    Args:
        connection: From `Store.read`.
        since: Only those that were first found at or after this time, in milliseconds since 1970.
        project: Only those of this project.
    """
    c, link = candidates.c, ticketed.c
    has_ticket = sa.exists().where(link.candidate == c.id).label("ticket")
    query = (
        sa.select(c.id, series.c.project, c.order, c.present, c.verdict, has_ticket)
        .join(series, series.c.id == c.series)
        .where(is_listed())
    )
    if since is not None:
        query = query.where(sa.func.coalesce(c.detected_on, c.calculated_on, 0) >= since)
    if project is not None:
        query = query.where(series.c.project == project)
    found = query.subquery()
    about = sa.select(link.ticket).distinct().join(found, found.c.id == link.candidate)
    table = _table(connection, query).astype({"present": bool, "ticket": bool})
    real = table.verdict == Verdict.TRUE_POSITIVE.value
    noise = table.verdict == Verdict.FALSE_POSITIVE.value
    return Effectiveness(
        change_points=len(table),
        commits=table.commit.nunique(),
        commits_with_ticket=table.commit[table.ticket].nunique(),
        commits_processed=table.commit[real | noise].nunique(),
        tickets=len(connection.scalars(about).all()),
        real=int(real.sum()),
        real_not_found=int((real & ~table.present).sum()),
        real_without_ticket=int((real & ~table.ticket).sum()),
        noise=int(noise.sum()),
        noise_with_ticket=int((noise & table.ticket).sum()),
        noise_not_found=int((noise & ~table.present).sum()),
    )


def judged_verdicts(connection: sa.Connection, since: int) -> pd.DataFrame:
    """Return the candidates that got their first final verdict since a time.

    The model cannot have known the first verdict. What holds is the latest one: a slip that was
    undone at once does not count, and a candidate that was reopened is left out.

    Returns:
        The columns of `learning.weekly_record`, and the numbers of the candidates.
    """
    v, c = verdicts.c, candidates.c
    earlier = verdicts.alias()
    had_one = sa.exists().where(
        earlier.c.candidate == v.candidate, earlier.c.id < v.id, earlier.c.verdict.in_(FINAL)
    )
    query = (
        sa.select(
            *(v.candidate, v.time.label("decided"), v.probability, models.c.threshold),
            (c.verdict == Verdict.TRUE_POSITIVE.value).label("real"),
            *(series.c.project, c.order),
        )
        .join(candidates, c.id == v.candidate)
        .join(series, series.c.id == c.series)
        .join(models, models.c.id == v.model)
        .where(v.time >= since, v.verdict.in_(FINAL), c.verdict.in_(FINAL), ~had_one)
        .where(v.probability.is_not(None))
        .order_by(v.id)
    )
    table = _table(connection, query)
    table["real"] = table.real.astype(bool)
    delays = alarm_delays(connection, table.candidate[table.real].tolist())
    return table.assign(delay=table.candidate.map(delays).astype(float))


def _table(connection: sa.Connection, query: sa.Select[Any]) -> pd.DataFrame:
    """Return the rows of a query with a number for each `project` and `order`, as `commit`."""
    import pandas as pd  # slow to import

    table = pd.read_sql(query, connection)
    return table.assign(commit=table.groupby(["project", "order"]).ngroup())


def alarm_delays(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, int]:
    """Return how many commits after its change each candidate first raised an alarm.

    An alarm belongs to a candidate if it points at most `NEAR` commits from it. Candidates without
    an alarm are left out, and so is what no second look was taken at.
    """
    c, s = candidates.c, steps.c
    low = sa.case((c.order < s.change_order, c.order), else_=s.change_order)
    high = sa.case((c.order < s.change_order, s.change_order), else_=c.order)
    query = (
        sa.select(c.id, _commits(c.order, s.order))
        .join(steps, s.series == c.series)
        .where(s.kind.in_(CALLED), s.order >= c.order, _commits(low, high) <= NEAR)
        .order_by(c.id, s.order.desc())
    )
    # Of several alarms the first is kept: it comes last.
    return dict(tuple(row) for row in rows_in(connection, query, c.id, numbers))


def has_alarms(connection: sa.Connection) -> bool:
    """Return whether the second look ever raised an alarm."""
    return connection.execute(sa.select(steps.c.series).limit(1)).first() is not None


def uncertain_candidates(connection: sa.Connection, limit: int) -> pd.DataFrame:
    """Return the open candidates whose probability is nearest to one half."""
    c = candidates.c
    query = (
        sa.select(c.id.label("candidate"), c.series, series.c.project, c.order)
        .join(series, series.c.id == c.series)
        .where(c.present, c.verdict == Verdict.NOT_TRIAGED.value, c.probability.is_not(None))
        .order_by(sa.func.abs(c.probability - 0.5), c.id)
    )
    return _table(connection, query.limit(limit))


def still_decided(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, bool]:
    """Return which of some candidates have a final verdict, each with whether it is real."""
    c = candidates.c
    query = sa.select(c.id, c.verdict).where(c.id.in_(numbers), c.verdict.in_(FINAL))
    rows = connection.execute(query) if numbers else ()
    return {number: verdict == Verdict.TRUE_POSITIVE.value for number, verdict in rows}


def _commits(after: Any, until: Any) -> Any:
    """Return the number of commits of the candidate's series after one order, up to another."""
    p = points.c
    between = p.order > after, p.order <= until, p.settled.is_not(None)
    return (
        sa.select(sa.func.count())
        .select_from(points)
        .where(p.series == candidates.c.series, *between)
        .scalar_subquery()
    )

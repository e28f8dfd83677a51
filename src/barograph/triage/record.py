"""What people decided and what the model had said before; and which candidates are still open."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.series import FINAL, Verdict
from barograph.store.schema import candidates, models, points, series, steps, verdicts

CHUNK = 500  # candidates in one query: databases limit the number of parameters
NEAR = 5  # commits between a change and the place that its alarm points at
CALLED = ("called", "moved")


class GivenVerdict(NamedTuple):
    """The verdict that holds for a candidate, and what was said before the first one.

    Attributes:
        candidate: Number of the candidate.
        given: When it got its first final verdict, in milliseconds since 1970.
        verdict: The verdict that holds now.
        probability: Of the candidate before its first verdict.
        threshold: Of the model that gave the probability.
        project: Project of the series.
        order: Order of the candidate.
    """

    candidate: int
    given: int
    verdict: Verdict
    probability: float
    threshold: float
    project: str
    order: int


class OpenCandidate(NamedTuple):
    """A candidate, for the choice of what to decide next."""

    candidate: int
    series: int
    project: str
    order: int
    probability: float
    hazard: float | None
    before: str | None
    after: str | None


def given_verdicts(connection: sa.Connection, since: int) -> list[GivenVerdict]:
    """Return the candidates that got their first final verdict since a time.

    The model cannot have known the first verdict. What holds is the latest one: a slip that was
    undone at once does not count, and a candidate that was reopened is left out.
    """
    v, c = verdicts.c, candidates.c
    earlier = verdicts.alias()
    had_one = sa.exists().where(
        earlier.c.candidate == v.candidate, earlier.c.id < v.id, earlier.c.verdict.in_(FINAL)
    )
    query = (
        sa.select(
            *(v.candidate, v.given, c.verdict, v.probability, models.c.threshold),
            *(series.c.project, c.order),
        )
        .join(candidates, c.id == v.candidate)
        .join(series, series.c.id == c.series)
        .join(models, models.c.id == v.model)
        .where(v.given >= since, v.verdict.in_(FINAL), c.verdict.in_(FINAL), ~had_one)
        .where(v.probability.is_not(None))
        .order_by(v.id)
    )
    rows = (row._mapping for row in connection.execute(query))  # noqa: SLF001 - its public name
    return [GivenVerdict(**{**row, "verdict": Verdict(row["verdict"])}) for row in rows]


def alarm_delays(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, int]:
    """Return how many commits after its change each candidate first raised an alarm.

    An alarm belongs to a candidate if it points at most `NEAR` commits from it. Candidates without
    an alarm are left out, and so is what no second look was taken at.
    """
    c, s = candidates.c, steps.c
    low = sa.case((c.order < s.change_order, c.order), else_=s.change_order)
    high = sa.case((c.order < s.change_order, s.change_order), else_=c.order)
    found: dict[int, int] = {}
    for first in range(0, len(numbers), CHUNK):
        query = (
            sa.select(c.id, _commits(c.order, s.order))
            .join(steps, s.series == c.series)
            .where(c.id.in_(numbers[first : first + CHUNK]))
            .where(s.kind.in_(CALLED), s.order >= c.order, _commits(low, high) <= NEAR)
            .order_by(c.id, s.order.desc())
        )
        found |= dict(connection.execute(query).all())  # the first alarm wins
    return found


def has_alarms(connection: sa.Connection) -> bool:
    """Return whether the second look ever raised an alarm."""
    return connection.execute(sa.select(steps.c.series).limit(1)).first() is not None


def uncertain_candidates(connection: sa.Connection, limit: int) -> list[OpenCandidate]:
    """Return the open candidates whose probability is nearest to one half."""
    c = candidates.c
    is_open = c.present, c.verdict == Verdict.NOT_TRIAGED.value, c.probability.is_not(None)
    gap = sa.func.abs(c.probability - 0.5)
    return _candidates(connection, sa.and_(*is_open), (gap, c.id), limit)


def decided_candidates(connection: sa.Connection, limit: int) -> list[OpenCandidate]:
    """Return the candidates that were decided last."""
    c = candidates.c
    decided = sa.and_(c.verdict.in_(FINAL), c.present, c.probability.is_not(None))
    return _candidates(connection, decided, (c.triaged_on.desc(), c.id), limit)


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


def _candidates(
    connection: sa.Connection, match: Any, order: Sequence[Any], limit: int
) -> list[OpenCandidate]:
    c = candidates.c
    query = (
        sa.select(
            *(c.id, c.series, series.c.project, c.order),
            *(c.probability, c.hazard, c.before, c.after),
        )
        .join(series, series.c.id == c.series)
        .where(match)
        .order_by(*order)
        .limit(limit)
    )
    return [OpenCandidate(*row) for row in connection.execute(query)]

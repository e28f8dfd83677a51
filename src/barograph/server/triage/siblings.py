"""The siblings of a series: the same test in other variants or with other arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.results.wording import EffectWord
from barograph.server.store import reading
from barograph.server.store.candidate_records import (
    CandidateRecord,
    candidates_numbered,
    get_candidate,
    is_listed,
)
from barograph.server.store.reading import StoredSeries, stored_series
from barograph.server.store.schema import candidates, series
from barograph.server.triage.effects import (
    Effect,
    SettledResults,
    Trace,
    around,
    effect_between,
    results_between,
)

MOST = 200  # siblings that are looked at
PLOTTED = 30  # results on each side of a plot


class SiblingState(StrEnum):
    """What a sibling did at the commit where a series changed."""

    MOVED = "moved"
    STEADY = "steady"
    TOO_FEW = "too_few"  # results before
    NO_RESULT = "no_result"  # none from the first commit of the new level on


@dataclass(frozen=True, slots=True)
class Sibling:
    """A sibling, and what it did where a series changed.

    Attributes:
        series: The series.
        state: What it did.
        effect: How far it moved; the size of its own candidate if it has one.
        candidate: Its own candidate in the suspect range, if there is one.
        verdict: The verdict on that candidate.
        orders: The orders of the results to plot.
        values: The results to plot.
    """

    series: StoredSeries
    state: SiblingState
    effect: Effect
    candidate: int | None
    verdict: Verdict | None
    orders: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def word(self) -> EffectWord:
        """Whether it got worse or better, or that its direction is unknown."""
        return self.effect.word(self.series.direction)


@dataclass(frozen=True, slots=True)
class Siblings:
    """The siblings of a series at one of its changes, those that moved first.

    Attributes:
        last_before: The last order of the old level.
        first_after: The first order of the new level.
        rose: The number of siblings that moved up.
        fell: The number of siblings that moved down.
        steady: The number of siblings that did not move.
        waiting: The number of siblings without a result yet, or with too few.
        siblings: The siblings.
    """

    last_before: int
    first_after: int
    rose: int
    fell: int
    steady: int
    waiting: int
    siblings: tuple[Sibling, ...]


def siblings(connection: sa.Connection, candidate: int) -> Siblings:
    """Return what the siblings of a series did where a candidate is.

    Args:
        connection: From `Store.read`.
        candidate: Number of the candidate.

    Raises:
        NotFoundError: There is no such candidate.
    """
    change = get_candidate(connection, candidate)
    beside, others = sibling_results(connection, change)
    last = beside.before[-1].order if beside.before else change.order - 1
    called = _candidates_between(connection, [other.id for other, _ in others], last, change.order)
    ranked = sorted(
        (_sibling(*other, called.get(other[0].id), last, change.order) for other in others),
        key=_rank,
    )
    moved = [sibling.effect for sibling in ranked if sibling.state is SiblingState.MOVED]
    rose = sum((effect.after or 0.0) > (effect.before or 0.0) for effect in moved)
    steady = sum(sibling.state is SiblingState.STEADY for sibling in ranked)
    waiting = len(ranked) - len(moved) - steady
    return Siblings(last, change.order, rose, len(moved) - rose, steady, waiting, tuple(ranked))


def sibling_results(
    connection: sa.Connection, change: CandidateRecord
) -> tuple[Trace, list[tuple[StoredSeries, SettledResults]]]:
    """Return the results around a candidate, and its siblings with theirs.

    Beyond the last result of the series itself everything counts: a sibling may have newer ones.
    """
    beside = around(connection, [change.id], PLOTTED, PLOTTED + 1)[change.id]
    target, s = reading.get_series(connection, change.series), series.c
    name = target.name
    same = s.project == name.project, s.test == name.test, s.measurement == name.measurement
    query = sa.select(series).where(*same, s.id != target.id).order_by(s.variant, s.task, s.id)
    others = list(map(stored_series, connection.execute(query.limit(MOST))))
    first = beside.before[0].order if beside.before else change.order - 1
    last = beside.after[:PLOTTED][-1].order if beside.after else change.order
    reach = last - first + 1
    later = reach if 0 < len(beside.after) <= PLOTTED else reach // 4
    window = first - reach // 4, last + later
    results = results_between(connection, [other.id for other in others], *window)
    return beside, [(other, results.get(other.id, ())) for other in others]


def overlap(after: int, last: int) -> sa.ColumnElement[bool]:
    """Return the condition that the suspect range of a candidate overlaps the given one."""
    c = candidates.c
    return sa.and_(c.order > after, sa.func.coalesce(c.last_before, c.order - 1) < last)


def _candidates_between(
    connection: sa.Connection, numbers: Sequence[int], after: int, last: int
) -> dict[int, CandidateRecord]:
    """Return the candidate of each series whose suspect range overlaps the given one."""
    c, overlaps = candidates.c, overlap(after, last)
    found = connection.scalars(sa.select(c.id).where(c.series.in_(numbers), is_listed(), overlaps))
    records = candidates_numbered(connection, found.all())
    return {record.series: record for record in sorted(records, key=lambda each: -each.order)}


def _sibling(
    other: StoredSeries,
    results: SettledResults,
    own: CandidateRecord | None,
    last_before: int,
    first_after: int,
) -> Sibling:
    effect = effect_between(results, last_before, first_after)
    is_called = own is not None and own.verdict is not Verdict.FALSE_POSITIVE
    if effect.after is None:
        state = SiblingState.NO_RESULT
    elif effect.before is None:
        state = SiblingState.TOO_FEW
    elif effect.is_clear or (is_called and effect.before != effect.after):
        state = SiblingState.MOVED
        effect = (own and Effect.of(own)) or effect
    else:
        state = SiblingState.STEADY
    orders, values = zip(*results, strict=True) if results else ((), ())
    candidate, verdict = (None, None) if own is None else (own.id, own.verdict)
    return Sibling(other, state, effect, candidate, verdict, tuple(orders), tuple(values))


def _rank(sibling: Sibling) -> tuple[int, float, str]:
    """Sort those that moved first, by size, and those without a result last."""
    place = list(SiblingState).index(sibling.state)
    return place, -abs(sibling.effect.percent or 0.0), str(sibling.series.name)

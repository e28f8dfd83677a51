"""The series of a job as the store knows them, for `score`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from barograph.cli.judged import JudgedSeries
from barograph.detection.online import AlarmStep, Answer, StepKind
from barograph.detection.online.decision import changes_of
from barograph.detection.online.latest import RECENT
from barograph.detection.online.newest import COMPARED
from barograph.results.series import Floats
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.cli.selection import Selection
    from barograph.results.series import Series
    from barograph.server.store import Store
    from barograph.server.store.measurement import CommitDecision
    from barograph.server.store.reading import StoredPoint, StoredSeries


def stored_series(
    store: Store, series: Sequence[Series], selection: Selection
) -> list[JudgedSeries]:
    """Return what the store decided on the newest results of the series of a job.

    Args:
        store: The store with the results.
        series: The series of the job, as they were read.
        selection: How many results of each are judged.
    """
    with store.read() as connection:
        chosen = [pair for pair in zip(series, selection.counts, strict=True) if pair[1]]
        known = reading.series_named(connection, [entry.id for entry, _ in chosen])
        steps = reading.steps_of(connection, [entry.id for entry in known.values()])
        decided = [
            _judged(connection, known[entry.id], count, steps[known[entry.id].id])
            for entry, count in chosen
            if entry.id in known
        ]
    return [entry for entry in decided if entry is not None]


def _judged(
    connection: sa.Connection,
    stored: StoredSeries,
    count: int,
    steps: Sequence[AlarmStep],
) -> JudgedSeries | None:
    """Return the decisions on the newest commits of a series, given all its steps."""
    number = stored.id
    asked = reading.settled_tail(connection, number, INTEGER, count)
    if not asked:
        return None
    first, last = asked[0][0], asked[-1][0]
    points = reading.points_of(connection, number, first=first, last=last)
    commits = [[*runs] for _, runs in groupby(points, attrgetter("order"))]
    newest = commits[-1][0]
    decision = newest.decision
    size = len(commits) + RECENT
    tail = reading.settled_tail(connection, number, newest.order, size)
    before = [order for order, _, _ in tail if order < first]
    since = min(before, default=first)
    recent = [step for step in steps if since <= step.newest <= last]
    recent = recent or _alarms(reading.points_of(connection, number, first=since, last=last))
    is_plain = decision.answer is Answer.QUIET and not decision.reruns
    if recent or decision.known_since or not is_plain:
        size += decision.baseline_size + COMPARED
        tail = reading.settled_tail(connection, number, newest.order, size)
    raised_early = {step.newest for step in recent if step.newest == step.index < first}
    earlier = [
        reading.points_of(connection, number, first=order, last=order)
        for order in sorted(raised_early)
    ]
    judged = _series_of(stored, decision, tail, recent, [*earlier, *commits])
    return replace(judged, selected=len(commits), is_new=not before)


def _series_of(
    stored: StoredSeries,
    decision: CommitDecision,
    tail: Sequence[tuple[int, str, float]],
    steps: Sequence[AlarmStep],
    commits: Sequence[Sequence[StoredPoint]],
) -> JudgedSeries:
    """Return a series from its last commits (order, name and value), of which the newest is judged.

    Args:
        stored: The series.
        decision: The decision on the newest commit.
        tail: The last commits, oldest first.
        steps: The recent steps, by orders.
        commits: The results of commits that were judged.
    """
    places = {order: place for place, (order, _, _) in enumerate(tail)}
    known = None if decision.known_since is None else places.get(decision.known_since.order)
    return JudgedSeries(
        name=str(stored.name),
        project=stored.name.project,
        direction=int(stored.direction),
        orders=np.array(list(places), dtype=np.int64),
        commits=[commit for _, commit, _ in tail],
        values=np.array([value for _, _, value in tail]),
        selected=1,
        answer=decision.answer,
        probability=decision.probability,
        surprise=decision.surprise,
        known_since=known,
        reruns=decision.reruns,
        baseline_size=decision.baseline_size,
        changes=changes_of(_at_places(step, places) for step in steps if step.index in places),
        runs=_runs(commits, places),
    )


def _alarms(points: Sequence[StoredPoint]) -> list[AlarmStep]:
    """Return the steps of the alarms of a judge without a second look."""
    first = [next(runs) for _, runs in groupby(points, attrgetter("order"))]
    return [
        AlarmStep(StepKind.CALLED, point.order, point.order, point.decision.probability)
        for point in first
        if point.decision.is_change
    ]


def _at_places(step: AlarmStep, places: dict[int, int]) -> AlarmStep:
    """Return a step with positions instead of orders."""
    moved_from = None if step.moved_from is None else places.get(step.moved_from)
    return replace(
        step, index=places[step.index], newest=places[step.newest], moved_from=moved_from
    )


def _runs(commits: Sequence[Sequence[StoredPoint]], places: dict[int, int]) -> dict[int, Floats]:
    """Return the results of the commits that have several runs."""
    return {
        places[runs[0].order]: np.array([point.value for point in runs])
        for runs in commits
        if len(runs) > 1
    }

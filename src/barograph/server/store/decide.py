"""Make the decisions of series, from the first order at which each of them changed.

A decision is a function of the newest settled values before its commit, the runs of the commit, and
the state of the second look in the step before. All of these are rows, so it does not matter what
changed them: a new commit, a rerun, a late result or a merge. The table `unjudged` holds the order
from which the decisions of a series are still to be made.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import AlarmLog, AlarmState, BatchDecisions, Judge, PendingSeries
from barograph.detection.online.views import kept_from
from barograph.server.store.candidate_records import mark_stale
from barograph.server.store.database import BulkUpdate, Insertion, Row, chunks, rows_in
from barograph.server.store.measurement import DECISION
from barograph.server.store.reading import orders_before
from barograph.server.store.schema import points, series, steps, unjudged

SLICE = 125  # stored results whose decisions are made again together: a hundredth of a second
SERIES = 50  # of one slice
SLICES = 8  # in one transaction, unless others wait
UNJUDGED = Insertion(unjudged, ("series", "order"), replace=("order",))
OTHER_DECISION = BulkUpdate(
    points, ("series", "order", "run"), ("settled", "place", *DECISION, "model")
)
STEP = Insertion(
    steps,
    (
        *("series", "order", "kind", "change_order", "from_order", "probability"),
        *("standing", "score", "confirmed", "direction", "model"),
    ),
)
_P, _S, _U = points.c, steps.c, unjudged.c
_SERIES: sa.BindParameter[int] = sa.bindparam("series")
_ORDER: sa.BindParameter[int] = sa.bindparam("order")
_NUMBERS: sa.BindParameter[Sequence[int]] = sa.bindparam("numbers", expanding=True)
_COUNT = sa.bindparam("count", type_=sa.Integer)
_BEFORE = _P.order < _ORDER, _P.settled.is_not(None)
RUN = sa.select(_P.series, _P.order, _P.run, _P.value)
RUNS = RUN.where(_P.series == _SERIES, _P.order >= _ORDER).order_by(_P.order, _P.run).limit(_COUNT)
RUNS_AT = RUN.where(_P.series.in_(_NUMBERS), _P.order == _ORDER).order_by(_P.series, _P.run)
SETTLED = sa.select(_P.settled).where(_P.series == _SERIES, *_BEFORE)
SETTLED = SETTLED.order_by(_P.order.desc()).limit(_COUNT)


def _newest(column: sa.Column[Any], *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[Any]:
    """Return a column of the last row of a series that meets conditions."""
    table = column.table.c
    query = sa.select(column).where(table.series == series.c.id, *where)
    return query.order_by(table.order.desc()).limit(1).correlate(series).scalar_subquery()


# What the decisions of series that change from the same order on depend on.
HEADS = (
    sa.select(
        series.c.id,
        _newest(_P.order).label("last"),
        _newest(_P.place, *_BEFORE).label("place"),
        *(_S[name] for name in ("standing", "score", "confirmed", "direction", "probability")),
    )
    .outerjoin(
        steps, sa.and_(_S.series == series.c.id, _S.order == _newest(_S.order, _S.order < _ORDER))
    )
    .where(series.c.id.in_(_NUMBERS))
)
UNDECIDED = sa.select(_U.series, _U.order)
DECIDED = sa.delete(unjudged).where(_U.series == _SERIES)
LATER_STEPS = sa.delete(steps).where(_S.series == _SERIES, _S.order >= _ORDER)


# A series, the runs of each commit that is decided now, and what the judge gets.
Stretch = tuple[int, list[list[Any]], PendingSeries]


def decide(
    connection: sa.Connection,
    judge: Judge,
    model: int,
    changed: Mapping[int, int],
    new: Mapping[int, int],
    left: dict[int, int],
) -> None:
    """Make the decisions of series from an order on, and note which are left.

    Args:
        connection: Of the writing transaction.
        judge: Decides.
        model: Number of its model.
        changed: The order from which the decisions of each series are to be made.
        new: Number of results of each series that this transaction added. As many decisions are
            made of each series, and `SLICE` more of all series together.
        left: The order from which decisions of these series are left, which is updated.
    """
    heads, newest = _heads(connection, changed)
    stretches: list[Stretch] = []
    gone: list[dict[str, int]] = []
    done: list[dict[str, int]] = []
    room = SLICE
    for number, since in changed.items():
        count = new.get(number, 0)
        if count + room <= 0:
            left[number] = since
            continue
        following: int | None = None
        commits = [newest[number]] if number in newest else []
        if not commits:
            commits, following = _commits_from(connection, number, since, count + room)
        if commits:  # else they were deleted
            stretches.append(_stretch(connection, heads[number], commits, judge.history))
        if following is not None:
            left[number] = following
        elif left.pop(number, None) is not None:
            done.append({"series": number})
        room -= max(0, sum(map(len, commits)) - count)
        gone.append({"series": number, "order": since})
    if gone:
        connection.execute(LATER_STEPS, gone)
    if stretches:
        judged = judge.judge([pending for _, _, pending in stretches])
        _write(connection, stretches, judged, model)
    if done:
        connection.execute(DECIDED, done)
    UNJUDGED.into(connection, list(left.items()))
    mark_stale(connection, changed)


def decide_left(
    connection: sa.Connection, judge: Judge, model: int, is_enough: Callable[[], bool]
) -> bool:
    """Make decisions that are left, in a few slices or until it is enough.

    Returns:
        Whether any remain.
    """
    for _ in range(SLICES):
        rows = connection.execute(UNDECIDED.order_by(_U.series).limit(SERIES))
        changed = dict(tuple(row) for row in rows)
        if not changed:
            return False
        decide(connection, judge, model, changed, {}, changed.copy())
        if is_enough():
            break
    return True


def any_left(connection: sa.Connection) -> bool:
    """Return whether decisions of any series are left."""
    return connection.scalar(sa.select(_U.series).limit(1)) is not None


def undecided(connection: sa.Connection, numbers: Iterable[int]) -> dict[int, int]:
    """Return the order from which decisions are left, of those series that have any."""
    return dict(tuple(row) for row in rows_in(connection, UNDECIDED, _U.series, list(numbers)))


def _heads(
    connection: sa.Connection, changed: Mapping[int, int]
) -> tuple[dict[int, Any], dict[int, list[Any]]]:
    """Read what is known of series before the order from which each of them changed.

    Returns:
        By series, the row of `HEADS`, and the runs of the commit if it is the last of its series.
    """
    by_order: dict[int, list[int]] = defaultdict(list)
    for number, since in changed.items():
        by_order[since].append(number)
    heads: dict[int, Any] = {}
    newest: dict[int, list[Any]] = {}
    for order, numbers in by_order.items():
        for part in chunks(numbers):
            rows = connection.execute(HEADS, {"order": order, "numbers": part}).all()
            heads |= {row.id: row for row in rows}
            if ends := [row.id for row in rows if row.last == order]:
                runs = connection.execute(RUNS_AT, {"order": order, "numbers": ends})
                newest |= {number: list(of) for number, of in groupby(runs, attrgetter("series"))}
    return heads, newest


def _commits_from(
    connection: sa.Connection, number: int, since: int, limit: int
) -> tuple[list[list[Any]], int | None]:
    """Return the runs of commits from an order on, and the order of the first that is left.

    Args:
        connection: Of the writing transaction.
        number: Number of the series.
        since: The order.
        limit: Maximum number of runs, except that the first commit is always complete.
    """
    values = {"series": number, "order": since, "count": limit + 1}
    rows = connection.execute(RUNS, values).all()
    commits = [list(runs) for _, runs in groupby(rows, attrgetter("order"))]
    if len(rows) <= limit:
        return commits, None
    if len(commits) == 1:
        return _commits_from(connection, number, since, 2 * limit)
    return commits[:-1], commits[-1][0].order


def _stretch(
    connection: sa.Connection, head: Any, commits: list[list[Any]], history: int
) -> Stretch:
    """Return commits with the values and the state that their decisions depend on."""
    place = 0 if head.place is None else head.place + 1
    before = np.empty(0)
    if count := place - kept_from(place, history):
        where = {"series": head.id, "order": commits[0][0].order, "count": count}
        with connection.execute(SETTLED, where) as result:  # its rows cost more than the query
            before = np.fromiter(chain.from_iterable(result.cursor.fetchall()), np.float64)[::-1]
    state = (head.standing, head.score, head.confirmed, head.direction, head.probability)
    pending = PendingSeries(
        np.concatenate([before, [runs[0].value for runs in commits]]),
        before.size,
        base=place - before.size,
        state=None if head.score is None else AlarmState(*state),
        runs={
            position: np.array([run.value for run in runs])
            for position, runs in enumerate(commits, before.size)
            if len(runs) > 1
        },
    )
    return head.id, commits, pending


def _write(
    connection: sa.Connection, stretches: list[Stretch], judged: BatchDecisions, model: int
) -> None:
    """Write decisions to the rows of their runs."""
    columns = judged.answer, judged.probability, judged.surprise, judged.baseline_size
    made = zip(*(column.tolist() for column in (*columns, judged.reruns)), strict=True)
    decisions = zip(judged.settled.tolist(), judged.known_since.tolist(), made, strict=True)
    decided: list[Row] = []
    happened: list[Row] = []
    for (number, commits, pending), log in zip(stretches, judged.logs, strict=True):
        first = pending.base + pending.first
        order_at = _orders(connection, number, commits, first)
        happened += _step_rows(number, log, order_at, model)
        for place, runs in enumerate(commits, first):
            settled, known, decision = next(decisions)
            since = None if known < 0 else order_at(known)
            for k, run in enumerate(runs):
                counted = (None, None) if k else (settled, place)
                place_of_run = number, run.order, run.run
                decided.append((*place_of_run, *counted, *decision, since, model))
    OTHER_DECISION.into(connection, decided)
    STEP.into(connection, happened)


def _step_rows(series: int, log: AlarmLog, order_at: Callable[[int], int], model: int) -> list[Row]:
    """Return the rows of the steps of a series, each with the state after it."""
    rows: list[Row] = []
    for step, state in zip(log.steps, log.states, strict=False):  # a plain judge has no states
        moved_from = None if step.moved_from is None else order_at(step.moved_from)
        change = (step.kind.value, order_at(step.index), moved_from, step.probability)
        standing = (state.change, state.score, state.confirmed, state.direction)
        rows.append((series, order_at(step.newest), *change, *standing, model))
    return rows


def _orders(
    connection: sa.Connection, number: int, commits: list[list[Any]], place: int
) -> Callable[[int], int]:
    """Return a function of a position in a series that returns the order there.

    Args:
        connection: Of the writing transaction.
        number: Number of the series.
        commits: The runs of commits.
        place: Position of the first of them.
    """

    @cache
    def order_at(position: int) -> int:
        back = place - position
        if back <= 0:
            order: int = commits[-back][0].order
            return order
        return orders_before(connection, number, commits[0][0].order, back)[-1]

    return order_at

"""The steps of the second look, stored one by one: the next look continues from the last one."""

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from barograph.detection.online import AlarmLog, AlarmState, AlarmStep, StepKind
from barograph.detection.online.changes import ScoredStep
from barograph.store.database import rows_in
from barograph.store.results import StepRecord
from barograph.store.rows import Insertion, Row
from barograph.store.schema import models, points, steps

STEP = Insertion(
    steps,
    (
        *("series", "order", "kind", "change_order", "from_order", "probability"),
        *("standing", "score", "confirmed", "direction", "model", "decided"),
    ),
)


def step_rows(
    series: int, log: AlarmLog, order_at: Callable[[int], int], model: int, at: int
) -> tuple[list[Row], dict[int, StepRecord]]:
    """Return the rows of the steps of one series, and the steps by the order of their arrival.

    Args:
        series: Number of the series.
        log: The steps; positions count all commits of the series.
        order_at: Returns the order at a position.
        model: Number of the model that decided.
        at: Time of the decision.
    """
    rows: list[Row] = []
    records: dict[int, StepRecord] = {}
    for step, state in zip(log.steps, log.states, strict=True):
        order = order_at(step.at)
        records[order] = record = _record(step, order_at)
        change = (record.kind, record.order, record.from_order, record.probability)
        standing = (state.change, state.score, state.confirmed, state.direction)
        rows.append((series, order, *change, *standing, model, at))
    return rows, records


def _record(step: AlarmStep, order_at: Callable[[int], int]) -> StepRecord:
    moved_from = None if step.moved_from is None else order_at(step.moved_from)
    return StepRecord(step.kind.value, order_at(step.index), step.probability, moved_from)


def orders_before(connection: sa.Connection, series: int, order: int, count: int) -> list[int]:
    """Return the orders of the last commits of a series before an order, the newest first."""
    p = points.c
    before = p.series == series, p.order < order, p.settled.is_not(None)
    newest_first = sa.select(p.order).where(*before).order_by(p.order.desc())
    return list(connection.scalars(newest_first.limit(count)))


def load_states(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, AlarmState]:
    """Return the state of the second look after the last step of each series."""
    s = steps.c
    columns = (s.series, s.standing, s.score, s.confirmed, s.direction, s.probability)
    query = sa.select(*columns).order_by(s.series, s.order)
    rows = rows_in(connection, query, s.series, numbers)
    return {series: AlarmState(*fields) for series, *fields in rows}


def rewind_steps(connection: sa.Connection, series: int, since: int) -> AlarmState | None:
    """Delete the steps from an order on; return the state of the second look before it."""
    s = steps.c
    connection.execute(sa.delete(steps).where(s.series == series, s.order >= since))
    return load_states(connection, [series]).get(series)


def steps_of(
    connection: sa.Connection, series: int, first: int, last: int
) -> dict[int, tuple[StepRecord, str]]:
    """Return the steps that happened from one order to another, each with its model."""
    s = steps.c
    rows = connection.execute(
        sa.select(*(s.order, s.kind, s.change_order, s.probability, s.from_order, models.c.version))
        .join(models, models.c.id == s.model)
        .where(s.series == series, s.order >= first, s.order <= last)
    )
    return {order: (StepRecord(*step), model) for order, *step, model in rows}


def scored_steps(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, list[ScoredStep]]:
    """Return all steps of each series, by orders and with the score of the change after each."""
    s = steps.c
    columns = (s.kind, s.change_order, s.order, s.probability, s.from_order, s.score)
    query = sa.select(s.series, *columns).order_by(s.series, s.order)
    scored: dict[int, list[ScoredStep]] = {number: [] for number in numbers}
    for series, kind, *fields in rows_in(connection, query, s.series, numbers):
        scored[series].append(ScoredStep(StepKind(kind), *fields))
    return scored


def current_states(connection: sa.Connection, series: int, first: int, last: int) -> dict[int, str]:
    """Return the state of every change that begins, or began, from one order to another.

    `moved` is a change that begins elsewhere now; there it is `called` or `confirmed`. A change
    that another one replaces is `withdrawn`.
    """
    s = steps.c
    within = sa.or_(s.change_order.between(first, last), s.from_order.between(first, last))
    states: dict[int, str] = {}
    for kind, order, from_order in connection.execute(
        sa.select(s.kind, s.change_order, s.from_order)
        .where(s.series == series, within)
        .order_by(s.order)
    ):
        states[order] = StepKind.CALLED.value if kind == StepKind.MOVED.value else kind
        if from_order is not None:
            replaced = kind == StepKind.CALLED.value
            states[from_order] = StepKind.WITHDRAWN.value if replaced else kind
    return {order: state for order, state in states.items() if first <= order <= last}

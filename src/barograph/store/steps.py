"""The steps of the second look, stored one by one: the next look continues from the last one."""

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from barograph.detection.online import AlarmLog, AlarmState, AlarmStep, StepKind
from barograph.store.results import StepRecord
from barograph.store.rows import Insertion, Row
from barograph.store.schema import models, points, steps
from barograph.store.tail import Key

CHUNK = 1000  # series in one query
STEP = Insertion(
    steps,
    (
        *("series", "order", "run", "kind", "change_order", "change_run", "from_order"),
        *("from_run", "probability", "standing", "score", "confirmed", "direction"),
        *("model", "decided"),
    ),
)


def step_rows(
    series: int, log: AlarmLog, key_at: Callable[[int], Key], model: int, at: int
) -> tuple[list[Row], dict[Key, StepRecord]]:
    """Return the rows of the steps of one series, and the steps by the point of their arrival.

    Args:
        series: Number of the series.
        log: The steps; positions count all points of the series.
        key_at: Returns order and run at a position.
        model: Number of the model that decided.
        at: Time of the decision.
    """
    rows: list[Row] = []
    records: dict[Key, StepRecord] = {}
    for step, state in zip(log.steps, log.states, strict=True):
        record = _record(step, key_at)
        key = key_at(step.at)
        records[key] = record
        moved_from = (record.from_order, record.from_run)
        change = (record.kind, record.order, record.run, *moved_from, record.probability)
        standing = (state.change, state.score, state.confirmed, state.direction)
        rows.append((series, *key, *change, *standing, model, at))
    return rows, records


def _record(step: AlarmStep, key_at: Callable[[int], Key]) -> StepRecord:
    moved_from = (None, None) if step.moved_from is None else key_at(step.moved_from)
    return StepRecord(step.kind.value, *key_at(step.index), step.probability, *moved_from)


def keys_near_end(connection: sa.Connection, series: int, count: int) -> Callable[[int], Key]:
    """Return a function from a position near the end of a series to its order and run.

    Args:
        connection: Sees all points of the series.
        series: Number of the series.
        count: Number of its points.
    """
    keys: list[Key] = []  # the newest first

    def key_at(position: int) -> Key:
        if count - position > len(keys):
            p = points.c
            query = sa.select(p.order, p.run).where(p.series == series)
            newest_first = query.order_by(p.order.desc(), p.run.desc())
            rows = connection.execute(newest_first.limit(count - position + CHUNK))
            keys[:] = [(order, run) for order, run in rows]
        return keys[count - position - 1]

    return key_at


def load_states(connection: sa.Connection, wanted: Sequence[int]) -> dict[int, AlarmState]:
    """Return the state of the second look after the last step of each series."""
    s = steps.c
    columns = (s.series, s.standing, s.score, s.confirmed, s.direction, s.probability)
    found: dict[int, AlarmState] = {}
    for first in range(0, len(wanted), CHUNK):
        chunk = s.series.in_(wanted[first : first + CHUNK])
        query = sa.select(*columns).where(chunk).order_by(s.series, s.order, s.run)
        for series, *fields in connection.execute(query):
            found[series] = AlarmState(*fields)
    return found


def rewind_steps(connection: sa.Connection, series: int, since: Key) -> AlarmState | None:
    """Delete the steps from a point on; return the state of the second look before it."""
    s = steps.c
    later = sa.tuple_(s.order, s.run) >= sa.tuple_(*since)
    connection.execute(sa.delete(steps).where(s.series == series, later))
    return load_states(connection, [series]).get(series)


def steps_of(
    connection: sa.Connection, series: int, first: int, last: int
) -> dict[Key, tuple[StepRecord, str]]:
    """Return the steps that happened from one order to another, each with its model."""
    s = steps.c
    rows = connection.execute(
        sa.select(
            *(s.order, s.run, s.kind, s.change_order, s.change_run, s.probability),
            *(s.from_order, s.from_run, models.c.version),
        )
        .join(models, models.c.id == s.model)
        .where(s.series == series, s.order >= first, s.order <= last)
    )
    return {(order, run): (StepRecord(*step), model) for order, run, *step, model in rows}


def current_states(connection: sa.Connection, series: int, first: int, last: int) -> dict[Key, str]:
    """Return the state of every change that begins, or began, from one order to another.

    `moved` is a change that begins elsewhere now; there it is `called` or `confirmed`. A change
    that another one replaces is `withdrawn`.
    """
    s = steps.c
    within = sa.or_(s.change_order.between(first, last), s.from_order.between(first, last))
    states: dict[Key, str] = {}
    for kind, order, run, from_order, from_run in connection.execute(
        sa.select(s.kind, s.change_order, s.change_run, s.from_order, s.from_run)
        .where(s.series == series, within)
        .order_by(s.order, s.run)
    ):
        states[order, run] = StepKind.CALLED.value if kind == StepKind.MOVED.value else kind
        if from_order is not None:
            replaced = kind == StepKind.CALLED.value
            states[from_order, from_run] = StepKind.WITHDRAWN.value if replaced else kind
    return {key: state for key, state in states.items() if first <= key[0] <= last}

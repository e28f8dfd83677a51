"""What a second look made certain, kept step by step: the next look goes on from the last one."""

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from barograph.detection.online import AlarmLog, AlarmState, AlarmStep, StepKind
from barograph.store.results import StepRecord
from barograph.store.rows import Insertion, Row
from barograph.store.schema import models, steps
from barograph.store.shelf import ALL
from barograph.store.tail import Key

CHUNK = 1000  # series in one question
STEP = Insertion(
    steps,
    (
        *("series", "order", "run", "kind", "change_order", "change_run", "from_order"),
        *("from_run", "probability", "standing", "alarm", "score", "confirmed", "model", "decided"),
    ),
)


class StepRows:
    """The steps of one transaction, gathered and written together."""

    def __init__(self, connection: sa.Connection, model: int, at: int) -> None:
        self._connection, self._model, self._at = connection, model, at
        self._rows: list[Row] = []

    def add(
        self, series: int, seen: AlarmLog, key_at: Callable[[int], Key]
    ) -> dict[Key, StepRecord]:
        """Take the steps of one series; return them by the point at which each happened.

        Args:
            series: its number.
            seen: places count all of its points.
            key_at: the order and run at such a place.
        """
        noted: dict[Key, StepRecord] = {}
        for step, standing in zip(seen.steps, seen.states, strict=True):
            one = _noted(step, key_at)
            key = key_at(step.at)
            noted[key] = one
            change = (one.kind, one.order, one.run, one.from_order, one.from_run, one.probability)
            self._rows.append((series, *key, *change, *standing, self._model, self._at))
        return noted

    def write(self) -> None:
        """Write them all."""
        STEP.into(self._connection, self._rows)
        self._rows = []


def _noted(step: AlarmStep, key_at: Callable[[int], Key]) -> StepRecord:
    before = (None, None) if step.moved_from is None else key_at(step.moved_from)
    return StepRecord(step.kind.value, *key_at(step.index), step.probability, *before)


def keys_behind(connection: sa.Connection, series: int, count: int) -> Callable[[int], Key]:
    """Return what tells the order and run at a place near the end of a series.

    Args:
        connection: sees all points of the series.
        series: its number.
        count: how many points it has.
    """
    known: list[Key] = []

    def key_at(place: int) -> Key:
        if count - place > len(known):
            p = ALL.c
            query = sa.select(p.order, p.run).where(p.series == series)
            falling = query.order_by(p.order.desc(), p.run.desc())
            rows = connection.execute(falling.limit(count - place + CHUNK))
            known[:] = [(order, run) for order, run in rows]
        return known[count - place - 1]

    return key_at


def standing_of(connection: sa.Connection, wanted: Sequence[int]) -> dict[int, AlarmState]:
    """Return what the last step of each series left standing."""
    s = steps.c
    columns = (s.series, s.standing, s.alarm, s.score, s.confirmed)
    found: dict[int, AlarmState] = {}
    for first in range(0, len(wanted), CHUNK):
        mine = s.series.in_(wanted[first : first + CHUNK])
        query = sa.select(*columns).where(mine).order_by(s.series, s.order, s.run)
        for series, *rest in connection.execute(query):
            found[series] = AlarmState(*rest)
    return found


def standing_before(connection: sa.Connection, series: int, since: Key) -> AlarmState | None:
    """Forget the steps from a place on; return what the last one before it left standing."""
    s = steps.c
    later = sa.tuple_(s.order, s.run) >= sa.tuple_(*since)
    connection.execute(sa.delete(steps).where(s.series == series, later))
    return standing_of(connection, [series]).get(series)


def steps_of(
    connection: sa.Connection, series: int, first: int, last: int
) -> dict[Key, tuple[StepRecord, str]]:
    """Return the steps that happened from one order to another, with the model of each."""
    s = steps.c
    rows = connection.execute(
        sa.select(
            *(s.order, s.run, s.kind, s.change_order, s.change_run, s.probability),
            *(s.from_order, s.from_run, models.c.version),
        )
        .join(models, models.c.id == s.model)
        .where(s.series == series, s.order >= first, s.order <= last)
    )
    return {(order, run): (StepRecord(*rest), model) for order, run, *rest, model in rows}


def current_states(connection: sa.Connection, series: int, first: int, last: int) -> dict[Key, str]:
    """Say what became of the changes that begin, or began, from one order to another.

    `moved` is one that stands elsewhere by now; where it stands it is `called` or `confirmed`.
    """
    s = steps.c
    here = sa.or_(s.change_order.between(first, last), s.from_order.between(first, last))
    found: dict[Key, str] = {}
    for kind, order, run, from_order, from_run in connection.execute(
        sa.select(s.kind, s.change_order, s.change_run, s.from_order, s.from_run)
        .where(s.series == series, here)
        .order_by(s.order, s.run)
    ):
        found[order, run] = StepKind.CALLED.value if kind == StepKind.MOVED.value else kind
        if from_order is not None:
            found[from_order, from_run] = kind
    return {key: kind for key, kind in found.items() if first <= key[0] <= last}

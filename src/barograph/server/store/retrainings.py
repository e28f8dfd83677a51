"""The trainings on the verdicts of the store: who started each, on what, and what came of it.

The process of a training notes every few seconds that it runs. A training counts as failed once
such notes are missing for two minutes; clocks of hosts that share a store must differ by less.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.results.series import FINAL
from barograph.runtime.errors import StoreError
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.database import count_rows
from barograph.server.store.schema import candidates, retrainings, verdicts
from barograph.server.store.store import Store

LOG = logging.getLogger("barograph.server.store")
HEARTBEAT = 15.0  # seconds between two notes that a training runs
LEASE = 120_000  # milliseconds after the last note until it counts as failed
ROLLBACK = "rollback"
RollbackRow = tuple[
    str, str, str, str | None
]  # a file, what was withdrawn, who, and what came back
RUNNING, DONE, FAILED, CANCELLED = STATES = ("running", "done", "failed", "cancelled")


class RetrainingRecord(NamedTuple):
    """One training.

    Attributes:
        id: Its number.
        who: Who started it.
        started: When, in milliseconds since 1970.
        finished: When it ended, however that was.
        state: One of STATES.
        verdicts: Number of candidates with a final verdict that it learned from.
        last_verdict: The latest entry of the verdict history that it knew.
        result: What came of it; for a failed one, `why`.
        released_by: Who released its models, or tried to.
        released: When they were released; None if they were not.
    """

    id: int
    who: str
    started: int
    finished: int | None
    state: str
    verdicts: int
    last_verdict: int
    result: dict[str, Any] | None
    released_by: str | None
    released: int | None


def begin(connection: sa.Connection, who: str) -> int:
    """Note that a training starts on the verdicts of now, and return its number."""
    timestamp = now()
    count, last = known_verdicts(connection)
    row = {
        "who": who,
        "started": timestamp,
        "alive": timestamp,
        "state": RUNNING,
        "verdicts": count,
        "last_verdict": last,
    }
    number: int = connection.execute(
        sa.insert(retrainings).returning(retrainings.c.id), row
    ).scalar_one()
    audit.note(connection, timestamp, who, "retrain", f"retraining {number}", verdicts=count)
    return number


def finish(
    connection: sa.Connection, number: int, state: str, result: dict[str, Any] | None = None
) -> None:
    """Note how a training ended."""
    connection.execute(
        sa.update(retrainings)
        .where(retrainings.c.id == number)
        .values(state=state, finished=now(), result=None if result is None else json.dumps(result))
    )


@contextmanager
def heartbeat(store: Store, number: int) -> Iterator[None]:
    """Note every few seconds that a training runs, until the end of the block."""
    query = sa.update(retrainings).where(retrainings.c.id == number)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT):
            try:
                store.write(lambda connection: connection.execute(query.values(alive=now())))
            except StoreError as error:
                LOG.warning("retraining %d could not note that it runs: %s", number, error)

    thread = threading.Thread(target=beat, name="barograph-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def releasing(
    store: Store, number: int, who: str, was_released: Callable[[Mapping[str, str]], bool]
) -> Iterator[None]:
    """Note that the models of a training are released in the block.

    If the process is killed after it has released them, `note_releases` completes the note.
    """
    unreleased = sa.update(retrainings).where(_is_unreleased(), retrainings.c.id == number)
    store.write(lambda connection: connection.execute(unreleased.values(released_by=who)))
    yield
    note_releases(store, was_released)


def note_releases(store: Store, was_released: Callable[[Mapping[str, str]], bool]) -> None:
    """Note the releases that were begun and took effect.

    Args:
        store: Store with the trainings.
        was_released: Returns whether models, by the names of their files, are or were in service.
    """
    r = retrainings.c
    begun = sa.select(r.id, r.released_by, r.result).where(_is_unreleased(), r.state == DONE)
    with store.read() as connection:
        rows = connection.execute(begun.where(r.released_by.is_not(None))).all()
    for number, who, result in rows:
        challengers = json.loads(result)["challengers"]
        if was_released(challengers):
            store.write(partial(_note_release, number=number, who=who, files=list(challengers)))


def note_rollbacks(store: Store, rollbacks: Iterable[RollbackRow]) -> None:
    """Note the rollbacks that the audit trail lacks: a process was killed, or has no store.

    Args:
        store: Store with the audit trail.
        rollbacks: All rollbacks of the registry.
    """

    def lacking(connection: sa.Connection) -> list[RollbackRow]:
        entries = audit.entries_of(connection, ROLLBACK)
        noted = {(entry.subject, entry.detail["withdrawn"]) for entry in entries}
        return [entry for entry in rollbacks if entry[:2] not in noted]

    def note(connection: sa.Connection) -> None:
        for name, withdrawn, who, champion in lacking(connection):
            facts = {"champion": champion, "withdrawn": withdrawn}
            audit.note(connection, now(), who, ROLLBACK, name, **facts)

    with store.read() as connection:
        is_complete = not lacking(connection)
    if not is_complete:
        store.write(note)


def _is_unreleased() -> sa.ColumnElement[bool]:
    return retrainings.c.released.is_(None)


def _note_release(connection: sa.Connection, number: int, who: str, files: list[str]) -> None:
    timestamp = now()
    unreleased = sa.update(retrainings).where(_is_unreleased(), retrainings.c.id == number)
    if connection.execute(unreleased.values(released=timestamp)).rowcount:
        audit.note(connection, timestamp, who, "release", f"retraining {number}", files=files)


def latest(connection: sa.Connection, state: str | None = None) -> RetrainingRecord | None:
    """Return the latest training, or the latest one with a state."""
    query = sa.select(retrainings).order_by(retrainings.c.id.desc()).limit(1)
    if state is not None:
        query = query.where(retrainings.c.state == state)
    row = connection.execute(query).first()
    return None if row is None else _record(row)


def latest_release(connection: sa.Connection) -> RetrainingRecord | None:
    """Return the training whose models were released last."""
    r = retrainings.c
    query = sa.select(retrainings).where(r.released.is_not(None)).order_by(r.released.desc())
    row = connection.execute(query.limit(1)).first()
    return None if row is None else _record(row)


def known_verdicts(connection: sa.Connection) -> tuple[int, int]:
    """Return the number of candidates with a final verdict, and the latest entry of the history."""
    count = count_rows(connection, candidates, candidates.c.verdict.in_(FINAL))
    return count, connection.scalar(sa.func.max(verdicts.c.id)) or 0


def new_verdicts(connection: sa.Connection, last_verdict: int) -> int:
    """Return how many candidates got their final verdict after an entry of the history."""
    v, c = verdicts.c, candidates.c
    query = sa.select(sa.func.count(v.candidate.distinct())).join_from(
        verdicts, candidates, v.candidate == c.id
    )
    query = query.where(v.id > last_verdict, v.verdict.in_(FINAL), c.verdict.in_(FINAL))
    return connection.scalar(query) or 0


def _record(row: sa.Row[Any]) -> RetrainingRecord:
    fields = row._asdict()
    alive = fields.pop("alive")
    result = None if fields["result"] is None else json.loads(fields["result"])
    if fields["state"] == RUNNING and now() - alive > LEASE:
        fields |= {"state": FAILED, "finished": alive}
        result = {"why": "its process ended or lost the store"}
    return RetrainingRecord(**fields | {"result": result})

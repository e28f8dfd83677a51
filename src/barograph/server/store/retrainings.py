"""The trainings on the verdicts of the store: who started each, on what, and what came of it."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.results.series import FINAL
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.database import count_rows
from barograph.server.store.schema import candidates, retrainings, verdicts

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
        released_by: Who released its models; None if nobody did.
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

    @property
    def why(self) -> str:
        """Why it failed; empty if it did not."""
        return str((self.result or {}).get("why", ""))


def begin(connection: sa.Connection, who: str) -> int:
    """Note that a training starts on the verdicts of now, and return its number."""
    timestamp = now()
    count, last = known_verdicts(connection)
    times = {"started": timestamp, "alive": timestamp}
    row = {"who": who, **times, "state": RUNNING, "verdicts": count, "last_verdict": last}
    query = sa.insert(retrainings).returning(retrainings.c.id)
    number: int = connection.execute(query, row).scalar_one()
    audit.note(connection, timestamp, who, "retrain", f"retraining {number}", verdicts=count)
    return number


def finish(
    connection: sa.Connection, number: int, state: str, result: dict[str, Any] | None = None
) -> None:
    """Note how a training ended."""
    _end(connection, retrainings.c.id == number, state, result)


def end_running(
    connection: sa.Connection,
    number: int | None = None,
    state: str = FAILED,
    why: str = "the service ended before it did",
) -> None:
    """Note that a training which seems to run has ended, or all of them: their process is gone."""
    r = retrainings.c
    match = sa.true() if number is None else r.id == number
    _end(connection, sa.and_(r.state == RUNNING, match), state, {"why": why} if why else None)


def _end(
    connection: sa.Connection,
    match: sa.ColumnElement[bool],
    state: str,
    result: dict[str, Any] | None,
) -> None:
    text = None if result is None else json.dumps(result)
    ended = sa.update(retrainings).where(match)
    connection.execute(ended.values(state=state, finished=now(), result=text))


def note_release(connection: sa.Connection, number: int, who: str, files: Sequence[str]) -> None:
    """Note that the models of a training were released."""
    timestamp = now()
    update = sa.update(retrainings).where(retrainings.c.id == number)
    connection.execute(update.values(released=timestamp, released_by=who))
    audit.note(connection, timestamp, who, "release", f"retraining {number}", files=list(files))


def latest(connection: sa.Connection, state: str | None = None) -> RetrainingRecord | None:
    """Return the latest training, or the latest one with a state."""
    query = sa.select(retrainings).order_by(retrainings.c.id.desc())
    return _first(connection, query if state is None else query.where(retrainings.c.state == state))


def latest_release(connection: sa.Connection) -> RetrainingRecord | None:
    """Return the training whose models were released last."""
    released = retrainings.c.released
    query = sa.select(retrainings).where(released.is_not(None)).order_by(released.desc())
    return _first(connection, query)


def _first(connection: sa.Connection, query: sa.Select[Any]) -> RetrainingRecord | None:
    row = connection.execute(query.limit(1)).mappings().first()
    if row is None:
        return None
    fields = {name: row[name] for name in RetrainingRecord._fields}
    fields["result"] = fields["result"] and json.loads(fields["result"])
    return RetrainingRecord(**fields)


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

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


def end_running(
    connection: sa.Connection,
    number: int | None = None,
    state: str = FAILED,
    why: str = "the service ended before it did",
) -> None:
    """Note that a training which seems to run has ended, or all of them: their process is gone."""
    result = json.dumps({"why": why}) if why else None
    running = sa.update(retrainings).where(retrainings.c.state == RUNNING)
    if number is not None:
        running = running.where(retrainings.c.id == number)
    connection.execute(running.values(state=state, finished=now(), result=result))


def note_release(connection: sa.Connection, number: int, who: str, files: Sequence[str]) -> None:
    """Note that the models of a training were released."""
    timestamp = now()
    update = sa.update(retrainings).where(retrainings.c.id == number)
    connection.execute(update.values(released=timestamp, released_by=who))
    audit.note(connection, timestamp, who, "release", f"retraining {number}", files=list(files))


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
    del fields["alive"]
    result = None if fields["result"] is None else json.loads(fields["result"])
    return RetrainingRecord(**fields | {"result": result})

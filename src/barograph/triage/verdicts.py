"""The verdicts of people on candidates: all are kept, and the latest applies."""

from typing import NamedTuple

import sqlalchemy as sa

from barograph.errors import DataError
from barograph.series import Verdict
from barograph.store import audit
from barograph.store.audit import now
from barograph.store.measurement import CONTROL
from barograph.store.schema import candidates, verdicts

NOTE = 10_000  # characters


class VerdictEntry(NamedTuple):
    """One entry in the verdict history of a candidate."""

    verdict: Verdict
    who: str
    given: int
    note: str


def record(
    connection: sa.Connection,
    candidate: int,
    verdict: Verdict,
    who: str,
    note: str = "",
    at: int | None = None,
) -> None:
    """Record a verdict on a candidate.

    Args:
        connection: The connection of a write transaction.
        candidate: The number of the candidate.
        verdict: The verdict.
        who: The name of the person.
        note: A comment.
        at: Milliseconds since 1970; now by default.

    Raises:
        DataError: The candidate does not exist, or the name or the note cannot be stored.
    """
    if not who or CONTROL.search(who):
        raise DataError(f"a verdict needs the name of the person, got {who!r:.60}")
    if len(note) > NOTE or CONTROL.search(note.translate({10: None, 13: None, 9: None})):
        raise DataError(f"note: at most {NOTE} characters, and no control characters")
    c = candidates.c
    at = now() if at is None else at
    dated = at if verdict is not Verdict.NOT_TRIAGED else None
    changed = connection.execute(
        sa.update(candidates)
        .where(c.id == candidate)
        .values(verdict=verdict.value, triaged_on=dated, present=True)
    )
    if not changed.rowcount:
        raise DataError(f"there is no candidate {candidate}")
    row = {
        "candidate": candidate,
        "verdict": verdict.value,
        "who": who,
        "given": at,
        "note": note,
    }
    connection.execute(sa.insert(verdicts), row)
    audit.note(connection, at, who, "verdict", f"candidate {candidate}", verdict=verdict.value)


def history(connection: sa.Connection, candidate: int) -> list[VerdictEntry]:
    """Return the verdict history of a candidate, the latest last."""
    v = verdicts.c
    query = sa.select(v.verdict, v.who, v.given, v.note).where(v.candidate == candidate)
    return [
        VerdictEntry(Verdict(verdict), who, at, note)
        for verdict, who, at, note in connection.execute(query.order_by(v.id))
    ]

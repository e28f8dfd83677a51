"""Write a batch of verdicts, and recognise a batch that was sent before."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.errors import DataError
from barograph.series import Verdict
from barograph.store import audit
from barograph.store.database import BulkUpdate, Insertion, Row, rows_in
from barograph.store.measurement import CONTROL
from barograph.store.schema import candidates, verdict_batches, verdicts

REQUEST = 100  # characters
ENTRY = Insertion(
    verdicts,
    (
        *("candidate", "verdict", "who", "time", "note", "reason"),
        *("version", "batch", "undoes", "probability", "model"),
    ),
)
DECIDED = BulkUpdate(candidates, ("id",), ("verdict", "triaged_on", "version"))


class Why(StrEnum):
    """Why a verdict, or its undoing, was refused for a candidate."""

    GONE = "gone"  # the candidate does not exist
    WITHDRAWN = "withdrawn"  # the latest refresh did not find it
    DECIDED = "decided"  # somebody gave a verdict since the version that the person saw
    UNDONE = "undone"  # the verdict was undone already


class SavedVerdict(NamedTuple):
    """A candidate and its version after the verdict."""

    id: int
    version: int


class RefusedVerdict(NamedTuple):
    """A candidate that kept its verdict, with the latest entry of its history.

    Attributes:
        id: The number of the candidate.
        why: The reason.
        version: Its current version; None if it does not exist.
        verdict: Its current verdict; None if it does not exist.
        who: Who gave it; None without a verdict.
        time: When; None without a verdict.
    """

    id: int
    why: Why
    version: int | None = None
    verdict: Verdict | None = None
    who: str | None = None
    time: int | None = None


class BatchResult(NamedTuple):
    """What was saved and what was refused."""

    batch: int
    saved: list[SavedVerdict]
    refused: list[RefusedVerdict]


class VerdictChange(NamedTuple):
    """A verdict to write on a candidate."""

    candidate: int
    verdict: Verdict
    triaged_on: int | None
    undoes: int | None = None


class BatchHeader(NamedTuple):
    """What all entries of a batch have in common."""

    who: str
    timestamp: int
    note: str
    reason: str
    request: str | None
    content: bytes


def earlier_result(
    connection: sa.Connection, who: str, request: str | None, content: bytes
) -> BatchResult | None:
    """Return the result of an earlier time that a request was sent."""
    if request is None:
        return None
    if not request or len(request) > REQUEST or CONTROL.search(request):
        raise DataError(f"request: 1 to {REQUEST} characters, and no control characters")
    b = verdict_batches.c
    row = connection.execute(
        sa.select(b.id, b.content, b.refused).where(b.who == who, b.request == request)
    ).first()
    if row is None:
        return None
    if bytes(row.content) != content:
        raise DataError(f"the request {request!r:.60} was used for another batch of verdicts")
    saved = sa.select(verdicts.c.candidate, verdicts.c.version).where(verdicts.c.batch == row.id)
    refused = [
        RefusedVerdict(number, Why(why), version, verdict and Verdict(verdict), *rest)
        for number, why, version, verdict, *rest in json.loads(row.refused)
    ]
    pairs = connection.execute(saved.order_by(verdicts.c.id))
    return BatchResult(row.id, [SavedVerdict(*pair) for pair in pairs], refused)


def judged_candidates(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Any]:
    """Return version, verdict, presence and score of candidates, by their numbers."""
    c = candidates.c
    query = sa.select(c.id, c.version, c.verdict, c.present, c.probability, c.model)
    return {row.id: row for row in rows_in(connection, query, c.id, numbers)}


def entries_of(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, list[Any]]:
    """Return all entries of candidates, the latest last."""
    v = verdicts.c
    query = sa.select(v.id, v.candidate, v.verdict, v.who, v.time, v.undoes).order_by(v.id)
    result: dict[int, list[Any]] = {number: [] for number in numbers}
    for row in rows_in(connection, query, v.candidate, numbers):
        result[row.candidate].append(row)
    return result


def write_batch(
    connection: sa.Connection,
    common: BatchHeader,
    changes: Sequence[VerdictChange],
    refused: Mapping[int, Why],
    known: Mapping[int, Any],
) -> BatchResult:
    """Write a batch: its entries, the candidates, and what was refused."""
    refusals = _refusals(connection, refused, known)
    row = {"who": common.who, "time": common.timestamp, "request": common.request}
    row |= {"content": common.content, "refused": json.dumps(refusals)}
    insertion = sa.insert(verdict_batches).returning(verdict_batches.c.id)
    batch = int(connection.execute(insertion, row).scalar_one())
    texts = common.who, common.timestamp, common.note, common.reason
    entries: list[Row] = []
    updates: list[Row] = []
    saved: list[SavedVerdict] = []
    for number, verdict, triaged_on, undoes in changes:
        candidate = known[number]
        version = candidate.version + 1
        scored = candidate.probability, candidate.model
        entries.append((number, verdict.value, *texts, version, batch, undoes, *scored))
        updates.append((number, verdict.value, triaged_on, version))
        saved.append(SavedVerdict(number, version))
    ENTRY.into(connection, entries)
    DECIDED.into(connection, updates)
    if changes:
        counts = Counter(change.verdict.value for change in changes)
        numbers = [change.candidate for change in changes]
        audit.note(
            *(connection, common.timestamp, common.who, "verdict", f"batch {batch}"),
            verdicts=counts,
            candidates=numbers,
        )
    return BatchResult(batch, saved, refusals)


def _refusals(
    connection: sa.Connection, refused: Mapping[int, Why], known: Mapping[int, Any]
) -> list[RefusedVerdict]:
    """Return the refusals, each with the latest entry of the candidate."""
    entries = entries_of(connection, list(refused))
    result = []
    for number, why in refused.items():
        row = known.get(number)
        if row is None:
            result.append(RefusedVerdict(number, why))
        else:
            last = entries[number][-1] if entries[number] else None
            decided = (None, None) if last is None else (last.who, last.time)
            result.append(RefusedVerdict(number, why, row.version, Verdict(row.verdict), *decided))
    return result

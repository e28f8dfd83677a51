"""The verdicts of people on candidates: all are kept, and the latest applies.

Verdicts arrive in batches, each in one transaction. An item names the version of the candidate that
the person saw. A candidate that somebody decided meanwhile is refused, and the others are saved.
Undoing a batch adds entries that restore the verdicts before it; nothing is ever erased.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.database import BulkUpdate, Insertion, Row, count_rows, rows_in
from barograph.server.store.schema import candidates, models, verdict_batches, verdicts
from barograph.server.triage.patterns import require_text

NOTE = 10_000  # characters
REASON = 200
REQUEST = 100
NAME = 2000
BREAKS = {10: None, 13: None, 9: None}  # a note may hold them
ITEMS = 5000  # candidates in one batch
ENTRY = Insertion(
    verdicts,
    (
        *("candidate", "verdict", "who", "time", "note", "reason"),
        *("version", "batch", "undoes", "probability", "model"),
    ),
)
DECIDED = BulkUpdate(candidates, ("id",), ("verdict", "triaged_on", "version"))


# A candidate, its verdict from now on, when that was given, and the entry that it undoes.
_Change = tuple[int, Verdict, int | None, int | None]


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


class VerdictEntry(NamedTuple):
    """One entry in the verdict history.

    Attributes:
        id: The number of the entry.
        candidate: The number of the candidate.
        verdict: The verdict that the entry gave, or restored.
        who: Who gave it.
        time: When.
        note: A comment.
        reason: The reason in a word or two.
        batch: The batch that the entry belongs to; None if it was imported.
        undoes: The number of the entry that this one undoes.
        probability: The probability that the candidate had then.
        model: The version of the model which that probability is from.
    """

    id: int
    candidate: int
    verdict: Verdict
    who: str
    time: int
    note: str
    reason: str
    batch: int | None
    undoes: int | None
    probability: float | None
    model: str | None


def record_batch(
    connection: sa.Connection,
    items: Iterable[tuple[int, int | None]],
    verdict: Verdict,
    who: str,
    note: str = "",
    reason: str = "",
    *,
    request: str | None = None,
    timestamp: int | None = None,
) -> BatchResult:
    """Record one verdict on some candidates.

    Args:
        connection: The connection of a write transaction.
        items: The numbers of the candidates, each with the version that the person saw; None
            replaces whatever verdict there is.
        verdict: The verdict.
        who: The name of the person.
        note: A comment.
        reason: The reason in a word or two.
        request: A text that the sender made up for this batch. If it is sent again, the result of
            the first time is returned and nothing is written.
        timestamp: Milliseconds since 1970; now by default.

    Returns:
        What was saved, and what was refused and why.

    Raises:
        DataError: There are no items or too many, a text cannot be stored, or the request was used
            for another batch.
    """
    seen = list(items)
    numbers = [number for number, _ in seen]
    if not 0 < len(numbers) <= ITEMS:
        raise DataError(f"a batch has 1 to {ITEMS} change points, got {len(numbers)}")
    if repeated := [number for number, count in Counter(numbers).items() if count > 1]:
        raise DataError(f"change point {repeated[0]} is in the batch more than once")
    require_text("note", note.translate(BREAKS), NOTE)
    require_text("reason", reason, REASON)
    timestamp = now() if timestamp is None else timestamp
    batch = _batch(who, timestamp, request, ["give", verdict.value, note, reason, seen])
    if (earlier := _earlier_result(connection, batch)) is not None:
        return earlier
    dated = timestamp if verdict is not Verdict.NOT_TRIAGED else None
    known = _judged(connection, numbers)
    changes: list[_Change] = []
    refused: dict[int, Why] = {}
    for number, version in seen:
        if (why := _refusal(known.get(number), version)) is None:
            changes.append((number, verdict, dated, None))
        else:
            refused[number] = why
    return _write(connection, batch, (note, reason), changes, refused)


def undo(
    connection: sa.Connection, batch: int, who: str, *, request: str | None = None
) -> BatchResult:
    """Restore the verdicts before a batch, except where somebody decided meanwhile.

    Args:
        connection: The connection of a write transaction.
        batch: The number of the batch.
        who: The name of the person.
        request: See `record_batch`.

    Returns:
        What was restored, and what was refused and why. It is a batch that can be undone too.

    Raises:
        DataError: There is no such batch, or the request was used for another one.
    """
    if not count_rows(connection, verdict_batches, verdict_batches.c.id == batch):
        raise NotFoundError(f"there is no batch {batch} of verdicts")
    undoing = _batch(who, now(), request, ["undo", batch])
    if (earlier := _earlier_result(connection, undoing)) is not None:
        return earlier
    return _write(connection, undoing, ("", ""), *_undone(connection, batch))


def _undone(connection: sa.Connection, batch: int) -> tuple[list[_Change], dict[int, Why]]:
    """Return the changes that undo a batch, and why some candidates keep their verdicts."""
    v = verdicts.c
    given = connection.execute(sa.select(v.id, v.candidate).where(v.batch == batch)).all()
    entries = _entries(connection, [candidate for _, candidate in given])
    changes: list[_Change] = []
    refused: dict[int, Why] = {}
    for number, candidate in given:
        history = entries[candidate]
        in_force = _in_force(history)
        if number in (history[-1].id, *(entry.id for entry in in_force[-1:])):
            restored, since = Verdict.NOT_TRIAGED, None
            for before in _in_force(history, undone=number)[-1:]:
                restored = Verdict(before.verdict)
                # A verdict that is restored has the date on which it was first given.
                since = None if restored is Verdict.NOT_TRIAGED else before.time
            changes.append((candidate, restored, since, number))
        else:
            is_undone = any(entry.undoes == number for entry in history)
            refused[candidate] = Why.UNDONE if is_undone else Why.DECIDED
    return changes, refused


def history(
    connection: sa.Connection,
    *,
    candidate: int | None = None,
    batch: int | None = None,
    who: str | None = None,
    verdict: Verdict | None = None,
    before: int | None = None,
    limit: int | None = 100,
) -> list[VerdictEntry]:
    """Return entries of the verdict history, the newest first.

    Args:
        connection: A connection from `Store.read`.
        candidate: Only entries of this candidate.
        batch: Only entries of this batch.
        who: Only entries of this person.
        verdict: Only entries with this verdict.
        before: Only entries with a smaller number: that of the last entry of the page before.
        limit: Maximum number of entries; None for all.
    """
    v = verdicts.c
    columns = [v[name] for name in VerdictEntry._fields if name != "model"]
    query = sa.select(*columns, models.c.version).outerjoin(models, models.c.id == v.model)
    filters = {"candidate": candidate, "batch": batch, "who": who, "verdict": verdict}
    for name, value in filters.items():
        if value is not None:
            query = query.where(v[name] == value)
    if before is not None:
        query = query.where(v.id < before)
    rows = connection.execute(query.order_by(v.id.desc()).limit(limit))
    return [
        VerdictEntry(number, owner, Verdict(text), *rest) for number, owner, text, *rest in rows
    ]


def _refusal(row: Any, version: int | None) -> Why | None:
    """Return why a candidate does not get a verdict, if so."""
    if row is None:
        return Why.GONE
    if version is not None and version != row.version:
        return Why.DECIDED
    is_listed = row.present or row.verdict != Verdict.NOT_TRIAGED.value
    return None if is_listed else Why.WITHDRAWN


def _in_force(entries: Sequence[Any], undone: int | None = None) -> list[Any]:
    """Return the entries of a candidate that were not undone, the one that applies last.

    Args:
        entries: All entries, the latest last.
        undone: An entry to undo after all of them.
    """
    given: dict[int, Any] = {}  # the verdict that an entry gives, takes back, or gives again
    for entry in entries:
        given[entry.id] = entry if entry.undoes is None else given[entry.undoes]
    in_force: dict[int, Any] = {}
    for number in (*given, *(() if undone is None else (undone,))):
        entry = given[number]
        if in_force.pop(entry.id, None) is None:
            in_force[entry.id] = entry
    return list(in_force.values())


def _batch(who: str, timestamp: int, request: str | None, content: list[Any]) -> dict[str, Any]:
    """Return the row of a batch, with a hash of its content."""
    require_text("name of the person", who, NAME, 1)
    if request is not None:
        require_text("request", request, REQUEST, 1)
    digest = hashlib.sha256(json.dumps(content).encode()).digest()
    return {"who": who, "time": timestamp, "request": request, "content": digest}


def _earlier_result(connection: sa.Connection, batch: Mapping[str, Any]) -> BatchResult | None:
    """Return the result of an earlier time that a request was sent."""
    b, request = verdict_batches.c, batch["request"]
    query = sa.select(b.id, b.content, b.refused).where(b.who == batch["who"], b.request == request)
    row = None if request is None else connection.execute(query).first()
    if row is None:
        return None
    if bytes(row.content) != batch["content"]:
        raise DataError(f"the request {request!r:.60} was used for another batch of verdicts")
    saved = sa.select(verdicts.c.candidate, verdicts.c.version).where(verdicts.c.batch == row.id)
    pairs = connection.execute(saved.order_by(verdicts.c.id))
    refused = msgspec.json.decode(row.refused, type=list[RefusedVerdict])
    return BatchResult(row.id, [SavedVerdict(*pair) for pair in pairs], refused)


def _judged(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Any]:
    """Return version, verdict, presence and score of candidates, by their numbers."""
    c = candidates.c
    query = sa.select(c.id, c.version, c.verdict, c.present, c.probability, c.model)
    return {row.id: row for row in rows_in(connection, query, c.id, numbers)}


def _entries(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, list[Any]]:
    """Return all entries of candidates, the latest last."""
    v = verdicts.c
    query = sa.select(v.id, v.candidate, v.verdict, v.who, v.time, v.undoes).order_by(v.id)
    result: dict[int, list[Any]] = {number: [] for number in numbers}
    for row in rows_in(connection, query, v.candidate, numbers):
        result[row.candidate].append(row)
    return result


def _write(
    connection: sa.Connection,
    batch: Mapping[str, Any],
    texts: tuple[str, str],
    changes: Sequence[_Change],
    refused: Mapping[int, Why],
) -> BatchResult:
    """Write a batch: its entries with a note and a reason, the candidates, and what was refused."""
    numbers = [candidate for candidate, *_ in changes]
    known = _judged(connection, [*numbers, *refused])
    history = _entries(connection, [*refused])
    refusals = [
        _refused(number, why, known.get(number), history[number]) for number, why in refused.items()
    ]
    who, timestamp = batch["who"], batch["time"]
    row = {**batch, "refused": json.dumps(refusals)}
    insertion = sa.insert(verdict_batches).returning(verdict_batches.c.id)
    number = int(connection.execute(insertion, row).scalar_one())
    saved = [SavedVerdict(candidate, known[candidate].version + 1) for candidate in numbers]
    entries: list[Row] = []
    updates: list[Row] = []
    for (candidate, version), (_, verdict, triaged_on, undoes) in zip(saved, changes, strict=True):
        scored = known[candidate].probability, known[candidate].model
        given = (candidate, verdict.value, who, timestamp, *texts)
        entries.append((*given, version, number, undoes, *scored))
        updates.append((candidate, verdict.value, triaged_on, version))
    ENTRY.into(connection, entries)
    DECIDED.into(connection, updates)
    if changes:
        counts = Counter(verdict.value for _, verdict, *_ in changes)
        facts = {"verdicts": counts, "candidates": numbers}
        audit.note(connection, timestamp, who, "verdict", f"batch {number}", **facts)
    return BatchResult(number, saved, refusals)


def _refused(number: int, why: Why, row: Any, entries: Sequence[Any]) -> RefusedVerdict:
    """Return why a candidate kept its verdict, with the latest entry of its history."""
    if row is None:
        return RefusedVerdict(number, why)
    given = (entries[-1].who, entries[-1].time) if entries else ()
    return RefusedVerdict(number, why, row.version, Verdict(row.verdict), *given)

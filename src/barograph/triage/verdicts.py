"""The verdicts of people on candidates: all are kept, and the latest applies.

Verdicts arrive in batches, each in one transaction. An item names the version of the candidate that
the person saw. A candidate that somebody decided meanwhile is refused, and the others are saved.
Undoing a batch adds entries that restore the verdicts before it; nothing is ever erased.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.errors import DataError
from barograph.series import Verdict
from barograph.store.audit import now
from barograph.store.measurement import CONTROL
from barograph.store.schema import models, verdict_batches, verdicts
from barograph.triage.verdict_batches import (
    BatchHeader,
    BatchResult,
    VerdictChange,
    Why,
    earlier_result,
    entries_of,
    judged_candidates,
    write_batch,
)

NOTE = 10_000  # characters
REASON = 200
ITEMS = 5000  # candidates in one batch


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
    _check_texts(who, note, reason)
    _check_numbers(numbers)
    content = _digest(["give", verdict.value, note, reason, seen])
    if (earlier := earlier_result(connection, who, request, content)) is not None:
        return earlier
    timestamp = now() if timestamp is None else timestamp
    dated = timestamp if verdict is not Verdict.NOT_TRIAGED else None
    known = judged_candidates(connection, numbers)
    refused = {
        number: why
        for number, version in seen
        if (why := _refusal(known.get(number), version)) is not None
    }
    changes = [VerdictChange(number, verdict, dated) for number in numbers if number not in refused]
    common = BatchHeader(who, timestamp, note, reason, request, content)
    return write_batch(connection, common, changes, refused, known)


def undo(
    connection: sa.Connection,
    batch: int,
    who: str,
    *,
    request: str | None = None,
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
    _check_texts(who, "", "")
    check_batch(connection, batch)
    content = _digest(["undo", batch])
    if (earlier := earlier_result(connection, who, request, content)) is not None:
        return earlier
    changes, refused = _undone(connection, batch)
    numbers = [*(change.candidate for change in changes), *refused]
    common = BatchHeader(who, now(), "", "", request, content)
    known = judged_candidates(connection, numbers)
    return write_batch(connection, common, changes, refused, known)


def _undone(connection: sa.Connection, batch: int) -> tuple[list[VerdictChange], dict[int, Why]]:
    """Return the changes that undo a batch, and why some candidates keep their verdicts."""
    v = verdicts.c
    batch_entries = connection.execute(sa.select(v.id, v.candidate).where(v.batch == batch)).all()
    entries = entries_of(connection, [candidate for _, candidate in batch_entries])
    changes: list[VerdictChange] = []
    refused: dict[int, Why] = {}
    for number, candidate in batch_entries:
        history = entries[candidate]
        in_force = _in_force(history)
        if number == history[-1].id or (in_force and number == in_force[-1].id):
            changes.append(_restored(history, number))
        else:
            is_undone = any(entry.undoes == number for entry in history)
            refused[candidate] = Why.UNDONE if is_undone else Why.DECIDED
    return changes, refused


def check_batch(connection: sa.Connection, batch: int) -> None:
    """Raise a DataError unless there is a batch with this number."""
    query = sa.select(verdict_batches.c.id).where(verdict_batches.c.id == batch)
    if connection.scalar(query) is None:
        raise DataError(f"there is no batch {batch} of verdicts")


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


def _check_numbers(numbers: Sequence[int]) -> None:
    if not 0 < len(numbers) <= ITEMS:
        raise DataError(f"a batch has 1 to {ITEMS} change points, got {len(numbers)}")
    number, count = Counter(numbers).most_common(1)[0]
    if count > 1:
        raise DataError(f"change point {number} is in the batch more than once")


def _check_texts(who: str, note: str, reason: str) -> None:
    if not who or CONTROL.search(who):
        raise DataError(f"a verdict needs the name of the person, got {who!r:.60}")
    if len(note) > NOTE or CONTROL.search(note.translate({10: None, 13: None, 9: None})):
        raise DataError(f"note: at most {NOTE} characters, and no control characters")
    if len(reason) > REASON or CONTROL.search(reason):
        raise DataError(f"reason: at most {REASON} characters, and no control characters")


def _digest(content: list[Any]) -> bytes:
    return hashlib.sha256(json.dumps(content).encode()).digest()


def _refusal(row: Any, version: int | None) -> Why | None:
    """Return why a candidate does not get a verdict, if so."""
    if row is None:
        return Why.GONE
    if version is not None and version != row.version:
        return Why.DECIDED
    is_listed = row.present or row.verdict != Verdict.NOT_TRIAGED.value
    return None if is_listed else Why.WITHDRAWN


def _restored(entries: Sequence[Any], number: int) -> VerdictChange:
    """Return the change that undoes an entry of a candidate."""
    before = _in_force(entries, undone=number)
    owner = entries[-1].candidate
    if not before or before[-1].verdict == Verdict.NOT_TRIAGED.value:
        return VerdictChange(owner, Verdict.NOT_TRIAGED, None, number)
    # A verdict that is restored has the date on which it was first given.
    return VerdictChange(owner, Verdict(before[-1].verdict), before[-1].time, number)


def _in_force(entries: Sequence[Any], undone: int | None = None) -> list[Any]:
    """Return the entries of a candidate that were not undone, the one that applies last.

    Args:
        entries: All entries, the latest last.
        undone: An entry to undo after all of them.
    """
    by_id = {entry.id: entry for entry in entries}
    stack: list[Any] = []

    def undo_entry(number: int) -> None:
        entry = by_id[number]
        if entry.undoes is None:
            stack.remove(entry)
        else:
            do_again(entry.undoes)

    def do_again(number: int) -> None:
        entry = by_id[number]
        if entry.undoes is None:
            stack.append(entry)
        else:
            undo_entry(entry.undoes)

    for entry in entries:
        do_again(entry.id)
    if undone is not None:
        undo_entry(undone)
    return stack

"""Candidates that have a verdict: who gave it, when, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.server.store.schema import candidates, series, verdicts
from barograph.server.triage.filters import QueueFilter
from barograph.server.triage.grouping import QueueEntry
from barograph.server.triage.queue import COLUMNS, entries

PAGE = 100


class ProcessedEntry(NamedTuple):
    """A candidate with its current verdict.

    Attributes:
        entry: The candidate.
        verdict: The verdict.
        who: Who gave it, "" if unknown.
        time: When, in milliseconds; None if unknown.
        reason: Why, in a word or two.
        note: Why, at length.
        scored: The probability that the candidate had then; None if unknown.
    """

    entry: QueueEntry
    verdict: Verdict
    who: str
    time: int | None
    reason: str
    note: str
    scored: float | None


class ProcessedPage(NamedTuple):
    """A page of processed candidates, and the number of all by verdict."""

    entries: list[ProcessedEntry]
    counts: dict[str, int]
    more: bool


def processed(
    connection: sa.Connection,
    queue_filter: QueueFilter | None = None,
    verdict: Verdict | None = None,
    *,
    who: str = "",
    offset: int = 0,
    limit: int = PAGE,
) -> ProcessedPage:
    """Return candidates that have a verdict, the latest first.

    Args:
        connection: From `Store.read`.
        queue_filter: A filter of labels, text, hazard and probability; its state has no effect.
        verdict: Only this verdict.
        who: Only verdicts of this person.
        offset: The number of candidates on the pages before.
        limit: The maximum number of candidates.
    """
    queue_filter, query = queue_filter or QueueFilter(), _query(verdict, who)
    shown: list[ProcessedEntry] = []
    skipped = 0
    # Rows are read until the page is full: a text filter needs the printed names.
    for part in connection.execute(query.execution_options(yield_per=500)).partitions():
        for row, entry in zip(part, entries(connection, part), strict=True):
            if not queue_filter.lets_through(entry):
                continue
            skipped += 1
            if skipped <= offset:
                continue
            if len(shown) == limit:
                return ProcessedPage(shown, _counts(connection), more=True)
            person, time, reason, note, scored = row[len(COLUMNS) :]
            facts = Verdict(entry.verdict), person or "", time, reason or "", note or "", scored
            shown.append(ProcessedEntry(entry, *facts))
    return ProcessedPage(shown, _counts(connection), more=False)


def _query(verdict: Verdict | None, who: str) -> sa.Select[Any]:
    """Return the query for candidates with a verdict, each with its latest entry."""
    c, v = candidates.c, verdicts.alias().c
    latest = sa.select(sa.func.max(verdicts.c.id)).where(verdicts.c.candidate == c.id)
    query = (
        sa.select(*COLUMNS, v.who, sa.func.coalesce(v.time, c.triaged_on), v.reason, v.note)
        .add_columns(v.probability)
        .join(series, series.c.id == c.series)
        .outerjoin(v.id.table, v.id == latest.correlate(candidates).scalar_subquery())
        .where(c.verdict != Verdict.NOT_TRIAGED.value)
        .order_by(sa.func.coalesce(c.triaged_on, 0).desc(), c.id.desc())
    )
    if verdict is not None:
        query = query.where(c.verdict == verdict.value)
    return query.where(v.who == who) if who else query


def _counts(connection: sa.Connection) -> dict[str, int]:
    c = candidates.c
    query = sa.select(c.verdict, sa.func.count()).group_by(c.verdict)
    return dict(tuple(row) for row in connection.execute(query))

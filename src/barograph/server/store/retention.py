"""Retention by age: delete the oldest results of series that nothing depends on any more.

A series with a verdict or a ticket keeps all its results: features compare a candidate with its
whole series. Of every other series that is still measured the newest results stay, because the
next decision reads them. Verdicts are never deleted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial

import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import audit
from barograph.server.store.candidate_records import mark_stale
from barograph.server.store.database import chunks
from barograph.server.store.schema import (
    candidates,
    moves,
    points,
    revisions,
    series,
    steps,
    ticketed,
    verdicts,
)
from barograph.server.store.store import Store

NEWEST = 500  # results of a series that are kept for the next decision
DAY = 86_400_000  # milliseconds
LONGEST = 1_000_000  # days
CHUNK = 100  # series in one transaction, so that results are not kept waiting


@dataclass(frozen=True)
class PruneResult:
    """What was deleted, or would be.

    Attributes:
        series: Number of series that lose results.
        points: Number of results.
        candidates: Number of candidates, none of which has a verdict.
        kept: Number of series that keep old results because they have verdicts or tickets.
    """

    series: int = 0
    points: int = 0
    candidates: int = 0
    kept: int = 0


def prune(
    store: Store,
    older_than: float,
    who: str,
    *,
    dry_run: bool = False,
    timestamp: int | None = None,
) -> PruneResult:
    """Delete results that were measured, or received if that is unknown, before a number of days.

    Args:
        store: The store.
        older_than: Age in days.
        who: Name for the audit trail.
        dry_run: Whether only to count.
        timestamp: Milliseconds since 1970; now by default.

    Raises:
        DataError: The age is not positive.
    """
    if not 0 < older_than < LONGEST:
        raise DataError(f"older than {older_than:g} days: must be above 0 and below {LONGEST:,}")
    limit = (audit.now() if timestamp is None else timestamp) - int(older_than * DAY)

    p = points.c
    old = sa.select(p.series).where(sa.func.coalesce(p.time, p.received) < limit).distinct()
    with store.read() as connection:
        numbers = sorted(connection.scalars(old))

    def work(connection: sa.Connection, part: list[int]) -> Counter[str]:
        attempt = connection.begin_nested()
        counts = _prune(connection, part, limit)
        if dry_run:
            attempt.rollback()
        elif counts["series"]:
            about, facts = f"older than {older_than:g} days", asdict(PruneResult(**counts))
            audit.note(connection, audit.now(), who, "prune", about, **facts)
        return counts

    total = Counter[str]()
    for part in chunks(numbers, CHUNK):
        total.update(store.write(partial(work, part=part)))
    return PruneResult(**total)


def _prune(connection: sa.Connection, numbers: list[int], limit: int) -> Counter[str]:
    """Prune some series; return the counts of a `PruneResult`."""
    protected = _protected(connection, numbers)
    s = series.c
    counts = Counter[str]()
    for number, retired in connection.execute(
        sa.select(s.id, s.retired).where(s.id.in_(numbers))
    ).all():
        cut = _cut(connection, number, limit, 0 if retired is not None else NEWEST)
        if cut is None:
            continue
        if number in protected:
            counts["kept"] += 1
            continue
        counts["series"] += 1
        counts.update(_delete(connection, number, cut))
    return counts


def _protected(connection: sa.Connection, numbers: list[int]) -> set[int]:
    """Return those of some series that have a verdict or a ticket, undone or closed ones too."""
    c = candidates.c
    of_series = sa.select(c.series).where(c.series.in_(numbers))
    queries = [of_series.join(table, table.c.candidate == c.id) for table in (verdicts, ticketed)]
    queries.append(of_series.where(c.verdict != Verdict.NOT_TRIAGED.value))
    return {number for query in queries for number in connection.scalars(query)}


def _cut(connection: sa.Connection, number: int, limit: int, newest: int) -> int | None:
    """Return the order before which a series loses its results; None if it loses none."""
    p = points.c
    measured = sa.func.coalesce(p.time, p.received)
    recent = sa.select(sa.func.min(p.order)).where(p.series == number, measured >= limit)
    first_recent = connection.scalar(recent)
    orders = sa.select(p.order).where(p.series == number, p.settled.is_not(None))
    newest_first = orders.order_by(p.order.desc())
    last = connection.scalar(newest_first.limit(1))
    if last is None:
        return None
    cut = last + 1 if first_recent is None else int(first_recent)
    if newest:
        kept = connection.scalar(newest_first.offset(newest - 1).limit(1))
        if kept is None:
            return None
        cut = min(cut, int(kept))
    first = connection.scalar(orders.order_by(p.order).limit(1))
    return cut if first is not None and first < cut else None


def _delete(connection: sa.Connection, number: int, cut: int) -> dict[str, int]:
    """Delete the results of a series before an order, and what refers only to them; count them."""
    c, s = candidates.c, steps.c
    # The first result that is left is no change point: nothing is before it.
    gone = sa.select(c.id).where(c.series == number, c.order <= cut)
    connection.execute(sa.delete(moves).where(moves.c.candidate.in_(gone)))
    lost = connection.execute(sa.delete(candidates).where(c.id.in_(gone))).rowcount
    for table in (revisions, steps):
        connection.execute(sa.delete(table).where(table.c.series == number, table.c.order < cut))
    old = points.c.series == number, points.c.order < cut
    removed = connection.execute(sa.delete(points).where(*old)).rowcount
    ended = sa.update(steps).where(s.series == number, s.change_order <= cut)
    connection.execute(ended.values(standing=None))
    mark_stale(connection, [number])
    return {"points": removed, "candidates": lost}

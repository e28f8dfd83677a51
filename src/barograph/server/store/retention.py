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
    is_recent = sa.func.coalesce(p.time, p.received) >= limit
    with store.read() as connection:
        numbers = sorted(connection.scalars(sa.select(p.series).where(~is_recent).distinct()))

    def work(connection: sa.Connection, part: list[int]) -> Counter[str]:
        attempt = connection.begin_nested()
        counts: Counter[str] = Counter()
        protected = _protected(connection, part)
        for number, cut in _cuts(connection, part, is_recent).items():
            if number in protected:
                counts["kept"] += 1
            else:
                counts.update(_delete(connection, number, cut))
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


def _protected(connection: sa.Connection, numbers: list[int]) -> set[int]:
    """Return those of some series that have a verdict or a ticket, undone or closed ones too."""
    c = candidates.c
    about = sa.union(sa.select(verdicts.c.candidate), sa.select(ticketed.c.candidate))
    is_kept = sa.or_(c.verdict != Verdict.NOT_TRIAGED.value, c.id.in_(about))
    return set(connection.scalars(sa.select(c.series).where(c.series.in_(numbers), is_kept)))


def _cuts(
    connection: sa.Connection, numbers: list[int], is_recent: sa.ColumnElement[bool]
) -> dict[int, int]:
    """Return the order before which each series loses its results, if it loses any."""
    p = points.c
    columns = p.order, sa.func.max(sa.case((is_recent, 1), else_=0))
    cuts: dict[int, int] = {}
    for number, retired in connection.execute(
        sa.select(series.c.id, series.c.retired).where(series.c.id.in_(numbers))
    ).all():
        of_series = sa.select(*columns).where(p.series == number).group_by(p.order)
        commits = connection.execute(of_series.order_by(p.order)).all()
        stay = 0 if retired is not None else NEWEST
        old = [k for k, (_, recent) in enumerate(commits) if recent][:1] or [len(commits)]
        count = min(old[0], len(commits) - stay)
        if count > 0:
            cuts[number] = commits[count][0] if count < len(commits) else commits[-1][0] + 1
    return cuts


def _delete(connection: sa.Connection, number: int, cut: int) -> dict[str, int]:
    """Delete the results of a series before an order, and what refers only to them; count them."""
    c, s = candidates.c, steps.c
    # The first result that is left is no change point: nothing is before it.
    gone = sa.select(c.id).where(c.series == number, c.order <= cut)
    connection.execute(sa.delete(moves).where(moves.c.candidate.in_(gone)))
    lost = connection.execute(sa.delete(candidates).where(c.id.in_(gone))).rowcount
    removed = 0
    for table in (revisions, steps, points):
        old = table.c.series == number, table.c.order < cut
        removed = connection.execute(sa.delete(table).where(*old)).rowcount
    ended = sa.update(steps).where(s.series == number, s.change_order <= cut)
    connection.execute(ended.values(standing=None))
    mark_stale(connection, [number])
    return {"series": 1, "points": removed, "candidates": lost}

"""The audit trail: who did what, and when."""

import json
import time
from typing import NamedTuple

import sqlalchemy as sa

from barograph.server.store.database import Insertion
from barograph.server.store.schema import audit

DETAIL = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
ENTRY = Insertion(audit, ("time", "who", "action", "subject", "detail"))


class AuditEntry(NamedTuple):
    """One entry of the trail."""

    id: int
    time: int
    who: str
    action: str
    subject: str
    detail: dict[str, object]


def now() -> int:
    """Return the current time in milliseconds since 1970 (UTC)."""
    return time.time_ns() // 1_000_000


def note(
    connection: sa.Connection, timestamp: int, who: str, action: str, subject: str, **detail: object
) -> None:
    """Add an entry, in the same transaction as the change itself."""
    ENTRY.into(connection, [(timestamp, who, action, subject, DETAIL.encode(detail))])


def trail(
    connection: sa.Connection, limit: int = 100, before: int | None = None
) -> list[AuditEntry]:
    """Return the newest entries first.

    Args:
        connection: From `Store.read`.
        limit: Maximum number of entries.
        before: Only entries with a smaller id: that of the last entry of the page before.
    """
    query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    return [
        AuditEntry(**{**row._asdict(), "detail": json.loads(row.detail)})
        for row in connection.execute(query)
    ]

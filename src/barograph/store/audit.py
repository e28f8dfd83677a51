"""Who did what, and when."""

import json
from typing import NamedTuple

import sqlalchemy as sa

from barograph.store.rows import Insertion
from barograph.store.schema import audit

ENTRY = Insertion(audit, ("at", "who", "action", "subject", "detail"))


class Act(NamedTuple):
    """One entry of the trail."""

    id: int
    at: int
    who: str
    action: str
    subject: str
    detail: dict[str, object]


def note(
    connection: sa.Connection, at: int, who: str, action: str, subject: str, **detail: object
) -> None:
    """Add an entry, in the transaction of what it tells of."""
    text = json.dumps(detail, ensure_ascii=False, sort_keys=True)
    ENTRY.into(connection, [(at, who, action, subject, text)])


def trail(connection: sa.Connection, limit: int = 100, before: int | None = None) -> list[Act]:
    """Return the newest entries first; `before` is the id of the last one of the page before."""
    columns = audit.c
    query = sa.select(audit).order_by(columns.id.desc()).limit(limit)
    if before is not None:
        query = query.where(columns.id < before)
    return [
        Act(number, at, who, action, subject, json.loads(detail))
        for number, at, who, action, subject, detail in connection.execute(query)
    ]

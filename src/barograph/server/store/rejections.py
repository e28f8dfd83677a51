"""How many results were rejected, by day and kind of reason."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import sqlalchemy as sa

from barograph.server.store.audit import now
from barograph.server.store.database import Insertion
from barograph.server.store.schema import rejections

DAY = 86_400_000  # milliseconds
KINDS = 100  # reasons of one day; more are counted as OTHER
OTHER = "other reasons"
LENGTH = 160  # characters
VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|(?<=unknown )field `[^`]*`|-?\d[\d.,e+-]*")
COUNTED = Insertion(
    rejections,
    ("day", "reason", "count", "example", "last"),
    replace=("count", "example", "last"),
)


class Rejection(NamedTuple):
    """A kind of reason, how often it occurred, an example, and when it occurred last."""

    reason: str
    results: int
    example: str
    last: int


def kind_of(reason: str) -> str:
    """Return a reason without the values in it, so that equal faults are counted together.

    Example:
        >>> kind_of("commit: order 5 of this series is 'abc'")
        'commit: order … of this series is …'
    """
    return VARIABLE.sub("…", reason)[:LENGTH]


def note(
    connection: sa.Connection, reasons: Mapping[str, int], timestamp: int | None = None
) -> None:
    """Add counts to those of the day.

    Args:
        connection: The connection of a write transaction.
        reasons: How many results were rejected, by reason.
        timestamp: Milliseconds since 1970; now by default.
    """
    timestamp = now() if timestamp is None else timestamp
    day = timestamp - timestamp % DAY
    r = rejections.c
    stored = sa.select(r.reason, r.count).where(r.day == day)
    known: dict[str, int] = dict(connection.execute(stored).all())
    added: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for reason, count in reasons.items():
        kind = kind_of(reason)
        kinds = known.keys() | added.keys()
        if kind not in kinds and len(kinds) >= KINDS:
            kind = OTHER
        added[kind] += count
        examples[kind] = reason[: 2 * LENGTH]
    rows = [
        (day, kind, known.get(kind, 0) + count, examples[kind], timestamp)
        for kind, count in added.items()
    ]
    COUNTED.into(connection, list(rows))


def recent(connection: sa.Connection, since: int) -> list[Rejection]:
    """Return the reasons of all days since a time, the most frequent first."""
    r = rejections.c
    query = (
        sa.select(r.reason, sa.func.sum(r.count), sa.func.max(r.example), sa.func.max(r.last))
        .where(r.day >= since - since % DAY)
        .group_by(r.reason)
        .order_by(sa.func.sum(r.count).desc(), r.reason)
    )
    return [
        Rejection(reason, int(count), example, last)
        for reason, count, example, last in connection.execute(query)
    ]

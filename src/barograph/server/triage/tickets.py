"""Tickets about candidates."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import sqlalchemy as sa

from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.commit_details import url_fault
from barograph.server.store.database import Insertion
from barograph.server.store.schema import candidates, ticketed, tickets
from barograph.server.triage.patterns import require_text

LINK = Insertion(ticketed, ("ticket", "candidate"), keep=True)
OPEN, CLOSED = "open", "closed"
LONGEST = 2000  # characters of a text


class Ticket(NamedTuple):
    """A ticket in an issue tracker."""

    id: int
    key: str
    url: str
    title: str
    status: str
    opened: int
    candidates: tuple[int, ...]


def file(
    connection: sa.Connection, key: str, url: str, title: str, about: Iterable[int], who: str
) -> int:
    """Record a ticket about some candidates, or add them to a ticket with the same key.

    Args:
        connection: The connection of a write transaction.
        key: The key of the ticket in its tracker.
        url: Where the ticket can be read.
        title: The title of the ticket.
        about: The numbers of the candidates.
        who: Who files the ticket.

    Returns:
        The number of the ticket in the store.

    Raises:
        DataError: A candidate does not exist, or a text cannot be stored.
    """
    numbers, c = sorted(set(about)), candidates.c
    known = set(connection.scalars(sa.select(c.id).where(c.id.in_(numbers))))
    if missing := [candidate for candidate in numbers if candidate not in known]:
        raise DataError(f"there is no candidate {missing[0]}")
    for name, text in (("key", key), ("url", url), ("title", title)):
        require_text(name, text, LONGEST)
    if reason := url_fault(url):
        raise DataError(reason)
    number: int | None = connection.scalar(sa.select(tickets.c.id).where(tickets.c.key == key))
    timestamp = now()
    if number is None:
        row = {"key": key, "url": url, "title": title, "status": OPEN, "opened": timestamp}
        insertion = sa.insert(tickets).returning(tickets.c.id)
        number = int(connection.execute(insertion, row).scalar_one())
    LINK.into(connection, [(number, candidate) for candidate in numbers])
    audit.note(connection, timestamp, who, "ticket", key, candidates=numbers)
    return number


def close(connection: sa.Connection, key: str, who: str) -> None:
    """Close the ticket with a key."""
    update = sa.update(tickets).where(tickets.c.key == key).values(status=CLOSED)
    if not connection.execute(update).rowcount:
        raise DataError(f"there is no ticket {key!r}")
    audit.note(connection, now(), who, "ticket closed", key)


def find(
    connection: sa.Connection,
    *,
    about: Sequence[int] | None = None,
    status: str | None = None,
    after: int = 0,
    limit: int | None = 100,
) -> list[Ticket]:
    """Return tickets by ascending number.

    Args:
        connection: A connection from `Store.read`.
        about: Only tickets about any of these candidates.
        status: `open` or `closed`; both by default.
        after: The number of the last ticket of the previous page.
        limit: Maximum number of tickets; None for all.
    """
    t, link = tickets.c, ticketed.c
    page = sa.select(t.id).where(t.id > after).order_by(t.id).limit(limit)
    if about is not None:
        page = page.where(t.id.in_(sa.select(link.ticket).where(link.candidate.in_(about))))
    if status is not None:
        page = page.where(t.status == status)
    query = (
        sa.select(*tickets.c, link.candidate)
        .outerjoin(ticketed, link.ticket == t.id)
        .where(t.id.in_(page))
        .order_by(t.id, link.candidate)
    )
    rows = groupby(connection.execute(query), key=lambda row: tuple(row[:-1]))
    return [
        Ticket._make((*facts, tuple(row[-1] for row in of_one if row[-1] is not None)))
        for facts, of_one in rows
    ]


def get(connection: sa.Connection, number: int) -> Ticket:
    """Return a ticket by its number in the store."""
    for ticket in find(connection, after=number - 1, limit=1):
        if ticket.id == number:
            return ticket
    raise NotFoundError(f"there is no ticket {number}")

"""Tickets about candidates."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.commit_details import url_fault
from barograph.server.store.database import Insertion, chunks
from barograph.server.store.schema import candidates, ticketed, tickets

LINK = Insertion(ticketed, ("ticket", "candidate"), keep=True)
STATUSES = ("open", "closed")


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
    numbers = sorted(set(about))
    c = candidates.c
    known = set(connection.scalars(sa.select(c.id).where(c.id.in_(numbers))))
    if missing := [candidate for candidate in numbers if candidate not in known]:
        raise DataError(f"there is no candidate {missing[0]}")
    for name, text in (("key", key), ("url", url), ("title", title)):
        if CONTROL.search(text) or len(text) > 2000:
            raise DataError(f"{name}: at most 2000 characters, none of them a control character")
    if reason := url_fault(url):
        raise DataError(reason)
    number: int | None = connection.scalar(sa.select(tickets.c.id).where(tickets.c.key == key))
    timestamp = now()
    if number is None:
        row = {"key": key, "url": url, "title": title, "status": STATUSES[0], "opened": timestamp}
        insertion = sa.insert(tickets).returning(tickets.c.id)
        number = int(connection.execute(insertion, row).scalar_one())
    LINK.into(connection, [(number, candidate) for candidate in numbers])
    audit.note(connection, timestamp, who, "ticket", key, candidates=numbers)
    return number


def close(connection: sa.Connection, key: str, who: str) -> None:
    """Close the ticket with a key."""
    update = sa.update(tickets).where(tickets.c.key == key).values(status=STATUSES[1])
    if not connection.execute(update).rowcount:
        raise DataError(f"there is no ticket {key!r}")
    audit.note(connection, now(), who, "ticket closed", key)


def find(
    connection: sa.Connection,
    *,
    candidate: int | None = None,
    status: str | None = None,
    after: int = 0,
    limit: int = 100,
) -> list[Ticket]:
    """Return tickets by ascending number.

    Args:
        connection: A connection from `Store.read`.
        candidate: Only tickets about this candidate.
        status: `open` or `closed`; both by default.
        after: The number of the last ticket of the previous page.
        limit: Maximum number of tickets.
    """
    query = sa.select(tickets).where(tickets.c.id > after)
    if candidate is not None:
        about = sa.select(ticketed.c.ticket).where(ticketed.c.candidate == candidate)
        query = query.where(tickets.c.id.in_(about))
    if status is not None:
        query = query.where(tickets.c.status == status)
    return _linked(connection, query.order_by(tickets.c.id).limit(limit))


def about_candidates(connection: sa.Connection, numbers: Sequence[int]) -> list[Ticket]:
    """Return the tickets about any of some candidates."""
    t, link = tickets.c, ticketed.c
    by_number: dict[int, Ticket] = {}
    for part in chunks(numbers):
        about = sa.select(link.ticket).where(link.candidate.in_(part))
        query = sa.select(tickets).where(t.id.in_(about)).order_by(t.id)
        by_number.update((ticket.id, ticket) for ticket in _linked(connection, query))
    return [by_number[number] for number in sorted(by_number)]


def get(connection: sa.Connection, number: int) -> Ticket:
    """Return a ticket by its number in the store."""
    rows = _linked(connection, sa.select(tickets).where(tickets.c.id == number))
    if not rows:
        raise NotFoundError(f"there is no ticket {number}")
    return rows[0]


def _linked(connection: sa.Connection, query: sa.Select[Any]) -> list[Ticket]:
    rows = connection.execute(query).all()
    links: dict[int, list[int]] = {row.id: [] for row in rows}
    pairs = sa.select(ticketed).where(ticketed.c.ticket.in_(list(links)))
    ordered = pairs.order_by(ticketed.c.ticket, ticketed.c.candidate)
    for number, candidate in connection.execute(ordered):
        links[number].append(candidate)
    return [
        Ticket(row.id, row.key, row.url, row.title, row.status, row.opened, tuple(links[row.id]))
        for row in rows
    ]

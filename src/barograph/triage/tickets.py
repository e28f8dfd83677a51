"""Tickets, and the candidates that they are about."""

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from barograph.errors import DataError
from barograph.triage import audit
from barograph.triage.clock import now
from barograph.triage.insertion import Insertion
from barograph.triage.measurement import CONTROL
from barograph.triage.schema import candidates, ticketed, tickets

LINK = Insertion(ticketed, ("ticket", "candidate"), keep=True)
STATUSES = ("open", "closed")


class Ticket(NamedTuple):
    """A ticket, wherever it is kept."""

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
    """Note a ticket about some candidates; one that is known gets them added."""
    wanted = sorted(set(about))
    c = candidates.c
    known = set(connection.scalars(sa.select(c.id).where(c.id.in_(wanted))))
    if missing := [one for one in wanted if one not in known]:
        raise DataError(f"there is no candidate {missing[0]}")
    for name, text in (("key", key), ("url", url), ("title", title)):
        if CONTROL.search(text) or len(text) > 2000:
            raise DataError(f"{name}: at most 2000 characters, none of them a control character")
    number: int | None = connection.scalar(sa.select(tickets.c.id).where(tickets.c.key == key))
    at = now()
    if number is None:
        row = {"key": key, "url": url, "title": title, "status": STATUSES[0], "opened": at}
        connection.execute(sa.insert(tickets), row)
        number = connection.scalar(sa.select(tickets.c.id).where(tickets.c.key == key))
    assert number is not None  # noqa: S101 - the database gave it
    LINK.into(connection, [(number, one) for one in wanted])
    audit.note(connection, at, who, "ticket", key, candidates=wanted)
    return number


def close(connection: sa.Connection, key: str, who: str) -> None:
    """Note that a ticket is closed."""
    mine = sa.update(tickets).where(tickets.c.key == key).values(status=STATUSES[1])
    if not connection.execute(mine).rowcount:
        raise DataError(f"there is no ticket {key!r}")
    audit.note(connection, now(), who, "ticket closed", key)


def every(connection: sa.Connection) -> list[Ticket]:
    """Return all tickets, the newest first."""
    links: dict[int, list[int]] = {}
    pairs = sa.select(ticketed).order_by(ticketed.c.ticket, ticketed.c.candidate)
    for number, candidate in connection.execute(pairs):
        links.setdefault(number, []).append(candidate)
    query = sa.select(tickets).order_by(tickets.c.id.desc())
    return [
        Ticket(row.id, row.key, row.url, row.title, row.status, row.opened, tuple(links[row.id]))
        if row.id in links
        else Ticket(row.id, row.key, row.url, row.title, row.status, row.opened, ())
        for row in connection.execute(query)
    ]

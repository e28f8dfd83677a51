"""Filters of the queue that people save by name."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store import audit
from barograph.server.store.schema import saved_filters

LONGEST_NAME, LONGEST_QUERY = 100, 4000  # characters
MOST = 200


class SavedFilter(NamedTuple):
    """A filter of the queue with a name; the query is that of the address of the queue."""

    name: str
    query: str
    who: str
    saved: int


def every_filter(connection: sa.Connection) -> list[SavedFilter]:
    """Return all saved filters by name."""
    query = sa.select(saved_filters).order_by(saved_filters.c.name)
    return [SavedFilter(*row) for row in connection.execute(query)]


def get_filter(connection: sa.Connection, name: str) -> SavedFilter:
    """Return a saved filter.

    Raises:
        NotFoundError: There is none of this name.
    """
    for saved in every_filter(connection):
        if saved.name == name:
            return saved
    raise NotFoundError(f"there is no saved filter {name!r:.60}")


def save_filter(connection: sa.Connection, name: str, query: str, who: str) -> SavedFilter:
    """Save a filter; one of the same name is replaced.

    Raises:
        DataError: The name or the query is too long, or there are too many filters.
    """
    _check_name(name)
    if len(query) > LONGEST_QUERY or CONTROL.search(query):
        raise DataError(f"query of a filter: at most {LONGEST_QUERY} characters")
    known = {saved.name for saved in every_filter(connection)}
    if name not in known and len(known) >= MOST:
        raise DataError(f"{len(known)} filters are saved already; allowed: {MOST}")
    saved = SavedFilter(name, query, who, audit.now())
    connection.execute(sa.delete(saved_filters).where(saved_filters.c.name == name))
    connection.execute(sa.insert(saved_filters), saved._asdict())
    audit.note(connection, saved.saved, who, "save filter", name, query=query)
    return saved


def rename_filter(connection: sa.Connection, name: str, new_name: str, who: str) -> SavedFilter:
    """Rename a saved filter.

    Raises:
        DataError: There is none of this name, or the new name is too long or taken.
    """
    _check_name(new_name)
    renamed = get_filter(connection, name)._replace(name=new_name)
    if new_name in {saved.name for saved in every_filter(connection)}:
        raise DataError(f"there is a saved filter {new_name!r:.60} already")
    of_name = saved_filters.c.name == name
    connection.execute(sa.update(saved_filters).where(of_name).values(name=new_name))
    audit.note(connection, audit.now(), who, "rename filter", name, to=new_name)
    return renamed


def delete_filter(connection: sa.Connection, name: str, who: str) -> None:
    """Delete a saved filter.

    Raises:
        NotFoundError: There is none of this name.
    """
    get_filter(connection, name)
    connection.execute(sa.delete(saved_filters).where(saved_filters.c.name == name))
    audit.note(connection, audit.now(), who, "delete filter", name)


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or CONTROL.search(name):
        raise DataError(f"name of a filter: 1 to {LONGEST_NAME} characters, got {name!r:.60}")

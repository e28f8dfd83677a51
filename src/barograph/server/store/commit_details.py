"""Subjects, authors, addresses and parents of commits, as the senders of results describe them."""

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError
from barograph.server.store.database import Insertion, rows_in
from barograph.server.store.measurement import Limits
from barograph.server.store.schema import commit_details

LONGEST = {"project": Limits().label, "commit": Limits().label}
LONGEST |= {"subject": 500, "author": 200, "url": 2000, "parent": Limits().label}  # characters
SCHEMES = ("https://", "http://")


class CommitDetails(NamedTuple):
    """What people know a commit by.

    Attributes:
        project: Its project.
        commit: Its name, as the results have it.
        subject: The first line of its message, "" if unknown.
        author: Who wrote it, "" if unknown.
        url: Where it can be read, "" if unknown.
        parent: The name of the commit before it, "" if unknown; of a merge, the last commit that
            it merged.
    """

    project: str
    commit: str
    subject: str = ""
    author: str = ""
    url: str = ""
    parent: str = ""


KEY, PARENT = 2, 5  # the number of columns of the key, and the place of the parent
FIELDS = CommitDetails._fields


def described(
    project: str, commit: str, subject: str, author: str, parent: str = ""
) -> CommitDetails:
    """Return details from a log of commits, cut and cleaned so that they can be saved.

    Example:
        >>> described("db", "3f9a1c7", "Fix locks" + 500 * ".", "").subject[:12]
        'Fix locks...'
    """
    texts = {"subject": subject, "author": author}
    kept = {name: CONTROL.sub(" ", text)[: LONGEST[name]] for name, text in texts.items()}
    return CommitDetails(project, commit, **kept, parent=parent)


def save(connection: sa.Connection, details: Iterable[CommitDetails]) -> int:
    """Save the details of commits, replacing those that are stored; return the number of commits.

    An unknown parent does not replace a known one.

    Raises:
        DataError: A text is too long, holds control characters, or is no web address.
    """
    rows: dict[tuple[str, ...], CommitDetails] = {}
    for number, commit in enumerate(details):
        if reason := _fault(commit):
            raise DataError(f"commits.{number}.{reason}")
        rows[commit[:KEY]] = commit
    for has_parent, replaced in ((True, FIELDS[KEY:]), (False, FIELDS[KEY:PARENT])):
        insertion = Insertion(commit_details, FIELDS, replace=replaced)
        insertion.into(connection, [c for c in rows.values() if bool(c.parent) == has_parent])
    return len(rows)


def find(connection: sa.Connection, project: str, names: Iterable[str]) -> dict[str, CommitDetails]:
    """Return the details of commits of a project by name; those of unknown ones are empty."""
    d, ordered = commit_details.c, sorted(set(names))
    query = sa.select(commit_details).where(d.project == project)
    known = {row.commit: row for row in rows_in(connection, query, d.commit, ordered)}
    return {name: CommitDetails(*known.get(name, (project, name))) for name in ordered}


def _fault(details: CommitDetails) -> str:
    """Return why the details of a commit cannot be saved, or an empty text."""
    if not details.commit:
        return "commit: missing"
    for name, text in details._asdict().items():
        if len(text) > LONGEST[name]:
            return f"{name}: {len(text)} characters, allowed are {LONGEST[name]}"
        if CONTROL.search(text):
            return f"{name}: holds a control character"
    return url_fault(details.url)


def url_fault(url: str) -> str:
    """Return why an address is refused: a page could run what other schemes hold."""
    if not url or url.startswith(SCHEMES):
        return ""
    return f"url: {url!r:.60} does not begin with {' or '.join(SCHEMES)}"

"""What the queue shows: the filter that the page and the API hold, and those that people save."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.series import LABELS, Verdict
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store import audit
from barograph.server.store.schema import saved_filters
from barograph.server.triage.grouping import SORTS, QueueEntry
from barograph.server.triage.patterns import KINDS, require_text

DAY = 86_400_000
LONGEST_NAME, LONGEST_QUERY = 100, 4000  # characters of a saved filter
MOST = 200  # saved filters
# The verdict of each state, and whether the latest run found the candidate; None for either.
STATES = {
    "open": (Verdict.NOT_TRIAGED.value, True),
    "investigation": (Verdict.UNDER_INVESTIGATION.value, None),
    "unsure": (Verdict.UNSURE.value, None),
    "withdrawn": (Verdict.NOT_TRIAGED.value, False),
    "any": (None, None),
}
EFFECTS = {
    "worse": ("worse",),
    "better": ("better",),
    "unknown": ("rose", "fell", "changed", "trend"),
}


@dataclass(frozen=True)
class QueueFilter:
    """What the queue shows, and in which order.

    Labels and `args` are compared as they are, or as globs if they hold "*", "?" or "[".

    Attributes:
        project, variant, task, test, measurement: Labels of the series.
        args: An argument of the series, such as "thread_level=8", or its value alone.
        q: Words that the name of the series or the commit must hold.
        effect: "worse", "better", "unknown", or "" for all.
        hazard: The smallest magnitude of the hazard.
        probability: The smallest probability.
        since: The day, or the number of days ("7d"), since when candidates were found.
        until: The last day on which candidates were found.
        state: One of `STATES`.
        show: Kinds of series that are hidden otherwise.
        ids: Numbers of candidates: only these.
        sort: A column to sort by; "-" in front reverses it.
    """

    project: str = ""
    variant: str = ""
    task: str = ""
    test: str = ""
    measurement: str = ""
    args: str = ""
    q: str = ""
    effect: str = ""
    hazard: float = 0.0
    probability: float = 0.0
    since: str = ""
    until: str = ""
    state: str = "open"
    show: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    sort: str = "expected"

    def __post_init__(self) -> None:
        """Check the values that are one of a few."""
        choices = ("state", self.state, STATES), ("effect", self.effect, ("", *EFFECTS))
        shown = (("show", kind, KINDS) for kind in self.show)
        for name, value, allowed in (
            *choices,
            ("sort", self.sort.removeprefix("-"), SORTS),
            *shown,
        ):
            if value not in allowed:
                raise DataError(refusal(name, value, allowed))
        for name in ("since", "until"):
            moment(name, getattr(self, name), 0)

    def changed(self) -> dict[str, object]:
        """Return the fields that are not at their default, for the address of the page."""
        default = QueueFilter()
        fields = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return {name: value for name, value in fields if value != getattr(default, name)}

    @cached_property
    def _patterns(self) -> list[tuple[str, str]]:
        """The labels that have a pattern, and the pattern."""
        return [(label, getattr(self, label)) for label in LABELS if getattr(self, label)]

    def lets_through(self, entry: QueueEntry) -> bool:
        """Return whether a candidate passes, apart from its state, its kind and its effect."""
        if self.hazard and abs(entry.hazard or 0.0) < self.hazard:
            return False
        if self.probability and (entry.probability or 0.0) < self.probability:
            return False
        for label, pattern in self._patterns:
            if not _matches(getattr(entry.identity, label), pattern):
                return False
        if self.args and not any(
            _matches(f"{name}={value}", self.args) or _matches(value, self.args)
            for name, value in entry.identity.args
        ):
            return False
        if not self.q:
            return True
        text = f"{entry.name} {entry.commit}".casefold()
        return all(word in text for word in self.q.casefold().split())

    def within(self, entries: Iterable[QueueEntry], timestamp: int) -> list[QueueEntry]:
        """Return the candidates that were found within the days of the filter."""
        if not (self.since or self.until):
            return list(entries)
        first, last = (moment(day, getattr(self, day), timestamp) for day in ("since", "until"))
        days = range(first or 0, (timestamp if last is None else last) + DAY)
        return [
            entry
            for entry in entries
            if entry.detected_on is not None and entry.detected_on in days
        ]

    def is_hidden(self, kind: str) -> bool:
        """Return whether series of a kind are hidden."""
        return bool(kind) and kind not in self.show and not self.ids


def moment(name: str, text: str, timestamp: int) -> int | None:
    """Return the time that a day, or a number of days before a timestamp, stands for."""
    if not text:
        return None
    if text.endswith("d") and text[:-1].isascii() and text[:-1].isdigit():
        return timestamp - min(int(text[:-1]), 100_000) * DAY
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        raise DataError(
            f"{name}: {text!r:.60} is neither a day such as 2026-03-12 nor 7d"
        ) from None


def _matches(text: str, pattern: str) -> bool:
    is_glob = any(sign in pattern for sign in "*?[")
    return text == pattern or (is_glob and fnmatchcase(text, pattern))


def refusal(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return why a value cannot be used."""
    names = ", ".join(repr(word) for word in allowed)
    return f"{name}: {value!r:.60} is not one of {names}"


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


def save_filter(connection: sa.Connection, name: str, query: str, who: str) -> SavedFilter:
    """Save a filter; one of the same name is replaced.

    Raises:
        DataError: The name or the query is too long, or there are too many filters.
    """
    require_text("name of a filter", name, LONGEST_NAME, 1)
    require_text("query of a filter", query, LONGEST_QUERY)
    others = [known for known in every_filter(connection) if known.name != name]
    if len(others) >= MOST:
        raise DataError(f"{len(others)} filters are saved already; allowed: {MOST}")
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
    require_text("name of a filter", new_name, LONGEST_NAME, 1)
    by_name = {saved.name: saved for saved in every_filter(connection)}
    if new_name in by_name:
        raise DataError(f"there is a saved filter {new_name!r:.60} already")
    update = sa.update(saved_filters).where(saved_filters.c.name == name)
    _require_one(connection.execute(update.values(name=new_name)), name)
    audit.note(connection, audit.now(), who, "rename filter", name, to=new_name)
    return by_name[name]._replace(name=new_name)


def delete_filter(connection: sa.Connection, name: str, who: str) -> None:
    """Delete a saved filter.

    Raises:
        NotFoundError: There is none of this name.
    """
    of_name = saved_filters.c.name == name
    _require_one(connection.execute(sa.delete(saved_filters).where(of_name)), name)
    audit.note(connection, audit.now(), who, "delete filter", name)


def _require_one(result: sa.CursorResult[tuple[()]], name: str) -> None:
    if not result.rowcount:
        raise NotFoundError(f"there is no saved filter {name!r:.60}")

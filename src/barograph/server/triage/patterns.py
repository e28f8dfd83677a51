"""Patterns that say which series are canaries, of low priority, or informational.

A pattern is a glob over the printed identity of a series, such as `sys-perf/*/canary_*`; the quotes
of its parts may be left out. The first kind with a matching pattern applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import sqlalchemy as sa

from barograph.results.patterns import matches
from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError
from barograph.server.store import audit
from barograph.server.store.schema import patterns

# A machine check that should never move, what is looked at last, and what fails no job.
KINDS = ("canary", "low_priority", "informational")
CANARY = KINDS[0]
LONGEST = 2000  # characters of a pattern
MOST = 1000  # patterns in all


def require_text(name: str, text: str, longest: int, least: int = 0) -> None:
    """Raise a DataError if a text that a person typed cannot be stored.

    Args:
        name: Names the text in the error.
        text: The text.
        longest: The maximum number of characters.
        least: The minimum number of characters, of a text that is not blank; 0 or 1.
    """
    if len(text) > longest or (least and not text.strip()) or CONTROL.search(text):
        count = f"{least} to {longest}" if least else f"at most {longest}"
        raise DataError(f"{name}: {count} characters, and no control characters; got {text!r:.60}")


def stored_patterns(connection: sa.Connection) -> dict[str, tuple[str, ...]]:
    """Return the patterns of every kind."""
    stored: dict[str, list[str]] = {kind: [] for kind in KINDS}
    query = sa.select(patterns.c.kind, patterns.c.pattern)
    for kind, pattern in connection.execute(query.order_by(patterns.c.pattern)):
        stored[kind].append(pattern)
    return {kind: tuple(texts) for kind, texts in stored.items()}


def pattern_pairs(connection: sa.Connection) -> tuple[tuple[str, str], ...]:
    """Return each kind with each of its patterns, as `kind_of` takes them."""
    by_kind = stored_patterns(connection).items()
    return tuple((kind, text) for kind, texts in by_kind for text in texts)


def set_patterns(
    connection: sa.Connection,
    by_kind: Mapping[str, Iterable[str]],
    who: str,
    timestamp: int | None = None,
) -> None:
    """Replace the patterns of the named kinds; others stay.

    Args:
        connection: The connection of a write transaction.
        by_kind: Patterns by kind.
        who: Name for the audit trail.
        timestamp: Milliseconds since 1970; now by default.

    Raises:
        DataError: A kind does not exist, or a pattern cannot be stored.
    """
    new = {kind: sorted(set(texts)) for kind, texts in by_kind.items()}
    for kind, texts in new.items():
        if kind not in KINDS:
            raise DataError(f"no kind of pattern {kind!r:.60}; allowed: {', '.join(KINDS)}")
        for pattern in texts:
            require_text(f"{kind} pattern", pattern, LONGEST, 1)
    if sum(map(len, new.values())) > MOST:
        raise DataError(f"{sum(map(len, new.values()))} patterns; allowed: {MOST}")
    before = stored_patterns(connection)
    changed = {kind: texts for kind, texts in new.items() if tuple(texts) != before[kind]}
    if not changed:
        return
    connection.execute(sa.delete(patterns).where(patterns.c.kind.in_(changed)))
    rows = [{"kind": kind, "pattern": text} for kind, texts in changed.items() for text in texts]
    if rows:
        connection.execute(sa.insert(patterns), rows)
    counts = {kind: len(texts) for kind, texts in changed.items()}
    audit.note(connection, timestamp or audit.now(), who, "patterns", "patterns", **counts)


@lru_cache(200_000)
def kind_of(patterns: tuple[tuple[str, str], ...], name: str) -> str:
    """Return the kind of a series, "" for an ordinary one.

    Args:
        patterns: Kinds and patterns, in the order of the kinds.
        name: The printed identity of the series.

    Example:
        >>> kind_of((("canary", "*/canary_*"),), "db/canary_ping/ops")
        'canary'
    """
    return next((kind for kind, pattern in patterns if matches(pattern, name)), "")

"""Candidates as the queue shows them, built from few columns of the store.

Reading five thousand candidates is most of the time of the queue. So the labels of a series are
read once: its digest, which is a hash of the labels, says whether they are known already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from barograph.series import SeriesId
from barograph.store.database import rows_in
from barograph.store.reading import series_id
from barograph.store.schema import candidates, series
from barograph.triage.grouping import QueueEntry
from barograph.triage.patterns import PatternSet, compiled, stored_patterns
from barograph.triage.traces import Levels, levels

KNOWN = 200_000  # series whose labels are kept in memory
_C, _S = candidates.c, series.c
COLUMNS = (
    *(_C.id, _C.version, _C.series, _C.order, _C.last_before, _C.commit, _C.hazard),
    *(_C.probability, sa.func.coalesce(_C.detected_on, _C.calculated_on), _C.verdict, _C.present),
    *(_S.direction, _S.digest),
)
HAZARD, DIGEST = COLUMNS.index(_C.hazard), len(COLUMNS) - 1


@dataclass(frozen=True, slots=True, eq=False)  # compared by address, which is quick
class _Labels:
    """What a series is called."""

    identity: SeriesId
    name: str


_known: dict[bytes, _Labels] = {}  # by digest


def entries(connection: sa.Connection, rows: Sequence[Sequence[Any]]) -> Iterator[QueueEntry]:
    """Yield the candidates of rows that begin with `COLUMNS`."""
    columns = [tuple(row[: len(COLUMNS)]) for row in rows]
    labels = _labels(connection, {row[DIGEST] for row in columns})
    patterns = compiled(stored_patterns(connection))
    unsized = levels(connection, [row[0] for row in columns if row[HAZARD] is None])
    for row in columns:
        yield _entry(row, labels[row[DIGEST]], unsized.get(row[0]), patterns)


def _labels(connection: sa.Connection, digests: set[bytes]) -> dict[bytes, _Labels]:
    """Return the labels of series by digest; read those that are not known yet."""
    if len(_known) > KNOWN:
        _known.clear()  # other threads keep what they have
    labels = {digest: kept for digest in digests if (kept := _known.get(digest)) is not None}
    missing = [digest for digest in digests if digest not in labels]
    for row in rows_in(connection, sa.select(series), _S.digest, missing):
        identity = series_id(row)
        labels[row.digest] = _known[row.digest] = _Labels(identity, str(identity))
    return labels


@lru_cache(50_000)
def _entry(
    row: tuple[Any, ...], labels: _Labels, known: Levels | None, patterns: PatternSet
) -> QueueEntry:
    """Return a candidate; most are the same as at the last look."""
    number, version, owner, order, last_before, commit, hazard, *rest = row
    probability, detected_on, verdict, present, direction, _ = rest
    identity, name = labels.identity, labels.name
    return QueueEntry(
        *(number, version, owner, identity, name, patterns.kind_of(name), order),
        *(order - 1 if last_before is None else last_before, commit),
        *(_effect(hazard, direction, known), hazard, probability, detected_on, verdict, present),
    )


def _effect(hazard: float | None, direction: int, known: Levels | None) -> str:
    """Return what a change is, in one word: see `QueueEntry.effect`."""
    if hazard is not None:
        words = ("worse", "better") if direction else ("rose", "fell")
        return words[hazard < 0]
    if known is None:
        return "changed"
    rise = known.after - known.before
    if not direction:
        return "rose" if rise >= 0 else "fell"
    return "better" if (rise > 0) == (direction > 0) else "worse"

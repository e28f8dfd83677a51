"""Recompute the candidates of series whose points changed, without blocking ingestion.

Series are read, searched outside any transaction, and written only if their points are still the
same. A series that changed meanwhile is searched again in the next round. What `arrivals` observes
is read and written with the candidates, so that both belong to the same points.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import sqlalchemy as sa

from barograph.detection import Triaged
from barograph.detection.base import Detector
from barograph.detection.batch import RECENT, detect_recent
from barograph.detection.scoring import score_candidates
from barograph.models import TriageModel
from barograph.results.candidates import Candidates
from barograph.results.series import UNKNOWN_TIME, ChangePoint, Series, Verdict
from barograph.results.sizes import size_at
from barograph.runtime.parallel import map_threads, row_ranges
from barograph.server.store import arrivals
from barograph.server.store.audit import now
from barograph.server.store.candidate_records import (
    CandidateRecord,
    candidates_of_series,
    claim_stale,
    mark_stale,
    oldest_stale,
)
from barograph.server.store.database import BulkUpdate, Insertion, Row, chunks
from barograph.server.store.reading import read_series
from barograph.server.store.schema import NEARBY, candidates, moves, series
from barograph.server.store.store import Store
from barograph.server.triage.identity import FoundCandidate, identify

USE = "label_free"
SERIES = 200  # series in one transaction, small enough not to block ingestion
SMALLEST = 10  # series in a part of a thread
COLUMNS = (
    *("order", "commit", "last_before", "detector", "statistic", "pvalue", "discovery", "q"),
    *("before", "after", "nearby", "hazard", "trend", "probability", "model", "present"),
    "calculated_on",
)
NEW = Insertion(candidates, ("series", *COLUMNS, "verdict", "detected_on"))
KNOWN = BulkUpdate(candidates, ("id",), COLUMNS)
MOVE = Insertion(moves, ("candidate", "kind", "from_order", "to_order", "moved"))


@dataclass(frozen=True)
class RefreshResult:
    """How many series were searched, what changed, and in which projects.

    The changes to processed candidates, those with a verdict, are part of the totals before them.
    """

    series: int = 0
    added: int = 0
    moved: int = 0
    withdrawn: int = 0
    returned: int = 0
    processed_moved: int = 0
    processed_withdrawn: int = 0
    processed_returned: int = 0
    projects: frozenset[str] = frozenset()

    def __add__(self, other: RefreshResult) -> RefreshResult:
        """Return the sums, and the projects of both."""
        counts = [name for name in vars(self) if name != "projects"]
        totals = {name: getattr(self, name) + getattr(other, name) for name in counts}
        return RefreshResult(**totals, projects=self.projects | other.projects)


@dataclass(frozen=True)
class CandidateRefresher:
    """A detector that finds candidates, and the model that scores them.

    Args:
        detector: Any detector. `Triaged` gets the model, and its candidates keep the
            probabilities that they were reported with.
        name: The name of the detector that candidates are stored with.
        model: A model for the use `label_free`; without one, candidates get no probability.
        recent: Number of the newest points of a series that are always searched together.
    """

    detector: Detector
    name: str
    model: TriageModel | None = None
    recent: int = RECENT

    def refresh(self, store: Store, limit: int | None = None) -> RefreshResult:
        """Recompute the candidates of series whose points changed, of at most `limit` series."""
        total = RefreshResult()
        while limit is None or total.series < limit:
            count = SERIES if limit is None else min(SERIES, limit - total.series)
            result, waiting = self._refresh(store, count)
            total += result
            if not waiting or not result.series:
                break
        return total

    def recompute(self, store: Store) -> RefreshResult:
        """Recompute the candidates of every series."""
        store.write(
            lambda connection: mark_stale(connection, connection.scalars(sa.select(series.c.id)))
        )
        return self.refresh(store)

    def _refresh(self, store: Store, count: int) -> tuple[RefreshResult, int]:
        """Refresh some series; return what changed, and how many series were waiting."""
        timestamp = now()
        with store.read() as connection:
            versions = oldest_stale(connection, count)
            points = read_series(connection, list(versions))
            known = candidates_of_series(connection, list(versions), withdrawn=True)
            observed = arrivals.observe(connection, versions)
        found, gone = self._search(points, known, timestamp)

        def work(connection: sa.Connection) -> RefreshResult:
            unchanged = claim_stale(connection, versions) & points.keys()
            arrivals.write(connection, [row for row in observed if row[0] in unchanged])
            kept = [candidate for candidate in found if candidate.number in unchanged]
            lost = [stored for stored in gone if stored.series in unchanged]
            projects = frozenset(points[number].id.project for number in unchanged)
            counts = self._write(connection, store, kept, lost, timestamp)
            return RefreshResult(len(unchanged), projects=projects, **counts)

        return store.write(work), len(versions)

    def _search(
        self,
        points: Mapping[int, Series],
        known: Mapping[int, Sequence[CandidateRecord]],
        timestamp: int,
    ) -> tuple[list[FoundCandidate], list[CandidateRecord]]:
        """Find the candidates of some series; return them, and those that are no longer found."""
        detector, model = self.detector, self.model
        if isinstance(detector, Triaged):
            detector = detector if model is None else replace(detector, model=model)
            model = None  # it scores them itself
        found: list[FoundCandidate] = []
        gone: list[CandidateRecord] = []
        latest = find_changes(detector, list(points.values()), self.recent)
        for (number, searched), changes in zip(points.items(), latest, strict=True):
            here, lost = identify(number, searched, known[number], changes)
            found += here
            gone += lost
        if model is not None and found:
            found = with_probabilities(model, points, found, timestamp)
        return found, gone

    def _write(
        self,
        connection: sa.Connection,
        store: Store,
        found: Sequence[FoundCandidate],
        gone: Sequence[CandidateRecord],
        timestamp: int,
    ) -> Counter[str]:
        """Write candidates; verdicts stay, those that were given since the search included."""
        model = self.model
        key = None if model is None else store.model(connection, model.version, model.threshold)
        added: list[Row] = []
        known: list[Row] = []
        for candidate in found:
            facts = self._columns(candidate, key, timestamp)
            if candidate.known is None:
                added.append((candidate.number, *facts, Verdict.NOT_TRIAGED.value, timestamp))
            else:
                known.append((candidate.known.id, *facts))
        NEW.into(connection, added)
        KNOWN.into(connection, known)
        withdraw(connection, [stored.id for stored in gone])
        events = [*_events(found, gone)]
        noted: list[Row] = [(old.id, kind, old.order, new, timestamp) for old, kind, new in events]
        MOVE.into(connection, noted)
        counts = Counter(kind for _, kind, _ in events)
        counts.update(f"processed_{kind}" for old, kind, _ in events if old.is_processed)
        return counts + Counter(added=len(added))

    def _columns(self, candidate: FoundCandidate, key: int | None, timestamp: int) -> Row:
        """Return the values of COLUMNS."""
        change, series = candidate.change, candidate.series
        commit, before = series.commits[change.index], int(series.orders[change.index - 1])
        regions = (json.dumps(asdict(region)) for region in (change.before, change.after))
        nearby = json.dumps(series.orders_around(change.index, NEARBY))
        size = size_at(change)
        return (
            *(candidate.order, commit, before, self.name),
            *(change.statistic, change.pvalue, change.order, change.q),
            *(*regions, nearby, size.hazard(series.direction), size.is_trend),
            *(change.probability, key, True, _dates(candidate.known, timestamp)[0]),
        )


def find_changes(
    detector: Detector, series: Sequence[Series], recent: int = RECENT
) -> list[list[ChangePoint]]:
    """Find the change points of each series.

    Series are independent, and threads search parts of them at the same time: the number of threads
    changes no candidate.
    """

    def find(part: slice) -> list[list[ChangePoint]]:
        values = [each.values for each in series[part]]
        offsets = np.cumsum([0, *(each.size for each in values)], dtype=np.int64)
        return detect_recent(
            detector, np.concatenate([np.empty(0), *values]), offsets, recent=recent
        )

    parts = map_threads(find, row_ranges(len(series), None, smallest=SMALLEST))
    return [changes for part in parts for changes in part]


def with_probabilities(
    model: TriageModel,
    points: Mapping[int, Series],
    found: Sequence[FoundCandidate],
    timestamp: int,
) -> list[FoundCandidate]:
    """Return the candidates of some series with their probabilities."""
    rows = {number: row for row, number in enumerate(points)}
    values = np.concatenate([series.values for series in points.values()])
    offsets = np.cumsum([0, *map(len, points.values())], dtype=np.int64)
    table = candidate_table(
        ((rows[each.number], each.change.index, each.known) for each in found), timestamp
    )
    scores = score_candidates(model, values, offsets, table).tolist()
    return [
        each._replace(change=replace(each.change, probability=score))
        for each, score in zip(found, scores, strict=True)
    ]


def candidate_table(
    rows: Iterable[tuple[int, int, CandidateRecord | None]], timestamp: int | None = None
) -> Candidates:
    """Return candidates as models read them.

    Args:
        rows: For each, the number of its series, its index there, and what is stored of it.
        timestamp: When candidates without a verdict are found; by default as stored.
    """
    table = [
        (
            *(owner, index, Verdict.NOT_TRIAGED.value if stored is None else stored.verdict.value),
            *(UNKNOWN_TIME if time is None else time for time in _dates(stored, timestamp)),
        )
        for owner, index, stored in rows
    ]
    owners, indices, verdicts, found_on, triaged_on = map(np.array, zip(*table, strict=True))
    return Candidates(owners, indices, verdicts, found_on, triaged_on)


def _dates(stored: CandidateRecord | None, timestamp: int | None) -> tuple[int | None, int | None]:
    """Return when a candidate was found and triaged; a verdict keeps the date that it saw."""
    if stored is None or (timestamp is not None and not stored.is_processed):
        return timestamp, None
    return stored.calculated_on, stored.triaged_on


def withdraw(connection: sa.Connection, gone: Sequence[int]) -> None:
    """Mark candidates as no longer found."""
    c = candidates.c
    for part in chunks(gone):
        connection.execute(sa.update(candidates).where(c.id.in_(part)).values(present=False))


def _events(
    found: Sequence[FoundCandidate], gone: Sequence[CandidateRecord]
) -> Iterator[tuple[CandidateRecord, str, int]]:
    """Yield what happened to stored candidates, each with its order from now on."""
    for candidate in found:
        stored = candidate.known
        if stored is not None and not stored.present:
            yield stored, "returned", candidate.order
        elif stored is not None and stored.order != candidate.order:
            yield stored, "moved", candidate.order
    for stored in gone:
        yield stored, "withdrawn", stored.order

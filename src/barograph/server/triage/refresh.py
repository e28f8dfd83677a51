"""Recompute the candidates of series whose points changed, without blocking ingestion.

Series are read, searched outside any transaction, and written only if their points are still the
same. A series that changed meanwhile is searched again in the next round. What `arrivals` observes
is read and written with the candidates, so that both belong to the same points.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

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
from barograph.server.triage.identity import MatchedChange, SeriesPlan, identify

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
        plans = self._plans(points, known, timestamp)

        def work(connection: sa.Connection) -> RefreshResult:
            unchanged = claim_stale(connection, versions)
            kept = [plan for plan in plans if plan.number in unchanged]
            arrivals.write(connection, [row for row in observed if row[0] in unchanged])
            return self.write(connection, store, kept, timestamp)

        return store.write(work), len(versions)

    def _plans(
        self,
        points: Mapping[int, Series],
        known: Mapping[int, Sequence[CandidateRecord]],
        timestamp: int,
    ) -> list[SeriesPlan]:
        """Find the change points of some series, and match them with the stored candidates."""
        detector, model = self.detector, self.model
        is_scored = isinstance(detector, Triaged)
        if isinstance(detector, Triaged) and model is not None:
            detector = replace(detector, model=model)
        changes = find_changes(detector, list(points.values()), self.recent)
        plans = [
            identify(number, series, known[number], of_series)
            for (number, series), of_series in zip(points.items(), changes, strict=True)
        ]
        if is_scored or model is None:
            return plans
        return with_probabilities(model, plans, timestamp)

    def write(
        self, connection: sa.Connection, store: Store, plans: Sequence[SeriesPlan], timestamp: int
    ) -> RefreshResult:
        """Write plans; verdicts stay, those that were given since the search included.

        Args:
            connection: The connection of a write transaction.
            store: The store that it belongs to.
            plans: Plans of series whose points have not changed since.
            timestamp: The time of the search.
        """
        model = self.model
        key = None if model is None else store.model(connection, model.version, model.threshold)
        added: list[Row] = []
        known: list[Row] = []
        for plan in plans:
            for candidate in plan.candidates:
                stored = candidate.known
                facts = self._columns(plan, candidate, key, _calculated_on(stored, timestamp))
                if stored is None:
                    added.append((plan.number, *facts, Verdict.NOT_TRIAGED.value, timestamp))
                else:
                    known.append((stored.id, *facts))
        NEW.into(connection, added)
        KNOWN.into(connection, known)
        withdraw(connection, [stored.id for plan in plans for stored in plan.gone])
        events = [event for plan in plans for event in _events(plan)]
        noted: list[Row] = [
            (candidate.id, kind, candidate.order, new, timestamp) for candidate, kind, new in events
        ]
        MOVE.into(connection, noted)
        counts = Counter(kind for _, kind, _ in events)
        counts |= Counter(
            f"processed_{kind}" for candidate, kind, _ in events if candidate.is_processed
        )
        projects = frozenset(plan.series.id.project for plan in plans)
        return RefreshResult(len(plans), len(added), **counts, projects=projects)

    def _columns(
        self, plan: SeriesPlan, candidate: MatchedChange, key: int | None, timestamp: int | None
    ) -> Row:
        """Return the values of COLUMNS."""
        change = candidate.change
        index = plan.series.index_of(candidate.order)
        commit, before = plan.series.commits[index], int(plan.series.orders[index - 1])
        regions = (json.dumps(asdict(region)) for region in (change.before, change.after))
        nearby = json.dumps(plan.series.orders_around(change.index, NEARBY))
        size = size_at(change)
        sized = size.hazard(plan.series.direction), size.is_trend
        place = candidate.order, commit, before
        facts: tuple[Any, ...] = (*place, self.name, change.statistic, change.pvalue)
        facts = (*facts, change.order, change.q)
        return (*facts, *regions, nearby, *sized, candidate.probability, key, True, timestamp)


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
    model: TriageModel, plans: Sequence[SeriesPlan], timestamp: int
) -> list[SeriesPlan]:
    """Return the plans with a probability for every candidate that was found."""
    rows = [
        (row, candidate.change.index, *_dates(candidate.known, timestamp))
        for row, plan in enumerate(plans)
        for candidate in plan.candidates
    ]
    if not rows:
        return list(plans)
    values = np.concatenate([plan.series.values for plan in plans])
    offsets = np.cumsum([0, *(len(plan.series) for plan in plans)], dtype=np.int64)
    owners, indices, verdicts, calculated, triaged = map(np.array, zip(*rows, strict=True))
    around = Candidates(owners, indices, verdicts, calculated, triaged)
    scores = iter(score_candidates(model, values, offsets, around).tolist())
    return [
        plan._replace(
            candidates=[
                candidate._replace(probability=next(scores)) for candidate in plan.candidates
            ]
        )
        for plan in plans
    ]


def _dates(stored: CandidateRecord | None, timestamp: int) -> tuple[str, int, int]:
    """Return the verdict of a candidate that is found now, and its dates."""
    if stored is None or not stored.is_processed:
        return Verdict.NOT_TRIAGED.value, timestamp, UNKNOWN_TIME
    dates = stored.calculated_on, stored.triaged_on
    calculated, triaged = (UNKNOWN_TIME if date is None else date for date in dates)
    return stored.verdict.value, calculated, triaged


def _calculated_on(stored: CandidateRecord | None, timestamp: int) -> int | None:
    """Return the date of a candidate that is found now; a verdict keeps the date that it saw."""
    return timestamp if stored is None or not stored.is_processed else stored.calculated_on


def _events(plan: SeriesPlan) -> Iterator[tuple[CandidateRecord, str, int]]:
    """Yield what happened to the stored candidates of a series, each with its order from now on."""
    for candidate in plan.candidates:
        stored = candidate.known
        if stored is not None and not stored.present:
            yield stored, "returned", candidate.order
        elif stored is not None and stored.order != candidate.order:
            yield stored, "moved", candidate.order
    for stored in plan.gone:
        yield stored, "withdrawn", stored.order


def withdraw(connection: sa.Connection, gone: Sequence[int]) -> None:
    """Mark candidates as no longer found."""
    c = candidates.c
    for part in chunks(gone):
        connection.execute(sa.update(candidates).where(c.id.in_(part)).values(present=False))

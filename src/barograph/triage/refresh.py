"""Recompute the candidates of series whose points changed, without blocking ingestion.

Series are read, searched outside any transaction, and written only if their points are still the
same. A series that changed meanwhile is searched again in the next round.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.detection import Triaged, detect_many
from barograph.detection.base import Detector
from barograph.detection.scoring import score_candidates
from barograph.errors import ArtifactError
from barograph.history import Candidates
from barograph.models import TriageModel
from barograph.series import UNKNOWN_TIME, Direction, Series, Verdict
from barograph.store.audit import now
from barograph.store.reading import read_series
from barograph.store.rows import Insertion, Row
from barograph.store.schema import candidates, moves, series
from barograph.store.stale import claim, mark, oldest
from barograph.store.store import Store
from barograph.triage.identity import (
    FoundCandidate,
    SeriesPlan,
    StoredCandidate,
    identify,
    stored_candidates,
)

LOG = logging.getLogger("barograph.triage")
USE = "label_free"
SERIES = 200  # series in one transaction, small enough not to block ingestion
CHUNK = 1000  # candidates in one statement: databases limit the number of parameters
COLUMNS = (
    *(
        "order",
        "commit",
        "last_before",
        "detector",
        "statistic",
        "pvalue",
        "before",
        "after",
        "hazard",
    ),
    *("probability", "model", "present", "calculated_on"),
)
STATE = ("verdict", "triaged_on", "found")
NEW = Insertion(candidates, ("series", *COLUMNS, *STATE))
KNOWN = Insertion(candidates, ("id", "series", *COLUMNS, *STATE), replace=COLUMNS)
MOVE = Insertion(moves, ("candidate", "from_order", "to_order", "moved"))


@dataclass(frozen=True)
class RefreshResult:
    """How many series were searched, what changed, and in which projects."""

    series: int = 0
    added: int = 0
    moved: int = 0
    withdrawn: int = 0
    projects: frozenset[str] = frozenset()

    def __add__(self, other: RefreshResult) -> RefreshResult:
        """Return the sums, and the projects of both."""
        return RefreshResult(
            self.series + other.series,
            self.added + other.added,
            self.moved + other.moved,
            self.withdrawn + other.withdrawn,
            self.projects | other.projects,
        )


@dataclass(frozen=True)
class CandidateRefresher:
    """A detector that finds candidates, and the model that scores them.

    Args:
        detector: Any detector. `Triaged` gets the model, and its candidates keep the
            probabilities that they were reported with.
        name: The name of the detector that candidates are stored with.
        model: A model for the use `label_free`; without one, candidates get no probability.
    """

    detector: Detector
    name: str
    model: TriageModel | None = None

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
        store.write(lambda connection: mark(connection, connection.scalars(sa.select(series.c.id))))
        return self.refresh(store)

    def _refresh(self, store: Store, count: int) -> tuple[RefreshResult, int]:
        """Refresh some series; return what changed, and how many series were waiting."""
        at = now()
        with store.read() as connection:
            versions = oldest(connection, count)
            points = read_series(connection, list(versions))
            known = stored_candidates(connection, list(versions))
        plans = self._plans(points, known, at)

        def work(connection: sa.Connection) -> RefreshResult:
            unchanged = claim(connection, versions)
            kept = [plan for plan in plans if plan.number in unchanged]
            return self.write(connection, store, kept, at)

        return (store.write(work) if plans else RefreshResult()), len(versions)

    def _plans(
        self,
        points: Mapping[int, Series],
        known: Mapping[int, Sequence[StoredCandidate]],
        at: int,
    ) -> list[SeriesPlan]:
        """Find the change points of some series, and match them with the stored candidates."""
        detector, model = self.detector, self.model
        is_scored = isinstance(detector, Triaged)
        if isinstance(detector, Triaged) and model is not None:
            detector = replace(detector, model=model)
        values = np.concatenate([np.empty(0), *(one.values for one in points.values())])
        offsets = np.cumsum([0, *(len(one) for one in points.values())], dtype=np.int64)
        changes = detect_many(detector, values, offsets)
        plans = [
            identify(number, one, known[number], own)
            for (number, one), own in zip(points.items(), changes, strict=True)
        ]
        if is_scored or model is None:
            return plans
        return with_probabilities(model, plans, at)

    def write(
        self, connection: sa.Connection, store: Store, plans: Sequence[SeriesPlan], at: int
    ) -> RefreshResult:
        """Write plans; a candidate that got its verdict since they were made stays as it is.

        Args:
            connection: The connection of a write transaction.
            store: The store that it belongs to.
            plans: Plans of series whose points have not changed since.
            at: The time of the search.
        """
        model = self.model
        key = None
        if model is not None:
            key = store.model(connection, model.version, model.threshold)
        judged = _judged(connection, [plan.number for plan in plans])
        new: list[Row] = []
        known: list[Row] = []
        moved: list[Row] = []
        for plan in plans:
            for found in plan.found:
                row = (*self._columns(plan, found, key, at), Verdict.NOT_TRIAGED.value, None, at)
                stored = found.known
                if stored is None:
                    new.append((plan.number, *row))
                elif stored.id not in judged:
                    known.append((stored.id, plan.number, *row))
                    if stored.order != found.order:
                        moved.append((stored.id, stored.order, found.order, at))
        NEW.into(connection, new)
        KNOWN.into(connection, known)
        MOVE.into(connection, moved)
        withdrawn = _withdraw(connection, [gone.id for plan in plans for gone in plan.gone])
        projects = frozenset(plan.series.id.project for plan in plans)
        return RefreshResult(len(plans), len(new), len(moved), withdrawn, projects)

    def _columns(self, plan: SeriesPlan, found: FoundCandidate, key: int | None, at: int) -> Row:
        """Return the values of COLUMNS."""
        change = found.change
        index = plan.series.index_of(found.order)
        commit, before = plan.series.commits[index], int(plan.series.orders[index - 1])
        regions = (json.dumps(asdict(region)) for region in (change.before, change.after))
        level = hazard(change.before.mean, change.after.mean, plan.series.direction)
        place = found.order, commit, before
        facts: tuple[Any, ...] = (*place, self.name, change.statistic, change.pvalue)
        return (*facts, *regions, level, found.probability, key, True, at)


def label_free_model(path: Path | None) -> TriageModel | None:
    """Load the model that scores candidates.

    Args:
        path: The model file; None for the built-in model.

    Returns:
        The model, or None if there is no built-in one.

    Raises:
        ArtifactError: The file is not a model for candidates.
    """
    if path is None:
        try:
            return TriageModel.default(USE)
        except ArtifactError as error:
            LOG.warning("candidates get no probability: %s", error)
            return None
    return TriageModel.load(path, USE)


def with_probabilities(
    model: TriageModel, plans: Sequence[SeriesPlan], at: int
) -> list[SeriesPlan]:
    """Return the plans with a probability for every candidate that was found."""
    rows: list[tuple[int, int, str, int, int]] = []
    is_found: list[bool] = []
    for row, plan in enumerate(plans):
        points = plan.series
        for found in plan.found:
            index = points.index_of(found.order)
            rows.append((row, index, Verdict.NOT_TRIAGED.value, at, UNKNOWN_TIME))
            is_found.append(True)
        for judged in plan.judged:
            index = points.index_of(judged.order)
            if 0 < index < len(points):
                dates = judged.calculated_on, judged.triaged_on
                rows.append((row, index, judged.verdict.value, *dates))
                is_found.append(False)
    if not any(is_found):
        return list(plans)
    values = np.concatenate([plan.series.values for plan in plans])
    offsets = np.cumsum([0, *(len(plan.series) for plan in plans)], dtype=np.int64)
    owners, indices, verdicts, calculated, triaged = map(np.array, zip(*rows, strict=True))
    around = Candidates(owners, indices, verdicts, calculated, triaged)
    scores = iter(score_candidates(model, values, offsets, around)[np.array(is_found)].tolist())
    return [
        plan._replace(found=[found._replace(probability=next(scores)) for found in plan.found])
        for plan in plans
    ]


def hazard(before: float, after: float, direction: Direction) -> float | None:
    """Return the logarithm of the mean after over the mean before; positive is worse.

    Daly et al. 2020, 3.1, signed by the direction. Two changes that cancel out have the same
    magnitude. If the direction is unknown, the sign is that of the change.

    Returns:
        The hazard, or None unless both means are positive or both are negative.
    """
    if before == 0 or after == 0 or (before > 0) != (after > 0):
        return None
    # The ratio could overflow; the logarithms cannot.
    change = math.log(abs(after)) - math.log(abs(before))
    if direction is Direction.UNKNOWN:
        return change
    # A negative mean that grows in magnitude falls.
    worse = -1.0 if direction is Direction.HIGHER_IS_BETTER else 1.0
    return change * worse * (1.0 if before > 0 else -1.0)


def _judged(connection: sa.Connection, numbers: list[int]) -> set[int]:
    """Return the candidates of some series that have a verdict."""
    c = candidates.c
    has_verdict = c.verdict != Verdict.NOT_TRIAGED.value
    return set(connection.scalars(sa.select(c.id).where(c.series.in_(numbers), has_verdict)))


def _withdraw(connection: sa.Connection, gone: list[int]) -> int:
    """Mark candidates as no longer found, except those that got a verdict meanwhile."""
    c = candidates.c
    count = 0
    for first in range(0, len(gone), CHUNK):
        chosen = c.id.in_(gone[first : first + CHUNK])
        untouched = sa.and_(chosen, c.present, c.verdict == Verdict.NOT_TRIAGED.value)
        withdrawn = sa.update(candidates).where(untouched).values(present=False)
        count += connection.execute(withdrawn).rowcount
    return count

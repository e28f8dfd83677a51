"""Decided cases like a candidate: the nearest in the space of the model's features."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from barograph.models import TriageModel
from barograph.results.series import FINAL, Floats, SeriesId, Verdict
from barograph.server.store import reading
from barograph.server.store.candidate_records import (
    candidates_numbered,
    candidates_of_series,
    get_candidate,
)
from barograph.server.store.database import chunks
from barograph.server.store.schema import candidates, verdicts
from barograph.server.triage.effects import around
from barograph.server.triage.explanations import scored

MOST = 400  # decided candidates that are compared, the latest verdicts first
CHUNK = 50  # series that are read in one go
PLOTTED = 30  # results on each side of a plot
FARTHEST = 4.0  # interquartile ranges: no feature decides alone


# A candidate with what its features depend on: its series, its order, and the levels around it.
Key = tuple[int, int, int, str | None, str | None]


@dataclass(frozen=True, slots=True)
class DecidedCase:
    """A decided candidate that is like another one.

    Attributes:
        candidate: Its number.
        series: Number of its series.
        name: Identity of its series.
        order: Its order.
        commit: Its commit.
        before: The level before.
        after: The level after.
        verdict: What people decided.
        who: Who decided last; empty if the store does not know.
        time: When.
        distance: How far its features are, in interquartile ranges; 0 is the nearest possible.
        values: The results around it.
        split: Index of the first result of the new level among them.
    """

    candidate: int
    series: int
    name: SeriesId
    order: int
    commit: str
    before: float | None
    after: float | None
    verdict: Verdict
    who: str
    time: int | None
    distance: float
    values: tuple[float, ...]
    split: int


class DecidedCases:
    """The features of decided candidates, computed once for each model."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = ""  # of a model
        self._known: dict[Key, Floats | None] = {}  # None: no results on both sides

    def nearest(
        self, connection: sa.Connection, candidate: int, model: TriageModel, count: int = 3
    ) -> list[DecidedCase]:
        """Return the decided candidates that are most like a candidate, the nearest first.

        Args:
            connection: From `Store.read`.
            candidate: Number of the candidate.
            model: The model that scores candidates.
            count: Maximum number of cases.

        Raises:
            NotFoundError: There is no such candidate.
        """
        target = get_candidate(connection, candidate)
        features = _features(connection, [target.series], model).get(candidate)  # it may have grown
        rows = self._rows(connection, model)
        rows.pop(candidate, None)
        if features is None or not rows:
            return []
        numbers, distance = list(rows), _distances(features, np.array(list(rows.values())))
        chosen = np.argsort(distance, kind="stable")[:count].tolist()
        return _cases(connection, {numbers[k]: float(distance[k]) for k in chosen})

    def _rows(self, connection: sa.Connection, model: TriageModel) -> dict[int, Floats]:
        """Return the features of the decided candidates; compute those that are not known."""
        c = candidates.c
        query = sa.select(c.id, c.series, c.order, c.before, c.after).where(c.verdict.in_(FINAL))
        latest = query.order_by(c.triaged_on.desc(), c.id.desc()).limit(MOST)
        keys: list[Key] = [tuple(row) for row in connection.execute(latest)]
        with self._lock:
            known = dict(self._known) if self._version == model.version else {}
            missing = [key for key in keys if key not in known]
            for part in chunks(sorted({key[1] for key in missing}), CHUNK):
                features = _features(connection, part, model)
                known |= {key: features.get(key[0]) for key in missing if key[1] in part}
            self._version, self._known = model.version, {key: known[key] for key in keys}
            return {key[0]: row for key, row in self._known.items() if row is not None}


def _features(
    connection: sa.Connection, numbers: list[int], model: TriageModel
) -> dict[int, Floats]:
    """Return the features of all candidates of some series, by candidate."""
    known = candidates_of_series(connection, numbers)
    result: dict[int, Floats] = {}
    for number, history in reading.read_series(connection, numbers).items():
        if found := scored(model, history, known.get(number, [])):
            ids, scorer = found
            result.update(zip(ids, scorer.features(), strict=True))
    return result


def _distances(target: Floats, rows: Floats) -> Floats:
    """Return the mean distance over the features, each in interquartile ranges."""
    every = np.vstack([target, rows])
    low, high = np.nanpercentile(every, [25.0, 75.0], axis=0)
    scale = np.where(high > low, high - low, 1.0)
    apart = np.minimum(np.abs(rows - target) / scale, FARTHEST)
    mean: Floats = np.nanmean(apart, axis=1)
    return mean


def _cases(connection: sa.Connection, distances: dict[int, float]) -> list[DecidedCase]:
    """Return what people want to know about some candidates, with the results around them."""
    numbers, v = list(distances), verdicts.c
    latest = sa.select(sa.func.max(v.id)).where(v.candidate.in_(numbers)).group_by(v.candidate)
    given = connection.execute(sa.select(v.candidate, v.who).where(v.id.in_(latest)))
    who: dict[int, str] = dict(tuple(row) for row in given)
    plots = around(connection, numbers, PLOTTED, PLOTTED)
    cases = [
        DecidedCase(
            candidate=record.id,
            series=record.series,
            name=reading.get_series(connection, record.series).name,
            order=record.order,
            commit=record.commit,
            before=None if record.before is None else record.before.level,
            after=None if record.after is None else record.after.level,
            verdict=record.verdict,
            who=who.get(record.id, ""),
            time=record.triaged_on,
            distance=distances[record.id],
            values=plots[record.id].values,
            split=len(plots[record.id].before),
        )
        for record in candidates_numbered(connection, numbers)
    ]
    return sorted(cases, key=lambda case: numbers.index(case.candidate))

"""Why a candidate has its probability: the reasons of the model, and facts beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from barograph.detection.scoring import CandidateScorer
from barograph.models import TriageModel
from barograph.models.reasons import ReasonText
from barograph.results.series import Series, Verdict
from barograph.results.wording import plural
from barograph.server.store import reading
from barograph.server.store.candidate_records import (
    CandidateRecord,
    candidates_of_series,
    get_candidate,
    is_listed,
)
from barograph.server.store.reading import stored_series
from barograph.server.store.schema import candidates, series
from barograph.server.triage.patterns import CANARY, kind_of, pattern_pairs
from barograph.server.triage.refresh import candidate_table
from barograph.server.triage.siblings import Siblings, overlap


@dataclass(frozen=True, slots=True)
class CandidateExplanation:
    """Why a candidate has its probability.

    Attributes:
        probability: The probability; None if no model scored the candidate.
        reasons: The reasons of the model, the most decisive first, each with its part.
        facts: What the model does not know: siblings, and earlier verdicts on the series.
        against: Such facts that speak against a real change: siblings that moved the other way, and
            canaries that moved.
        model: Version of the model; None without one.
    """

    probability: float | None
    reasons: tuple[ReasonText, ...]
    facts: tuple[str, ...]
    against: tuple[str, ...]
    model: str | None


def explanation(
    connection: sa.Connection, candidate: int, model: TriageModel | None, around: Siblings
) -> CandidateExplanation:
    """Return why a candidate has its probability.

    Args:
        connection: From `Store.read`.
        candidate: Number of the candidate.
        model: The model that scores candidates; None if there is none.
        around: What `siblings` returns for the candidate.

    Raises:
        NotFoundError: There is no such candidate.
    """
    change = get_candidate(connection, candidate)
    others = candidates_of_series(connection, [change.series])[change.series]
    reasons: tuple[ReasonText, ...] = ()
    if model is not None:
        points = reading.read_series(connection, [change.series])[change.series]
        reasons = _reasons(model, points, others, change)
    facts, against = _verdict_texts(others, change), list[str]()
    if text := _siblings_text(around):
        (against if _is_contradicted(change, around) else facts).insert(0, text)
    if text := _canaries_text(connection, change, around):
        against.append(text)
    version = None if model is None else model.version
    return CandidateExplanation(change.probability, reasons, tuple(facts), tuple(against), version)


def scored(
    model: TriageModel, series: Series, records: list[CandidateRecord]
) -> tuple[list[int], CandidateScorer] | None:
    """Return numbers of candidates of a series and what scores them; None if there are none.

    Those before the first or after the last result are left out.
    """
    places = [(series.index_of(change.order), change) for change in records]
    inside = [(index, change) for index, change in places if 0 < index < len(series)]
    if not inside:
        return None
    table = candidate_table((0, index, change) for index, change in inside)
    offsets = np.array([0, len(series)], dtype=np.int64)
    scorer = CandidateScorer(model, np.array(series.values), offsets, table)
    return [change.id for _, change in inside], scorer


def _reasons(
    model: TriageModel, points: Series, others: list[CandidateRecord], change: CandidateRecord
) -> tuple[ReasonText, ...]:
    found = scored(model, points, others if change in others else [*others, change])
    if found is None or change.id not in found[0]:
        return ()
    numbers, scorer = found
    return tuple(scorer.explain()[numbers.index(change.id)])


def _is_contradicted(change: CandidateRecord, around: Siblings) -> bool:
    """Return whether all siblings that moved went the other way."""
    size = change.size
    if size is None or size.is_trend:
        return False
    alike, others = around.rose, around.fell
    if size.after < size.before:
        alike, others = others, alike
    return others > 0 and not alike


def _siblings_text(around: Siblings) -> str:
    """Return a sentence about the siblings; empty if there are none with results on both sides."""
    judged = around.rose + around.fell + around.steady
    moved = [
        f"{count} of {judged} sibling series {verb}"
        for count, verb in ((around.fell, "fell"), (around.rose, "rose"))
        if count
    ]
    if moved:
        return " and ".join(moved) + " at the same commit."
    return (
        f"None of {plural(judged, 'sibling series')[:-1]} moved at this commit." if judged else ""
    )


def _canaries_text(connection: sa.Connection, change: CandidateRecord, around: Siblings) -> str:
    """Return a sentence about canaries that moved where a candidate is; empty if none did.

    Results of one project and variant count as measured by one machine, as in a job.
    """
    own, s, c = reading.get_series(connection, change.series).name, series.c, candidates.c
    moved = sa.select(c.series).where(
        *(is_listed(), c.verdict != Verdict.FALSE_POSITIVE.value),
        overlap(around.last_before, around.first_after),
    )
    here = s.project == own.project, s.variant == own.variant, s.id != change.series
    beside = sa.select(series).where(*here, s.id.in_(moved))
    patterns = pattern_pairs(connection)
    names = [str(stored_series(row).name) for row in connection.execute(beside)]
    count = sum(kind_of(patterns, name) == CANARY for name in names)
    text = f"{count} {'canary' if count == 1 else 'canaries'} of this variant moved"
    return f"{text} at the same commit, so the machine may have changed." if count else ""


def _verdict_texts(others: list[CandidateRecord], change: CandidateRecord) -> list[str]:
    """Return sentences about the verdicts on other changes of the series."""
    counts = Counter(other.verdict for other in others if other.id != change.id)
    return [
        f"{counts[verdict]} other {'change' if counts[verdict] == 1 else 'changes'} of this series "
        f"{'was' if counts[verdict] == 1 else 'were'} marked {verdict.word}."
        for verdict in (Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE)
        if counts[verdict]
    ]

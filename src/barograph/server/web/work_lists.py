"""Lists of candidates that are worth a person's time, read from the store."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from barograph.learning.weekly_record import JudgedVerdicts
from barograph.learning.work_lists import (
    LENGTH,
    POOL,
    DoubtedLabel,
    OpenCandidates,
    doubted_labels,
    most_informative,
)
from barograph.results.series import Floats, Ints, Verdict
from barograph.server.store import retrainings
from barograph.server.triage import record


@dataclass(frozen=True)
class WorkList:
    """Candidates to look at, in this order."""

    name: str
    title: str
    why: str
    candidates: tuple[int, ...]


def work_lists(connection: sa.Connection) -> list[WorkList]:
    """Return all lists."""
    why = (
        "Verdicts contradicted by models that had not seen them. People may still be right.",
        "Open, uncertain, and different from each other and from recent decisions.",
    )
    numbers = tuple(label.candidate for label in doubted(connection))
    return [
        WorkList("doubted", "Labels the model doubts", why[0], numbers),
        WorkList(
            "informative", "Most informative to decide", why[1], tuple(informative(connection))
        ),
    ]


def doubted(connection: sa.Connection) -> list[DoubtedLabel]:
    """Return the labels that models doubt and that still hold.

    They are those of the latest retraining, whose models were trained without the series of each
    verdict. Before the first one, verdicts are compared with the probability given before them.
    """
    latest = retrainings.latest(connection, retrainings.DONE)
    result = {} if latest is None else latest.result or {}
    if "doubted" not in result:
        verdicts = record.scored_verdicts(connection, 0)
        table = judged_verdicts(verdicts, {})
        numbers = np.array([judged.candidate for judged in verdicts], dtype=np.int64)
        return doubted_labels(numbers, table.real, table.probability)
    labels = [DoubtedLabel(*row) for row in result["doubted"]]
    now = record.still_decided(connection, [label.candidate for label in labels])
    return [label for label in labels if now.get(label.candidate) == label.real]


def informative(connection: sa.Connection) -> list[int]:
    """Return the open candidates whose verdicts would teach most."""
    candidates = record.uncertain_candidates(connection, POOL * LENGTH)
    decided = record.decided_candidates(connection, POOL * LENGTH)
    table = OpenCandidates(
        np.array([candidate.candidate for candidate in candidates], dtype=np.int64),
        np.array([candidate.probability for candidate in candidates], dtype=np.float64),
        looks(candidates),
        np.array([candidate.series for candidate in candidates], dtype=np.int64),
        _numbered([(candidate.project, candidate.order) for candidate in candidates]),
    )
    return most_informative(table, looks(decided), LENGTH)


def judged_verdicts(
    verdicts: Sequence[record.ScoredVerdict], delays: dict[int, int]
) -> JudgedVerdicts:
    """Return verdicts as the weekly record takes them."""
    return JudgedVerdicts(
        np.array([judged.time for judged in verdicts], dtype=np.int64),
        np.array([judged.verdict is Verdict.TRUE_POSITIVE for judged in verdicts], dtype=np.bool_),
        np.array([judged.probability for judged in verdicts], dtype=np.float64),
        np.array([judged.threshold for judged in verdicts], dtype=np.float64),
        _numbered([(judged.project, judged.order) for judged in verdicts]),
        np.array([delays.get(judged.candidate, math.nan) for judged in verdicts], dtype=np.float64),
    )


def looks(candidates: Sequence[record.OpenCandidate]) -> Floats:
    """Return what candidates look like: size, noise and length of the levels on both sides."""
    rows = [_look(candidate) for candidate in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 6)


def _look(candidate: record.OpenCandidate) -> list[float]:
    nan = math.nan
    hazard = nan if candidate.hazard is None else candidate.hazard
    if candidate.before is None or candidate.after is None:
        return [hazard, *[nan] * 5]
    before, after = json.loads(candidate.before), json.loads(candidate.after)
    noise = math.sqrt(max(before["variance"] + after["variance"], 0.0))
    gap = abs(after["mean"] - before["mean"])
    level = abs(before["mean"])
    return [
        hazard,
        gap / noise if noise else nan,
        noise / level if level else nan,
        before["count"],
        after["count"],
        math.sqrt(max(before["variance"], 0.0)) / noise if noise else nan,
    ]


def _numbered(keys: Sequence[tuple[str, int]]) -> Ints:
    """Return a number for each key; equal keys have the same number."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)

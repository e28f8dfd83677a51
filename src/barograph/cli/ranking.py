"""Rank the candidates of a history in memory, and explain those that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from barograph.series import FINAL, Verdict

if TYPE_CHECKING:
    from barograph.history import History
    from barograph.models import TriageModel

NOISE = Verdict.FALSE_POSITIVE.value


def rank(history: History, model: TriageModel, *, triaged: bool) -> list[dict[str, Any]]:
    """Return the candidates of a history with the probability that people would call them real.

    Candidates are found with `Triaged` if the history has none.

    Args:
        history: The series.
        model: A model for the use `label_free`.
        triaged: Whether to include candidates that have a verdict.

    Returns:
        A row for each candidate, the most probable first.
    """
    from barograph.detection import Triaged
    from barograph.detection.reporting import ReportingRule
    from barograph.detection.scoring import score_candidates
    from barograph.history import Candidates

    candidates = history.candidates
    if len(candidates):
        probability = score_candidates(model, history.values, history.offsets, candidates)
    else:
        finder = Triaged(model=model, min_probability=0.0)
        points = finder.find_many(history.values, history.offsets)
        candidates = Candidates.at([[point.index for point in run] for run in points])
        probability = np.array([p.probability for run in points for p in run], dtype=np.float64)
    least = ReportingRule.of(model).min_probability
    places = history.offsets[candidates.series] + candidates.index
    rows = [
        {
            "series": series,
            "index": index,
            "order": int(history.orders[place]),
            "commit": history.commits[place] or None,
            "verdict": verdict,
            "probability": likely,
            "real": likely >= least,
        }
        for series, index, place, verdict, likely in zip(
            candidates.series.tolist(),
            candidates.index.tolist(),
            places.tolist(),
            candidates.verdict.tolist(),
            probability.tolist(),
            strict=True,
        )
        if triaged or verdict not in FINAL
    ]
    return sorted(rows, key=lambda row: (-row["probability"], row["series"], row["index"]))


def add_reasons(
    history: History,
    model: TriageModel,
    shown: Sequence[dict[str, Any]],
    every: Sequence[dict[str, Any]],
) -> None:
    """Add the name of the series and the reasons to the rows that are shown.

    Args:
        history: The series.
        model: The model that scored the rows.
        shown: The rows to explain.
        every: All rows: the candidates of a series bound each other.
    """
    from barograph.detection.scoring import explain_change_points

    numbers = {row["series"] for row in shown}
    places: list[list[int]] = [[] for _ in range(len(history))]
    for row in every:
        # A candidate that a person called noise bounds no other one.
        if row["series"] in numbers and (row in shown or row["verdict"] != NOISE):
            places[row["series"]].append(row["index"])
    places = [sorted(set(indices)) for indices in places]
    explained = explain_change_points(model, history.values, history.offsets, places)
    for row in shown:
        number = row["series"]
        reasons = explained[number][places[number].index(row["index"])]
        row["name"] = str(history[number].id)
        row["reasons"] = [{"text": reason.text, "contribution": reason.part} for reason in reasons]

"""Probabilities of candidates, from the series and the other candidates around them.

A data set is scored in parts of whole series, so that any number of workers gives the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.detection.excursions import Excursion, excursions, fill
from barograph.detection.reporting import ReportingRule
from barograph.features import (
    CONTEXT_NAMES,
    LABEL_FREE,
    Candidates,
    SubSeries,
    contrast_context,
    feature_matrix,
    subseries,
)
from barograph.models import TriageModel
from barograph.series import FINAL, UNKNOWN_TIME, Floats, Ints, Verdict

CERTAIN = 1e-6  # no probability is nearer to 0 or 1 in the mean of log odds


def score_candidates(
    model: TriageModel,
    values: Floats,
    offsets: Ints,
    candidates: Candidates,
    found: Mapping[int, Sequence[Excursion]] | None = None,
) -> Floats:
    """Return the probability of a real change at each candidate.

    Two measures keep a probability from depending on a neighbour that was proposed by chance:

    - Excursions are filled with the level around them, before anything but their own ends is
      scored.
    - A candidate is scored between all its neighbours, and again between those that are at least
      weakly probable and those that are probable. The mean of the log odds counts.

    Args:
        model: A model for the use `label_free`.
        values: The values of all series, concatenated.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        candidates: Every candidate of these series, with its verdict.
        found: The excursions of each series with candidates, if they are known.
    """
    if candidates.index.size == 0:
        return np.empty(0)
    if found is None:
        owners = np.unique(candidates.series).tolist()
        found = {k: excursions(values[offsets[k] : offsets[k + 1]]) for k in owners}
    filled = np.concatenate([values, values])
    at_end = np.zeros(candidates.index.size, dtype=bool)
    for k, runs in found.items():
        if runs:
            own = slice(values.size + offsets[k], values.size + offsets[k + 1])
            filled[own] = fill(values[offsets[k] : offsets[k + 1]], runs)
            ends = [edge for run in runs if run.size > 1 for edge in run]
            at_end |= (candidates.series == k) & np.isin(candidates.index, ends)
    # The ends of an excursion are scored in the series as it is, the others in the filled copy.
    shift = np.where(at_end, 0, values.size)
    first, last = offsets[candidates.series] + shift, offsets[candidates.series + 1] + shift

    def probability(rows: npt.NDArray[np.bool_], bounds: SubSeries) -> Floats:
        moved = tuple(side[rows] + shift[rows] for side in bounds)
        return _probability(model, filled, SubSeries(*moved), first[rows], last[rows])

    among_all = subseries(LABEL_FREE, offsets, candidates)
    alone = probability(np.ones(shift.size, dtype=bool), among_all)
    levels = ReportingRule.of(model).neighbours
    odds = np.tile(_log_odds(alone), (1 + len(levels), 1))
    for row, level in enumerate(levels, start=1):
        bounds = subseries(LABEL_FREE, offsets, _without(candidates, alone < level))
        changed = (bounds.starts != among_all.starts) | (bounds.ends != among_all.ends)
        if changed.any():
            odds[row, changed] = _log_odds(probability(changed, bounds))
    mean: Floats = 1.0 / (1.0 + np.exp(-np.mean(odds, axis=0)))
    return mean


def _without(candidates: Candidates, weak: npt.NDArray[np.bool_]) -> Candidates:
    """Return the candidates, the weak ones as if a person had called them false at first sight.

    So they bound no other candidate.
    """
    first = UNKNOWN_TIME + 1
    return replace(
        candidates,
        verdict=np.where(weak, Verdict.FALSE_POSITIVE.value, candidates.verdict),
        triaged_on=np.where(weak, first, candidates.triaged_on),
        calculated_on=np.maximum(candidates.calculated_on, first + 1),
    )


def _probability(
    model: TriageModel, values: Floats, bounds: SubSeries, first: Ints, last: Ints
) -> Floats:
    context = None
    if not set(CONTEXT_NAMES).isdisjoint(model.columns):
        context = contrast_context(values, *bounds, first, last)
    rows = feature_matrix(values, *bounds, model.feature_set, context=context)
    return model.predict_proba(rows)[:, 1]


def _log_odds(probability: Floats) -> Floats:
    clipped = np.clip(probability, CERTAIN, 1.0 - CERTAIN)
    odds: Floats = np.log(clipped / (1.0 - clipped))
    return odds


class HistoryPart(NamedTuple):
    """The series from `first` to before `last` of the data set in a folder."""

    folder: str
    first: int
    last: int

    def read(self, table: str) -> pa.Table:
        """Read the rows of these series from the table `points` or `candidates`."""
        rows = [("series", ">=", self.first), ("series", "<", self.last)]
        return pq.read_table(Path(self.folder) / f"{table}.parquet", filters=rows)

    def offsets(self, points: pa.Table) -> Ints:
        """Return where the points of each series begin, and the end of the last."""
        owner = points.column("series").to_numpy()
        numbers = np.arange(self.first, self.last + 1)
        return np.searchsorted(owner, numbers).astype(np.int64)


def history_parts(folder: str | Path, size: int) -> list[HistoryPart]:
    """Cut the data set in a folder into parts of at most `size` series."""
    count = pq.read_metadata(Path(folder) / "series.parquet").num_rows
    return [
        HistoryPart(str(folder), first, min(count, first + size)) for first in range(0, count, size)
    ]


def score_part(part: HistoryPart, model: str, use: str, *, triaged: bool) -> pa.Table:
    """Return the candidates of a part with the probability that people would call them real.

    Args:
        part: The series.
        model: Path of a model file; the built-in model if empty.
        use: The use that the model must be made for.
        triaged: Whether to include candidates that have a verdict.
    """
    scorer = _load(model, use)
    points, table = part.read("points"), part.read("candidates")
    candidates = Candidates.of(table)
    candidates = replace(candidates, series=candidates.series - part.first)
    values = points.column("value").to_numpy()
    probability = score_candidates(scorer, values, part.offsets(points), candidates)
    scored = table.select(["series", "index", "order", "commit", "verdict"])
    scored = scored.append_column("probability", pa.array(probability))
    scored = scored.append_column("real", pa.array(probability >= scorer.threshold))
    return scored if triaged else scored.filter(pa.array(~np.isin(candidates.verdict, FINAL)))


@lru_cache(maxsize=4)
def _load(path: str, use: str) -> TriageModel:
    """Load a model once per process."""
    return TriageModel.load(path, use) if path else TriageModel.default(use)

"""Probabilities of candidates, from the series and the other candidates around them.

A data set is scored in parts of whole series, so that any number of workers gives the same table.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.features import (
    CONTEXT_NAMES,
    LABEL_FREE,
    Candidates,
    contrast_context,
    feature_matrix,
    subseries,
)
from barograph.models import TriageModel
from barograph.series import FINAL, Floats, Ints


def score_candidates(
    model: TriageModel, values: Floats, offsets: Ints, candidates: Candidates
) -> Floats:
    """Return the probability of a real change at each candidate, bounded by its neighbours.

    Args:
        model: A model for the use `label_free`.
        values: The values of all series, concatenated.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        candidates: Every candidate of these series, with its verdict.
    """
    if candidates.index.size == 0:
        return np.empty(0)
    bounds = subseries(LABEL_FREE, offsets, candidates)
    context = None
    if not set(CONTEXT_NAMES).isdisjoint(model.columns):
        around = offsets[candidates.series], offsets[candidates.series + 1]
        context = contrast_context(values, *bounds, *around)
    rows = feature_matrix(values, *bounds, model.feature_set, context=context)
    return model.predict_proba(rows)[:, 1]


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

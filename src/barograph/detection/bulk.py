"""Scores of a whole data set, in parts of whole series.

Any number of workers gives the same table.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from barograph.detection.scoring import ReportingRule, score_candidates
from barograph.detection.triaged import all_candidates
from barograph.models import TriageModel
from barograph.results.parquet import candidates_of
from barograph.results.series import FINAL, Floats, Ints

COLUMNS = ["series", "index", "order", "commit", "verdict"]


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


def score_part(
    part: HistoryPart, model: str, use: str, *, triaged: bool, proposed: bool = False
) -> pa.Table:
    """Return the candidates of a part with the probability that people would call them real.

    Args:
        part: The series.
        model: Path of a model file; the built-in model if empty.
        use: The use that the model must be made for.
        triaged: Whether to include candidates that have a verdict.
        proposed: Whether to find candidates with `Triaged`, for a source without any.
    """
    scorer = _load(model, use)
    points = part.read("points")
    values, offsets = points.column("value").to_numpy(), part.offsets(points)
    if proposed:
        table, probability = _proposed(scorer, points, offsets, part.first)
    else:
        proposals = part.read("candidates")
        table, candidates = proposals.select(COLUMNS), candidates_of(proposals)
        candidates = replace(candidates, series=candidates.series - part.first)
        probability = score_candidates(scorer, values, offsets, candidates)
    scored = table.append_column("probability", pa.array(probability))
    real = probability >= ReportingRule.of(scorer).min_probability
    scored = scored.append_column("real", pa.array(real))
    if triaged:
        return scored
    return scored.filter(pc.invert(pc.is_in(scored.column("verdict"), pa.array(FINAL))))


def _proposed(
    model: TriageModel, points: pa.Table, offsets: Ints, first: int
) -> tuple[pa.Table, Floats]:
    """Return the candidates of `Triaged` in every series as a table, and their probabilities."""
    values = points.column("value").to_numpy()
    candidates, probability = all_candidates(model, values, offsets)
    places = offsets[candidates.series] + candidates.index
    rows = points.select(["order", "commit"]).take(pa.array(places))
    columns = {
        "series": pa.array(candidates.series + first, pa.int32()),
        "index": pa.array(candidates.index, pa.int32()),
        "order": rows.column("order"),
        "commit": rows.column("commit"),
        "verdict": pa.array(candidates.verdict.tolist(), pa.string()),
    }
    return pa.table(columns).select(COLUMNS), probability


@lru_cache(maxsize=4)
def _load(path: str, use: str) -> TriageModel:
    return TriageModel.load(path, use) if path else TriageModel.default(use)

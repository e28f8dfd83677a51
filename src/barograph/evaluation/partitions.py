"""A part of a data set, read and judged by itself: the same answer on any worker.

A part is a range of whole series, read from the Parquet tables by their row groups; a series is
never split. The functions are pure: files in, a table out.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.detection.scoring import score_candidates
from barograph.features.subseries import Candidates
from barograph.models import TriageModel
from barograph.series import FINAL, Ints


class Part(NamedTuple):
    """The series from `first` to before `last` of the tables in a folder."""

    folder: str
    first: int
    last: int


def parts_of(folder: str | Path, size: int) -> list[Part]:
    """Cut a data set into parts of so many series."""
    count = pq.read_metadata(Path(folder) / "series.parquet").num_rows
    return [Part(str(folder), first, min(count, first + size)) for first in range(0, count, size)]


def classified(part: Part, model: str, use: str, *, triaged: bool) -> pa.Table:
    """Say how likely people would call each candidate of a part real, bounded label-free.

    Args:
        part: which series.
        model: path of an artifact; nothing for the shipped one.
        use: what it must be made for.
        triaged: tell also of those that have a verdict.
    """
    scorer = loaded(model, use)
    points, table = rows_of(part, "points"), rows_of(part, "candidates")
    around = Candidates.of(table)
    mine = Candidates(
        around.series - part.first,
        around.index,
        around.verdict,
        around.calculated_on,
        around.triaged_on,
    )
    offsets = offsets_of(part, points)
    probability = score_candidates(scorer, points.column("value").to_numpy(), offsets, mine)
    names = ["series", "index", "order", "commit", "verdict"]
    answer = table.select(names).append_column("probability", pa.array(probability))
    answer = answer.append_column("real", pa.array(probability >= scorer.threshold))
    if triaged:
        return answer
    return answer.filter(pa.array(~np.isin(around.verdict, FINAL)))


@lru_cache(maxsize=4)
def loaded(path: str, use: str) -> TriageModel:
    """Load a model once in each process; no path: the one that is shipped."""
    return TriageModel.load(path, use) if path else TriageModel.default(use)


def rows_of(part: Part, name: str) -> pa.Table:
    """Read the rows of a part from one of the three tables."""
    wanted = [("series", ">=", part.first), ("series", "<", part.last)]
    return pq.read_table(Path(part.folder) / f"{name}.parquet", filters=wanted)


def offsets_of(part: Part, points: pa.Table) -> Ints:
    """Return where the points of each series of a part begin, and the end of the last."""
    owner = points.column("series").to_numpy()
    numbers = np.arange(part.first, part.last + 1)
    return np.searchsorted(owner, numbers).astype(np.int64)

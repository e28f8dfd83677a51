"""A data set in a folder, in parts of whole series that processes read by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.results.series import Ints


class HistoryPart(NamedTuple):
    """The series from `first` to before `last` of the data set in a folder."""

    folder: str
    first: int
    last: int

    def points(self) -> tuple[pa.Table, Ints]:
        """Return the points of these series, where those of each begin, and the end of the last."""
        rows = [("series", ">=", self.first), ("series", "<", self.last)]
        points = pq.read_table(Path(self.folder) / "points.parquet", filters=rows)
        numbers = np.arange(self.first, self.last + 1)
        offsets = np.searchsorted(points.column("series").to_numpy(), numbers)
        return points, offsets.astype(np.int64)


def history_parts(folder: str | Path, size: int) -> list[HistoryPart]:
    """Cut the data set in a folder into parts of at most `size` series."""
    count = pq.read_metadata(Path(folder) / "series.parquet").num_rows
    return [
        HistoryPart(str(folder), first, min(count, first + size)) for first in range(0, count, size)
    ]

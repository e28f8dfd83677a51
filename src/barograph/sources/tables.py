"""Write the tables.

Row groups of `series` and `points` end with the same series.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.parquet import SCHEMAS, column_of, dates, run_columns, series_columns
from barograph.repeats import Repeats
from barograph.sources.base import SeriesColumns

GROUP = 1 << 18  # points; about 20 MB in memory
SERIES_WEIGHT = 8  # points that take as much memory as an identity


class TableWriter:
    """Writes one of the three tables of `barograph.history`, row group by row group."""

    def __init__(self, folder: Path, name: str) -> None:
        self.schema = SCHEMAS[name]
        self._writer = pq.ParquetWriter(
            folder / f"{name}.parquet",
            self.schema,
            compression="zstd",
            # Text repeats (a commit measures many series); for numbers a dictionary only costs
            # time.
            use_dictionary=[f.name for f in self.schema if pa.types.is_string(f.type)],
        )

    def write(self, columns: list[pa.Array]) -> None:
        """Write one row group."""
        table = pa.Table.from_arrays(columns, schema=self.schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def __enter__(self) -> Self:
        """Return self; the file is open already."""
        return self

    def __exit__(self, *error: object) -> None:
        """Write the footer and close the file."""
        self._writer.close()


class SeriesWriter:
    """Writes the series and the points table together.

    Attributes:
        series: The number of series so far.
        points: The number of points so far.
        ends: For each row group of points, the number of the series after its last one.
    """

    def __init__(self, series: TableWriter, points: TableWriter) -> None:
        self._series, self._points = series, points
        self._waiting: list[SeriesColumns] = []
        self._size = 0
        self.series = 0
        self.points = 0
        self.ends: list[int] = []

    def add(self, columns: SeriesColumns) -> bool:
        """Add the next series; return whether a row group was written.

        A row group ends with the series that fills it, independently of the source's batches, so
        the same series give the same files.
        """
        weights = columns.counts + SERIES_WEIGHT
        groups, start, count = len(self.ends), 0, len(columns.ids)
        while start < count:
            # Up to and including the series that fills the group, or all remaining ones.
            filled = self._size + np.cumsum(weights[start:])
            stop = min(start + int(np.searchsorted(filled, GROUP)) + 1, count)
            self._waiting.append(columns.part(start, stop))
            self._size = int(filled[stop - start - 1])
            start = stop
            if self._size >= GROUP:
                self.flush()
        return len(self.ends) > groups

    def flush(self) -> None:
        """Write the waiting series as one row group of each table."""
        if not self._waiting:
            return
        waiting, self._waiting, self._size = self._waiting, [], 0
        ids = [identity for columns in waiting for identity in columns.ids]
        directions = [sign for columns in waiting for sign in columns.directions]
        self._series.write(series_columns(ids, directions, ()))
        counts = np.concatenate([columns.counts for columns in waiting])
        numbers = np.arange(self.series, self.series + len(ids), dtype=np.int32)
        values = np.concatenate([columns.values for columns in waiting])
        self._points.write(
            [
                pa.array(np.repeat(numbers, counts)),
                pa.array(np.concatenate([columns.orders for columns in waiting])),
                pa.concat_arrays([column_of(columns.commits) for columns in waiting]),
                dates(np.concatenate([columns.times for columns in waiting])),
                pa.array(values),
                *run_columns(Repeats.single(values.size)),
            ]
        )
        self.series += len(ids)
        self.points += int(counts.sum())
        self.ends.append(self.series)

"""Write the series and the points as they come, in row groups that end with a series."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.history import SCHEMAS
from barograph.series import UNKNOWN_TIME, Ints
from barograph.sources.contract import SeriesColumns

GROUP = 1 << 18  # points; about 20 MB in memory
SERIES_WEIGHT = 8  # an identity in memory takes about as much as so many points


class TableWriter:
    """One of the three tables of `barograph.history`, written group by group."""

    def __init__(self, folder: Path, name: str) -> None:
        self.schema = SCHEMAS[name]
        self._writer = pq.ParquetWriter(
            folder / f"{name}.parquet",
            self.schema,
            compression="zstd",
            # Text repeats (a commit measures many series) and is worth a dictionary; numbers
            # do not and cost time.
            use_dictionary=[f.name for f in self.schema if pa.types.is_string(f.type)],
        )

    def write(self, columns: list[pa.Array]) -> None:
        """Write one row group."""
        table = pa.Table.from_arrays(columns, schema=self.schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def __enter__(self) -> Self:
        """Nothing to do: the file is open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Write the footer."""
        self._writer.close()


class SeriesWriter:
    """The series and the points tables together; counts rows and remembers the groups."""

    def __init__(self, series: TableWriter, points: TableWriter) -> None:
        self._series, self._points = series, points
        self._waiting: list[SeriesColumns] = []
        self._size = 0
        self.series = 0
        self.points = 0
        self.ends: list[int] = []  # the series below which each row group ends

    def add(self, columns: SeriesColumns) -> bool:
        """Take the next series, in the order of their numbers; whether a group was written.

        A group ends with the series that fills it, however the source cut its batches: the same
        series give the same files.
        """
        weights = columns.counts + SERIES_WEIGHT
        groups, start, count = len(self.ends), 0, len(columns.ids)
        while start < count:
            # Up to and with the series that fills the group, or all that is left.
            filled = self._size + np.cumsum(weights[start:])
            stop = min(start + int(np.searchsorted(filled, GROUP)) + 1, count)
            self._waiting.append(columns.part(start, stop))
            self._size = int(filled[stop - start - 1])
            start = stop
            if self._size >= GROUP:
                self.flush()
        return len(self.ends) > groups

    def flush(self) -> None:
        """Write what waits as one row group of each table."""
        if not self._waiting:
            return
        waiting, self._waiting, self._size = self._waiting, [], 0
        ids = [identity for columns in waiting for identity in columns.ids]
        directions = [one for columns in waiting for one in columns.directions]
        names = zip(
            *((i.project, i.variant, i.task, i.test, i.measurement) for i in ids), strict=True
        )
        texts = [*(list(column) for column in names), [i.args_json for i in ids]]
        self._series.write(
            [*(pa.array(text, pa.string()) for text in texts), pa.array(directions, pa.int8())]
        )
        counts = np.concatenate([columns.counts for columns in waiting])
        numbers = np.arange(self.series, self.series + len(ids), dtype=np.int32)
        self._points.write(
            [
                pa.array(np.repeat(numbers, counts)),
                pa.array(np.concatenate([columns.orders for columns in waiting])),
                pa.concat_arrays([columns.commits for columns in waiting]),
                times_array(np.concatenate([columns.times for columns in waiting])),
                pa.array(np.concatenate([columns.values for columns in waiting])),
            ]
        )
        self.series += len(ids)
        self.points += int(counts.sum())
        self.ends.append(self.series)


def times_array(milliseconds: Ints) -> pa.Array:
    """Milliseconds as the tables hold them, null where unknown."""
    return pa.array(milliseconds, pa.timestamp("ms", tz="UTC"), mask=milliseconds == UNKNOWN_TIME)

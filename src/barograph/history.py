"""A data set: the points and candidates of many series, in three Parquet files of one folder.

The column `series` of the points and the candidates is a row number of the series table. Points
are sorted by series and order. `index` is the 0-based index of a point in its series.
data/README.md describes every column.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.errors import DataError
from barograph.repeats import OTHER_COMMIT, combine
from barograph.series import LABELS, UNKNOWN_TIME, Direction, Floats, Ints, Series, SeriesId

if TYPE_CHECKING:
    import pandas as pd

SERIES_SCHEMA = pa.schema(
    [
        ("project", pa.string()),
        ("variant", pa.string()),
        ("task", pa.string()),
        ("test", pa.string()),
        ("measurement", pa.string()),
        ("args", pa.string()),  # a JSON object with sorted keys, "{}" if empty
        ("direction", pa.int8()),
    ]
)
POINTS_SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("order", pa.int64()),
        ("commit", pa.string()),
        ("time", pa.timestamp("ms", tz="UTC")),
        ("value", pa.float64()),
        ("runs", pa.int32()),
        ("spread", pa.float64()),
        ("results", pa.string()),  # a JSON object of the value of each run by its name
    ]
)
# Tables of points may lack these columns: then every point has one run without a name.
RUN_COLUMNS = ("runs", "spread", "results")
CANDIDATES_SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("index", pa.int32()),
        ("order", pa.int64()),
        ("commit", pa.string()),
        ("verdict", pa.string()),
        ("calculated_on", pa.timestamp("ms", tz="UTC")),
        ("triaged_on", pa.timestamp("ms", tz="UTC")),
        ("algorithm", pa.string()),
    ]
)
SCHEMAS = {"series": SERIES_SCHEMA, "points": POINTS_SCHEMA, "candidates": CANDIDATES_SCHEMA}


@dataclass(frozen=True, repr=False)
class History:
    """A data set in memory: series `k` owns the points `offsets[k]` to `offsets[k + 1]`.

    `len`, an index and iteration give the series.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"test": ["a", "b"], "order": [1, 1], "value": [5.0, 6.0]})
        >>> [(str(series.id), len(series)) for series in History.from_frame(frame)]
        [('a', 1), ('b', 1)]
    """

    series: pa.Table
    offsets: Ints
    orders: Ints
    values: Floats
    commits: pa.ChunkedArray
    times: Ints  # milliseconds since 1970, UNKNOWN_TIME where unknown
    candidates: pa.Table
    repeats: pa.Table | None = None  # RUN_COLUMNS of each point; None: one run each

    @classmethod
    def read(cls, folder: str | Path) -> History:
        """Read the three tables of a folder, and check that they fit together."""
        series = read_table(folder, "series")
        points = read_table(folder, "points")
        candidates = read_table(folder, "candidates")
        owner = points.column("series").to_numpy()
        offsets = np.searchsorted(owner, np.arange(series.num_rows + 1))
        if owner.size and (np.any(np.diff(owner) < 0) or offsets[-1] != owner.size):
            raise DataError(
                f"{folder}/points.parquet: column series must be sorted and below the "
                f"{series.num_rows} rows of series.parquet"
            )
        times = points.column("time").cast(pa.int64()).fill_null(UNKNOWN_TIME)
        return cls(
            series=series,
            offsets=offsets.astype(np.int64),
            orders=points.column("order").to_numpy(),
            values=points.column("value").to_numpy(),
            commits=points.column("commit"),
            times=times.to_numpy(),
            candidates=candidates,
            repeats=points.select(RUN_COLUMNS),
        )

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, name: str = "series", aggregate: str = "median"
    ) -> History:
        """Make a history from a data frame with a result in each row.

        Rows may be in any order. Rows of a series with the same order are runs of one commit, and
        become one point.

        Args:
            frame: The columns `order` and `value`; optionally `commit`, `time`, `run`, `direction`,
                and the columns that name a series: `project`, `variant`, `task`, `test`,
                `measurement`, `args` (a JSON object) and `args.NAME`.
            name: The name of the series if no column names it.
            aggregate: How the runs of a commit become one value: `median` or `mean`.

        Raises:
            DataError: Columns are missing or unknown, or a value cannot be used.

        Example:
            >>> import pandas as pd
            >>> frame = pd.DataFrame({"order": [2, 1, 3], "value": [5.0, 4.0, 6.0]})
            >>> history = History.from_frame(frame.assign(test="insert"))
            >>> history
            History(1 series, 3 points, 0 candidates)
            >>> str(history[0].id), history[0].values.tolist()
            ('insert', [4.0, 5.0, 6.0])
        """
        from barograph.frames import read_frame

        ids, directions, results = read_frame(frame, name)
        combined = combine(results, aggregate)
        if combined.conflicts.size:
            row = int(combined.conflicts[0])
            raise DataError(
                f"frame['commit'][{row}] is {results.commits[row].as_py()!r}; {OTHER_COMMIT}"
            )
        for reason, count in combined.corrected.items():
            warnings.warn(f"frame: {count:,} {reason}", stacklevel=2)
        points, repeats = combined.points, combined.repeats
        labels = [[getattr(identity, label) for identity in ids] for label in LABELS]
        rows = [*labels, [identity.args_json for identity in ids], directions]
        spreads = pa.array(repeats.spreads, mask=np.isnan(repeats.spreads))
        runs = [pa.array(repeats.counts, pa.int32()), spreads, repeats.results]
        return cls(
            series=pa.table(rows, schema=SERIES_SCHEMA),
            offsets=np.searchsorted(points.owners, np.arange(len(ids) + 1)).astype(np.int64),
            orders=points.orders,
            values=points.values,
            commits=pa.chunked_array([points.commits]),
            times=points.times,
            candidates=CANDIDATES_SCHEMA.empty_table(),
            repeats=pa.table(runs, names=RUN_COLUMNS),
        )

    def __repr__(self) -> str:
        """Return the numbers of series, points and candidates."""
        sizes = f"{len(self):,} series, {self.values.size:,} points"
        return f"History({sizes}, {self.candidates.num_rows:,} candidates)"

    def __len__(self) -> int:
        """Return the number of series."""
        return self.offsets.size - 1

    def __getitem__(self, number: int) -> Series:
        """Return a series by its number; the arrays are views, and commits are read on access."""
        if not 0 <= number < len(self):
            raise IndexError(f"no series {number}; there are {len(self)}")
        return self._series(number, self.series.slice(number, 1).to_pylist()[0])

    def __iter__(self) -> Iterator[Series]:
        """Yield every series, in the order of the table."""
        return (self._series(number, row) for number, row in enumerate(self.series.to_pylist()))

    def _series(self, number: int, row: dict[str, Any]) -> Series:
        start, stop = int(self.offsets[number]), int(self.offsets[number + 1])
        return Series(
            SeriesId.from_row(row),
            self.orders[start:stop],
            self.values[start:stop],
            _Commits(self.commits.slice(start, stop - start)),
            self.times[start:stop],
            Direction(row["direction"] or 0),
        )

    def values_of(self, number: int) -> Floats:
        """Return the values of a series, a view: quicker than the whole series."""
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def run_counts(self, number: int) -> Ints:
        """Return the number of runs of each point of a series."""
        start, stop = int(self.offsets[number]), int(self.offsets[number + 1])
        if self.repeats is None:
            return np.ones(stop - start, dtype=np.int64)
        column = self.repeats.column("runs").slice(start, stop - start)
        counts: Ints = column.cast(pa.int64()).fill_null(1).to_numpy()
        return counts

    def runs_of(self, number: int) -> dict[int, dict[str, float]]:
        """Return the value of each run by its name, for the points of a series that name any.

        A point that is missing has one run without a name.
        """
        start, stop = int(self.offsets[number]), int(self.offsets[number + 1])
        if self.repeats is None or stop == start:
            return {}
        texts = self.repeats.column("results").slice(start, stop - start)
        places = np.flatnonzero(texts.is_valid().to_numpy()).tolist()
        found = json.loads(f"[{','.join(texts.drop_null().to_pylist())}]", parse_int=float)
        return dict(zip(places, found, strict=True))

    def identities(self) -> Ints:
        """Return a number for each series, from its identity: the same in every data set."""
        digests = [self.id_of(number).digest[:8] for number in range(len(self))]
        return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)

    def id_of(self, number: int) -> SeriesId:
        """Return the identity of a series."""
        return SeriesId.from_row(self.series.slice(number, 1).to_pylist()[0])


class _Commits(Sequence[str]):
    """The commits of a series, converted one at a time: most readers need few of them."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        return self._column[index].as_py() or ""


def read_table(folder: str | Path, name: str) -> pa.Table:
    """Read one of the three tables; its columns must be those of its schema."""
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        raise DataError(f"{path}: no such file; expected one of the tables {sorted(SCHEMAS)}")
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from error
    schema = SCHEMAS[name]
    missing = [field.name for field in schema if field.name not in table.column_names]
    for column in [column for column in missing if name == "points" and column in RUN_COLUMNS]:
        missing.remove(column)
        table = table.append_column(column, pa.nulls(table.num_rows, schema.field(column).type))
    if missing:
        raise DataError(f"{path}: misses the columns {missing}; has {table.column_names}")
    try:
        return table.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        raise DataError(f"{path}: {error}; expected the columns {schema.names}") from error

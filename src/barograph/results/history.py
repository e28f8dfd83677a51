"""A data set: the points and candidates of many series.

In memory it is a `History`: plain arrays, and texts as `Texts`. In a folder it is three Parquet
tables; data/README.md describes their columns.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from barograph.results.candidates import Candidates
from barograph.results.repeats import AGGREGATES, OTHER_COMMIT, PointRuns, Results, combine
from barograph.results.series import Direction, Floats, Ints, Series, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.extras import needed


@dataclass(frozen=True, repr=False, eq=False)
class History:
    """A data set in memory: series `k` owns the points `offsets[k]` to `offsets[k + 1]`.

    `len`, an index and iteration give the series; -1 is the last one.

    Args:
        ids: The identity of each series.
        directions: The direction of each series.
        offsets: Where the points of each series begin, and where those of the last end.
        orders: The orders of all points, series after series, ascending in each.
        values: The measured values.
        commits: The commits, empty where unknown.
        times: Milliseconds since 1970, `UNKNOWN_TIME` where unknown.
        candidates: Proposed change points, with the verdicts of people.
        runs: The runs of the points that have several, or one with a name; None if there are none.
        units: The unit of each series, "" where unknown; empty if all are unknown.
        made_up: The orders that a reader made of times or places because the files state none; a
            store places these commits itself. Parquet tables do not keep them.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"test": ["a", "b"], "order": [1, 1], "value": [5.0, 6.0]})
        >>> [(str(series.id), len(series)) for series in History.from_frame(frame)]
        [('a', 1), ('b', 1)]
    """

    ids: Sequence[SeriesId]
    directions: Ints
    offsets: Ints
    orders: Ints
    values: Floats
    commits: Texts
    times: Ints
    candidates: Candidates = field(default_factory=lambda: Candidates.of([]))
    runs: PointRuns | None = None
    units: Sequence[str] = ()
    made_up: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def read(cls, folder: str | Path) -> History:
        """Read the Parquet tables of a folder, and check that they fit together.

        Raises:
            DataError: A table is missing or damaged, or they do not fit together.
        """
        with needed("a Parquet table"):
            from barograph.results.parquet import read_columns

        return cls(**read_columns(folder))

    def write(self, folder: str | Path) -> None:
        """Write the three Parquet tables into a folder, all or none."""
        with needed("a Parquet table"):
            from barograph.results.parquet import write_columns

        write_columns(vars(self), folder)

    @classmethod
    def from_results(
        cls, results: Results, aggregate: str = "median"
    ) -> tuple[History, Ints, Counter[str]]:
        """Make a history of results in any order, of which several may be runs of one commit.

        Args:
            results: The results.
            aggregate: How the runs of a commit become one value: `median` or `mean`.

        Returns:
            The history; the rows that name another commit than the first of their order; and the
            number of other rows that were corrected or left out, by reason.

        Example:
            >>> named = SeriesId("", "", "", "a", "")
            >>> results = Results.of([named], [0], [0, 0, 0], [4.0, 6.0, 5.0], orders=[7, 8, 7])
            >>> history, _, _ = History.from_results(results)
            >>> history.values.tolist(), history.runs.values.tolist()
            ([4.5, 6.0], [4.0, 5.0])
        """
        columns, conflicts, corrected = combine(results, aggregate)
        return cls(ids=results.ids, directions=results.directions, **columns), conflicts, corrected

    @classmethod
    def from_frame(cls, frame: Any, *, name: str = "series", aggregate: str = "median") -> History:
        """Make a history from a data frame of pandas or Polars with a result in each row.

        Rows may be in any order. Rows of a series with the same order are runs of one commit, and
        become one point.

        Args:
            frame: The columns `order` and `value`; optionally `commit`, `time`, `run`, `direction`,
                `unit` (it gives the direction if no column does), `branch` (of one branch only),
                and the columns that name a series: `project`, `variant`, `task`, `test`,
                `measurement`, `args` (a JSON object) and `args.NAME`.
            name: The name of the series if no column names it.
            aggregate: How the runs of a commit become one value: `median` or `mean`.

        Raises:
            DataError: Columns are missing or unknown, or a value cannot be used.
            ConfigError: The name is no text, or there is no such aggregate.

        Example:
            >>> import pandas as pd
            >>> frame = pd.DataFrame({"order": [2, 1, 3], "value": [5.0, 4.0, 6.0]})
            >>> history = History.from_frame(frame.assign(test="insert"))
            >>> history
            History(1 series, 3 points, 0 candidates)
            >>> str(history[0].id), history[0].values.tolist()
            ('insert', [4.0, 5.0, 6.0])
        """
        from barograph.results.frames import read_frame

        if not isinstance(name, str):
            raise ConfigError(f"name is {name!r:.40}: it must be text")
        if aggregate not in AGGREGATES:
            raise ConfigError(f"aggregate is {aggregate!r:.40}: allowed are median and mean")
        results = read_frame(frame, name)
        history, conflicts, corrected = cls.from_results(results, aggregate)
        if conflicts.size:
            row = int(conflicts[0])
            raise DataError(f"frame['commit'][{row}] is {results.commits[row]!r}; {OTHER_COMMIT}")
        for reason, count in corrected.items():
            warnings.warn(f"frame: {reason}: {count:,}", stacklevel=2)
        return history

    def __repr__(self) -> str:
        """Return the numbers of series, points and candidates."""
        sizes = f"{len(self):,} series, {self.values.size:,} points"
        return f"History({sizes}, {len(self.candidates):,} candidates)"

    def __len__(self) -> int:
        """Return the number of series."""
        return self.offsets.size - 1

    def __getitem__(self, number: int) -> Series:
        """Return a series by its number; its arrays and commits are views."""
        if not -len(self) <= (given := index(number)) < len(self):
            raise IndexError(f"no series {number}; there are {len(self)}")
        number = given % len(self)
        start, stop = int(self.offsets[number]), int(self.offsets[number + 1])
        return Series(
            self.ids[number],
            self.orders[start:stop],
            self.values[start:stop],
            self.commits[start:stop],
            self.times[start:stop],
            Direction(int(self.directions[number])),
            self.units[number] if self.units else "",
        )

    def __iter__(self) -> Iterator[Series]:
        """Yield every series by its number."""
        return (self[number] for number in range(len(self)))

    def values_of(self, number: int) -> Floats:
        """Return the values of a series, a view: quicker than the whole series."""
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def run_counts(self, number: int) -> Ints:
        """Return the number of runs of each point of a series."""
        size = self.values_of(number).size
        places = [place for place, *_ in self.listed_runs(number)]
        return np.maximum(np.bincount(places, minlength=size), 1)

    def runs_of(self, number: int) -> dict[int, dict[str, float]]:
        """Return the value of each run by its name, for the points of a series that name any.

        A point that is missing has one run without a name.
        """
        found: dict[int, dict[str, float]] = {}
        for place, name, value, _ in self.listed_runs(number):
            found.setdefault(place, {})[name] = value
        return found

    def listed_runs(self, number: int) -> list[tuple[int, str, float, int]]:
        """Return the index of the point, the name, the value and the time of each listed run."""
        if self.runs is None:
            return []
        start, stop = self.offsets[number : number + 2].tolist()
        rows = slice(*np.searchsorted(self.runs.points, (start, stop)).tolist())
        runs = self.runs.take(rows)
        places, values = (runs.points - start).tolist(), runs.values.tolist()
        return list(zip(places, runs.names, values, runs.times.tolist(), strict=True))

    def commit_names(self, places: Ints) -> list[str]:
        """Return the commits of points; a point whose commit is unknown is named by its order."""
        commits = self.commits[places]
        orders = self.orders[places].tolist()
        return [c or f"order {order}" for c, order in zip(commits, orders, strict=True)]

    def identities(self) -> Ints:
        """Return a number for each series, from its identity: the same in every data set."""
        digests = [identity.digest[:8] for identity in self.ids]
        return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)

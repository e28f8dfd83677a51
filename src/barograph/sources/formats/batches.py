"""Build batches of results from records that share a commit and a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from barograph.results.series import UNKNOWN_TIME, Direction, Floats, SeriesId
from barograph.results.texts import Texts
from barograph.sources.formats.base import NO_ORDER, ResultBatch

SIZE = 1 << 15  # results of a batch


def finite_numbers(values: Sequence[object]) -> Floats | None:
    """Return decoded JSON numbers as an array; None if a value is no finite number.

    Example:
        >>> finite_numbers([1, 2.5]), finite_numbers([1, True]), finite_numbers([None])
        (array([1. , 2.5]), None, None)
    """
    if not set(map(type, values)) <= {int, float}:
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    return numbers if np.isfinite(numbers).all() else None


class RecordBatches:
    """Collects the values of records, and returns them in batches.

    Append a kind and a value for each result, then call `end_record`.

    Attributes:
        kinds: For each waiting result, what `kind` returned.
        values: Finite numbers.

    Example:
        >>> batches = RecordBatches()
        >>> p50 = batches.kind(SeriesId("", "", "", "read", "p50"), Direction.UNKNOWN, "ms")
        >>> batches.kinds.append(p50)
        >>> batches.values.append(1.5)
        >>> batches.end_record(commit="a1", time=1000)
        >>> batch = batches.take()
        >>> batch.values.tolist(), list(batch.commits), list(batch.units), len(batches.values)
        ([1.5], ['a1'], ['ms'], 0)
    """

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.values: list[float] = []
        self._known: dict[tuple[SeriesId, int, str], int] = {}
        self._records: list[tuple[str, str, str]] = []
        self._numbers: list[tuple[int, int]] = []
        self._ends: list[int] = []
        self._taken = 0

    def kind(self, series: SeriesId, direction: Direction, unit: str = "") -> int:
        """Return the number of an identity with a direction and a unit."""
        return self._known.setdefault((series, int(direction), unit), len(self._known))

    def end_record(
        self,
        commit: str = "",
        time: int = UNKNOWN_TIME,
        run: str = "",
        branch: str = "",
        order: int | None = None,
    ) -> None:
        """Say what the results since the last record have in common."""
        self._records.append((commit, run, branch))
        self._numbers.append((NO_ORDER if order is None else order, time))
        self._ends.append(len(self.values))

    @property
    def is_full(self) -> bool:
        """Whether there are enough results for a batch."""
        return len(self.values) >= SIZE

    def take(self) -> ResultBatch:
        """Return the waiting results, whose records have ended."""
        ends = np.array([0, *self._ends], dtype=np.int64)
        lengths = ends[1:] - ends[:-1]
        kinds = np.array(self.kinds, dtype=np.int64)
        used, owners = np.unique(kinds, return_inverse=True)
        known = list(self._known)
        described = [known[kind] for kind in used.tolist()]
        numbers = np.array(self._numbers, dtype=np.int64).reshape(-1, 2)
        orders, times = np.repeat(numbers, lengths, axis=0).T
        columns = zip(*self._records, strict=True) if self._records else ((), (), ())
        commits, runs, branches = map(Texts.from_strings, columns)
        rows = np.repeat(np.arange(lengths.size), lengths)
        batch = ResultBatch(
            series=[series for series, _way, _unit in described],
            directions=[way for _series, way, _unit in described],
            owners=owners.astype(np.int64),
            values=np.array(self.values, dtype=np.float64),
            orders=orders,
            times=times,
            commits=commits.take(rows),
            runs=runs.take(rows),
            branches=branches.take(rows),
            units=Texts.from_strings([unit for _series, _way, unit in described]).take(owners),
            rows=self._taken + np.arange(kinds.size),
        )
        self._taken += kinds.size
        for waiting in (self.kinds, self.values, self._records, self._numbers, self._ends):
            waiting.clear()
        return batch

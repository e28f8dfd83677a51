"""New points of many series: their runs are settled first, then they lie in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from barograph.detection.online.newest import Settled, settle
from barograph.detection.online.rule import AlarmState
from barograph.detection.online.views import kept_from
from barograph.results.series import Floats, Ints

VALUES_PER_BATCH = 2_000_000  # bounds the memory for copies of values to 16 MB


class PendingSeries(NamedTuple):
    """The last values of one series, some of which are new.

    Attributes:
        values: The values, oldest first; the value of an earlier commit is its settled one.
        first: Position of the first new value.
        start: Position of the last change point before the new values, 0 if there is none.
        base: Number of older values of the series that are not passed.
        state: The state of the second look, by positions in the whole series.
        runs: The results of all runs of a commit, in the order of the runs, by the position of
            its value among `values`, which holds the first of them. Only of new commits with more
            than one run.
    """

    values: Floats
    first: int
    start: int
    base: int = 0
    state: AlarmState | None = None
    runs: Mapping[int, Floats] = MappingProxyType({})

    def settled(self, history: int) -> tuple[Floats, dict[int, Settled]]:
        """Return the settled value of each commit, and what its runs amount to.

        Args:
            history: Number of values kept, as in `OnlineDetector`.
        """
        values = self.values.copy()
        by_place = {}
        for place in sorted(self.runs):
            begin = max(kept_from(self.base + place, history) - self.base, 0)
            by_place[place] = settle(values[begin:place], self.runs[place])
            values[place] = by_place[place].value
        return values, by_place


@dataclass(frozen=True)
class PendingBatch:
    """New points of many series in flat arrays; a row is a new point.

    Attributes:
        values: The values of all series, concatenated.
        newest: Position of each row in `values`.
        places: Position of each row in its own series.
        kept: Position in `values` of the first value that is kept as each row arrives.
        bounds: The first row of each series, and the end of the last.
        changes: Position in `values` of the last change point of each series.
        states: State of the second look of each series.
        reruns: The rows whose commit has several runs.
    """

    values: Floats
    newest: Ints
    places: Ints
    kept: Ints
    bounds: Ints
    changes: Ints
    states: Sequence[AlarmState | None]
    reruns: Mapping[int, Settled]


def batches_of(
    pending: Sequence[PendingSeries], history: int, *, by_change_points: bool
) -> Iterator[PendingBatch]:
    """Concatenate the settled values that decisions on the new points read.

    Args:
        pending: The series.
        history: Number of values kept of each series, as in `OnlineDetector`.
        by_change_points: Whether no value before the last change point is read.
    """
    if not pending:
        return
    # One pass over the series: their objects lie scattered in memory, which is slow.
    every, first, start, base, states, runs = zip(*pending, strict=True)
    sizes = np.fromiter(map(len, every), np.int64, len(every))
    firsts, starts, bases = (np.array(column, dtype=np.int64) for column in (first, start, base))
    low = np.maximum(kept_from(bases + firsts, history) - bases, 0)
    if by_change_points:
        low = np.maximum(low, starts)
    for part in _parts_of(sizes - low):
        size, cut = sizes[part], low[part]
        counts = size - firsts[part]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        values = list(every[part])
        reruns: dict[int, Settled] = {}
        for k in [k for k, results in enumerate(runs[part]) if results]:
            series = pending[part.start + k]
            values[k], by_place = series.settled(history)
            row = int(bounds[k]) - series.first
            reruns |= {row + place: rerun for place, rerun in by_place.items()}
        ends = np.cumsum(size - cut)
        origins = ends - size  # where the first value of each series is, or would be
        newest = np.arange(bounds[-1]) + np.repeat(ends - bounds[1:], counts)
        origin = np.repeat(origins - bases[part], counts)
        places = newest - origin
        yield PendingBatch(
            np.concatenate([piece[k:] for piece, k in zip(values, cut.tolist(), strict=True)]),
            newest,
            places,
            origin + kept_from(places, history),
            bounds,
            origins + starts[part],
            states[part],
            reruns,
        )


def _parts_of(sizes: Ints) -> Iterator[slice]:
    """Cut a list of series so that no part holds more than VALUES_PER_BATCH values."""
    first = total = 0
    for k, size in enumerate(sizes.tolist()):
        if total and total + size > VALUES_PER_BATCH:
            yield slice(first, k)
            first, total = k, 0
        total += size
    yield slice(first, sizes.size)

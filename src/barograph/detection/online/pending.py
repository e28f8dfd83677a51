"""New points of many series: their runs are settled first, then they lie in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from barograph.detection.online.newest import Settled, advised_reruns, settle
from barograph.detection.online.second_look import AlarmState
from barograph.detection.online.views import kept_from
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
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

    def settled(self, history: int) -> tuple[Self, dict[int, Rerun]]:
        """Return the series with the settled value of each commit, and what its runs amount to.

        Args:
            history: Number of values kept, as in `OnlineDetector`.
        """
        if not self.runs:
            return self, {}
        values = self.values.copy()
        found = {}
        for place in sorted(self.runs):
            begin = max(kept_from(self.base + place, history) - self.base, 0)
            found[place] = Rerun.of(values[begin:place], self.runs[place])
            values[place] = found[place].settled.value
        return self._replace(values=values, runs=MappingProxyType({})), found


class Rerun(NamedTuple):
    """What several runs of one commit amount to.

    Attributes:
        settled: The value that counts, and whether it is a step.
        advised: How many more runs are advised.
    """

    settled: Settled
    advised: int

    @classmethod
    def of(cls, before: Floats, runs: Floats) -> Self:
        """Settle the runs of one commit; see `newest.settle`."""
        return cls(settle(before, runs), advised_reruns(before, runs))


def parts_of(sizes: Ints) -> Iterator[slice]:
    """Cut a list of series so that no part holds more than VALUES_PER_BATCH values."""
    first = held = 0
    for k, size in enumerate(sizes.tolist()):
        if held and held + size > VALUES_PER_BATCH:
            yield slice(first, k)
            first, held = k, 0
        held += size
    if sizes.size:
        yield slice(first, sizes.size)


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
    reruns: Mapping[int, Rerun]

    @classmethod
    def of(cls, pending: Sequence[PendingSeries], low: Sequence[int], history: int) -> Self:
        """Concatenate the settled values of each series from a position on."""
        sizes = np.array([series.values.size for series in pending])
        counts = sizes - [series.first for series in pending]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        pieces: list[Floats] = []
        reruns: dict[int, Rerun] = {}
        for series, k, row in zip(pending, low, bounds.tolist(), strict=False):
            settled, found = series.settled(history)
            pieces.append(settled.values[k:])
            reruns |= {row + place - series.first: rerun for place, rerun in found.items()}
        ends = np.cumsum([piece.size for piece in pieces])
        held = ends - sizes  # where the first value of each series is, or would be
        newest = np.arange(bounds[-1]) + np.repeat(ends - bounds[1:], counts)
        origin = np.repeat(held - [series.base for series in pending], counts)
        places = newest - origin
        return cls(
            np.concatenate(pieces),
            newest,
            places,
            origin + kept_from(places, history),
            bounds,
            held + [series.start for series in pending],
            [series.state for series in pending],
            reruns,
        )

"""The decision engine: what the online detector says of new points, many series in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from barograph.detection.online import AHEAD, Scorer, newest_points
from barograph.detection.online.sight import Sight, sights_for
from barograph.models import TriageModel
from barograph.models.artifact import digest
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
VERSION = 16  # hexadecimal digits
TOGETHER = 8_000_000  # values in one call: what is copied for it stays within 64 MB


class Stretch(NamedTuple):
    """The recent values of one series, the last of them not judged yet.

    Attributes:
        values: oldest first.
        first: the place of the first value to be judged; nothing before it is judged again.
        start: the place of the last change point found before it, 0 where there is none.
    """

    values: Floats
    first: int
    start: int


class Judged(NamedTuple):
    """What was said of the points of many stretches, one behind the other.

    Attributes:
        probability: of a change at each point; 0 for the first one of a series.
        change: whether it was called one.
        pre: how many points it was held against.
        starts: of each stretch, the place of its last change point now.
    """

    probability: Floats
    change: Flags
    pre: Ints
    starts: list[int]


class Judge(Protocol):
    """What the store asks of a decision engine; the answers depend on the values alone."""

    @property
    def version(self) -> str:
        """What the decisions are signed with."""

    @property
    def threshold(self) -> float:
        """The probability from which a point is called a change."""

    @property
    def history(self) -> int:
        """How many points before one it looks at, at most."""

    def judge(self, stretches: Sequence[Stretch]) -> Judged:
        """Judge the new points of every stretch."""


@dataclass(frozen=True)
class OnlineJudge:
    """The online detector over many series: Pre from the last change point found.

    That is Algorithm 1 of Bauer et al. 2022. A model that knows the regime from the values alone
    sees all of the history instead, whatever was called before.

    Args:
        model: scores the rows.
        version: what the decisions are signed with.
        history: Pre holds at most this many points.
    """

    model: Scorer
    version: str
    history: int = 500

    @classmethod
    def of(cls, model: TriageModel, history: int = 500) -> OnlineJudge:
        """Take a model of the safe format, and sign with what its arrays hash to."""
        return cls(model, version_of(model), history)

    @property
    def threshold(self) -> float:
        """The model's."""
        return self.model.threshold

    @cached_property
    def _sight(self) -> Sight:
        return sights_for([self.model.feature_set])[self.model.feature_set]

    def _pre(self, start: int) -> int:
        """Where Pre starts, after a change point at `start`."""
        return start if self._sight.by_change_points else 0

    def judge(self, stretches: Sequence[Stretch]) -> Judged:
        """Judge in rounds: each takes some points of every stretch that has any left.

        What lies behind a change point within a round is judged again in the next, with its own
        Pre; where each series has one new point, one call does it all.
        """
        counts = np.array([one.values.size - one.first for one in stretches], dtype=np.int64)
        ends = np.cumsum(counts)
        total = int(ends[-1]) if ends.size else 0
        answer = Judged(
            np.zeros(total),
            np.zeros(total, dtype=np.bool_),
            np.zeros(total, dtype=np.int64),
            [one.start for one in stretches],
        )
        # Where each stretch goes on; the first points of a series have too little before them.
        at = [max(one.first, self._sight.first) for one in stretches]
        shift = (ends - counts - [one.first for one in stretches]).tolist()
        active = [k for k, one in enumerate(stretches) if at[k] < one.values.size]
        while active:
            for some in self._together(active, at, answer.starts):
                self._round(stretches, some, at, shift, answer)
            active = [k for k in active if at[k] < stretches[k].values.size]
        return answer

    def _together(self, active: list[int], at: list[int], starts: list[int]) -> list[list[int]]:
        """Cut a round so that no call copies too many values."""
        parts: list[list[int]] = [[]]
        held = 0
        for k in active:
            held += min(at[k] - self._pre(starts[k]), self.history) + AHEAD
            if held > TOGETHER and parts[-1]:
                parts.append([])
                held = 0
            parts[-1].append(k)
        return parts

    def _round(
        self,
        stretches: Sequence[Stretch],
        some: list[int],
        at: list[int],
        shift: list[int],
        answer: Judged,
    ) -> None:
        pieces: list[Floats] = []
        starts: list[int] = []
        splits: list[int] = []
        offset = 0
        for k in some:
            values, begin = stretches[k].values, at[k]
            start = self._pre(answer.starts[k])
            low = max(start, begin - self.history)
            high = min(values.size, begin + AHEAD)
            pieces.append(values[low:high])
            for split in range(begin, high):
                splits.append(offset + split - low)
                starts.append(offset + max(start, split - self.history) - low)
            offset += high - low
        begins, places = np.array(starts), np.array(splits)
        scores = newest_points(self.model, np.concatenate(pieces), begins, places)
        hits = scores >= self.threshold
        pre = places - begins
        row = 0
        for k in some:
            size = min(stretches[k].values.size, at[k] + AHEAD) - at[k]
            hit = hits[row : row + size]
            taken = int(hit.argmax()) + 1 if hit.any() else size
            out = slice(shift[k] + at[k], shift[k] + at[k] + taken)
            answer.probability[out] = scores[row : row + taken]
            answer.change[out] = hit[:taken]
            answer.pre[out] = pre[row : row + taken]
            at[k] += taken
            if hit[taken - 1]:
                answer.starts[k] = at[k] - 1
            row += size


def version_of(model: TriageModel) -> str:
    """Return what tells a model from every other: the same arrays, the same version."""
    return digest(model.flat.arrays())[:VERSION]

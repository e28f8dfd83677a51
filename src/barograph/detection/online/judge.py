"""The decision engine: what the online detector says of new points, many series in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from barograph.detection.online.following import Followed
from barograph.detection.online.recent import HISTORY, kept_from
from barograph.detection.online.rounds import Course, Verdicts, follow
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.second_look import Standing
from barograph.detection.online.sight import Sight, sights_for
from barograph.models import TriageModel
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
TOGETHER = 2_000_000  # values in one call: what is copied for it stays within 16 MB


class Stretch(NamedTuple):
    """The recent values of one series, the last of them not judged yet.

    Attributes:
        values: oldest first.
        first: the place of the first value to be judged; nothing before it is judged again.
        start: the place of the last change point found before it, 0 where there is none.
        base: how many older values the series has; what is looked at depends on it.
        standing: what a second look has to know of what came before, by places in the series.
    """

    values: Floats
    first: int
    start: int
    base: int = 0
    standing: Standing | None = None


class Judged(NamedTuple):
    """What was said of the points of many stretches, one behind the other.

    Attributes:
        probability: of a change at each point; 0 for the first one of a series.
        change: whether it was called one.
        pre: how many points it was held against.
        starts: of each stretch, the place of its last change point now.
        looks: of each stretch, what a second look did, where there is one, by places in the
            series.
    """

    probability: Floats
    change: Flags
    pre: Ints
    starts: list[int]
    looks: Sequence[Followed] = ()

    @property
    def said(self) -> Iterator[tuple[float, bool, int]]:
        """Probability, change and Pre, point by point."""
        columns = self.probability.tolist(), self.change.tolist(), self.pre.tolist()
        return zip(*columns, strict=True)


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
        """That of `OnlineDetector`: how many values are held of a series at most."""

    def judge(self, stretches: Sequence[Stretch]) -> Judged:
        """Judge the new points of every stretch."""


@dataclass(frozen=True)
class OnlineJudge:
    """The online detector over many series: Pre from the last change point found.

    That is Algorithm 1 of Bauer et al. 2022. A model that knows the regime from the values alone
    sees all of the history instead, whatever was called before. The answers are those of
    `OnlineDetector` with the same history.

    Args:
        model: scores the rows.
        version: what the decisions are signed with.
        history: as for `OnlineDetector`.
        threads: judge a batch together; by default one on each usable core. The answers do not
            depend on how many there are.
    """

    model: Scorer
    version: str
    history: int = HISTORY
    threads: int | None = None

    @classmethod
    def of(cls, model: TriageModel, history: int = HISTORY) -> OnlineJudge:
        """Take a model of the safe format, and sign with its version."""
        return cls(model, model.version, history)

    @property
    def threshold(self) -> float:
        """The model's."""
        return self.model.threshold

    @cached_property
    def _sight(self) -> Sight:
        return sights_for([self.model.feature_set])[self.model.feature_set]

    def judge(self, stretches: Sequence[Stretch]) -> Judged:
        """Judge some stretches at a time: where each has one new point, one call does it all."""
        size = np.array([one.values.size for one in stretches], dtype=np.int64)
        first = np.array([one.first for one in stretches], dtype=np.int64)
        start = np.array([one.start for one in stretches], dtype=np.int64)
        base = np.array([one.base for one in stretches], dtype=np.int64)
        # Nothing before this is looked at.
        low = lows(stretches, self.history)
        if self._sight.by_change_points:
            low = np.maximum(start, low)
        ends = np.cumsum(size - first)
        verdicts = Verdicts.none(int(ends[-1]) if ends.size else 0)
        for part in parts(size - low):
            values = [one.values[k:] for one, k in zip(stretches[part], low[part], strict=True)]
            behind = np.cumsum(size[part] - low[part])
            held = behind - size[part]  # where the first values held would be
            origin = held - base[part]
            course = Course(
                np.concatenate(values),
                origin,
                # The first points of a series have too little before them.
                np.maximum(held + first[part], origin + self._sight.first),
                behind,
                held + start[part],
                ends[part] - behind,
            )
            self._follow(course, verdicts)
            start[part] = course.start - held
        return Judged(*verdicts, start.tolist())

    def _follow(self, course: Course, verdicts: Verdicts) -> None:
        follow(
            self.model,
            course,
            self.history,
            verdicts,
            by_change_points=self._sight.by_change_points,
            threads=self.threads,
        )


def lows(stretches: Sequence[Stretch], history: int) -> Ints:
    """Return of each stretch the place of the first value that is looked at."""
    base = np.array([one.base for one in stretches], dtype=np.int64)
    first = np.array([one.first for one in stretches], dtype=np.int64)
    low: Ints = np.maximum(kept_from(base + first, history) - base, 0)
    return low


def parts(sizes: Ints) -> Iterator[slice]:
    """Cut a list where more than `TOGETHER` values would be copied at once."""
    first = held = 0
    for k, size in enumerate(sizes.tolist()):
        if held and held + size > TOGETHER:
            yield slice(first, k)
            first, held = k, 0
        held += size
    if sizes.size:
        yield slice(first, sizes.size)

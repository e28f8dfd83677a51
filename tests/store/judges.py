"""Judges that need no model: a plain rule, and the same in the shape of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barograph.detection.online import ANSWERS, Answer, BatchDecisions, PendingSeries
from barograph.detection.online.views import kept_from
from barograph.series import Floats


@dataclass
class Rule:
    """Algorithm 1, one point at a time: a point far from the mean of its Pre is a change."""

    version: str = "rule"
    threshold: float = 0.5
    history: int = 50
    wide: float = 3.0

    def judge(self, stretches: Sequence[PendingSeries]) -> BatchDecisions:
        probability: list[float] = []
        pre: list[int] = []
        starts: list[int] = []
        settled: list[Floats] = [np.empty(0)]
        for values, first, found, base, *_ in stretches:
            settled.append(values[first:])
            start = found
            for split in range(first, values.size):
                begin = max(start, kept_from(base + split, self.history) - base)
                score = self.score(values[begin:split], values[split]) if split else 0.0
                probability.append(score)
                pre.append(split - begin if split else 0)
                if score >= self.threshold:
                    start = split
            starts.append(start)
        scores = np.array(probability)
        answer = np.where(scores >= self.threshold, ANSWERS.index(Answer.CHANGE), 0)
        none = np.zeros(scores.size)
        return BatchDecisions(
            *(scores, answer.astype(np.int8), none, np.concatenate(settled)),
            *(none.astype(np.int8), np.array(pre, dtype=np.int64), starts),
        )

    def score(self, before: Floats, value: float) -> float:
        return float(abs(value - before.mean()) / (abs(value - before.mean()) + self.wide))

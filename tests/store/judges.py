"""Judges that need no model: a plain rule, and the same in the shape of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barograph.detection.online import (
    AlarmLog,
    AlarmState,
    AlarmStep,
    BatchDecisions,
    PendingSeries,
    StepKind,
)
from barograph.detection.online.newest import settle
from barograph.detection.online.views import kept_from
from barograph.results.series import Floats
from barograph.server.store.measurement import CHANGE


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
        logs: list[AlarmLog] = []
        settled: list[float] = []
        reruns: list[int] = []
        for pending in stretches:
            values, base, log = pending.values.copy(), pending.base, AlarmLog(state=pending.state)
            for split in range(pending.first, values.size):
                kept = max(0, kept_from(base + split, self.history) - base)
                reruns.append(0)
                if split in pending.runs:
                    counted = settle(values[kept:split], pending.runs[split])
                    values[split], reruns[-1] = counted.value, counted.advised
                settled.append(float(values[split]))
                known = None if log.state is None else log.state.change
                begin = kept if known is None else max(known - base, kept)
                score = self.score(values[begin:split], values[split]) if split else 0.0
                probability.append(score)
                pre.append(split - begin if split else 0)
                if score >= self.threshold:
                    place = base + split
                    log.alarms.append(place)
                    log.steps.append(AlarmStep(StepKind.CALLED, place, place, score))
                    log.state = AlarmState(place, score, False, 1, score)
                    log.states.append(log.state)
            logs.append(log)
        scores = np.array(probability)
        is_change = scores >= self.threshold
        return BatchDecisions(
            newest=scores,
            probability=scores,
            answer=np.where(is_change, CHANGE, 0).astype(np.int8),
            surprise=np.zeros(scores.size),
            known_since=np.full(scores.size, -1),
            baseline_size=np.array(pre, dtype=np.int64),
            settled=np.array(settled),
            reruns=np.array(reruns),
            logs=logs,
        )

    def score(self, before: Floats, value: float) -> float:
        return float(abs(value - before.mean()) / (abs(value - before.mean()) + self.wide))

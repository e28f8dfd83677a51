"""The second look over many histories at any threshold, from surprises that are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from barograph.detection.online.budget import LOG_WEIGHTS
from barograph.detection.online.decision import StepKind
from barograph.detection.online.second_look import BEFORE, SecondLook, WindowScore, requests
from barograph.learning.online.alarm_rates import Raised
from barograph.learning.online.truth import Truth
from barograph.results.series import Floats


class SecondLookAlarms:
    """The alarms of all windows, by threshold.

    Args:
        truth: The histories.
        surprises: By window, the surprise of each point as the newest one; -inf where there is
            none. All windows of the second look are needed.
    """

    def __init__(self, truth: Truth, surprises: Mapping[int, Floats]) -> None:
        self._truth, self._surprises = truth, surprises
        self._best = np.max([surprises[w] + weight for w, weight in LOG_WEIGHTS.items()], axis=0)

    def __call__(self, threshold: float) -> Raised:
        """Run the second look over all histories."""
        alarms = [
            alarm
            for first, end in pairwise(self._truth.offsets.tolist())
            for alarm in self._of_series(first, end, threshold)
        ]
        indices, places = np.array(alarms, dtype=np.int64).reshape(-1, 2).T.copy()
        return Raised(indices, places)

    def _of_series(self, first: int, end: int, threshold: float) -> Iterator[tuple[int, int]]:
        """Yield point and place of each alarm of the series from `first` to `end`."""
        rule, values = SecondLook(threshold), self._truth.values[first:end].tolist()
        for point, may_alarm in enumerate((self._best[first:end] >= threshold).tolist()):
            if not (may_alarm or rule.is_watching(point)):
                continue

            def sides(split: int, newest: int = point) -> tuple[list[float], list[float]]:
                return values[max(split - BEFORE, 0) : split], values[split : newest + 1]

            step = rule.decide(point, self._scores(rule, first, point), sides)
            if step is not None and step.kind is StepKind.CALLED:
                yield first + point, first + step.index

    def _scores(self, rule: SecondLook, first: int, point: int) -> list[WindowScore]:
        """Return the scores that are known of those that the second look requests."""
        scores = [
            WindowScore(window, split, 0.0, float(self._surprises[window][first + point]))
            for window, split in requests(rule.state, point)
        ]
        return [score for score in scores if np.isfinite(score.surprise)]

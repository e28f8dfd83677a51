"""Models that a reader can compute by hand, in the shape of trained ones."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from barograph.detection.online import Budget, OnlineJudge, TailRates
from barograph.detection.online.second_look import BEFORE
from barograph.detection.online.views import HISTORY
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import TriageModel
from barograph.models.kinds import FittedClassifier
from barograph.results.series import Floats


class HandMade(ABC):
    """A classifier given by a formula; it cannot be saved."""

    kind: ClassVar[str] = "hand-made"

    @abstractmethod
    def real(self, matrix: Floats) -> Floats:
        """The probability of a real change for each row."""

    def predict_proba(self, matrix: Floats) -> Floats:
        real = self.real(matrix)
        return np.column_stack([1.0 - real, real])

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        return 0.5, np.zeros(matrix.shape)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {}


@dataclass(frozen=True)
class Edge(HandMade):
    """Logistic in one column."""

    column: int
    middle: float = 1.8
    slope: float = 4.0

    def real(self, matrix: Floats) -> Floats:
        real: Floats = 1.0 / (1.0 + np.exp(-self.slope * (matrix[:, self.column] - self.middle)))
        return real


class StepOfPaper(HandMade):
    """After is far from the mean of Pre, in its deviations; from the paper's features."""

    def real(self, matrix: Floats) -> Floats:
        level, deviation, newest = (
            matrix[:, FEATURE_SETS["bauer8"].index(name)]
            for name in ("pre_norm_mean", "pre_norm_sd", "after_norm_mean")
        )
        clear = np.clip(np.abs(newest - level) - 6.0 * deviation, 0.0, 1.0)
        return np.where(deviation > 0.0, clear, 0.0)


def hand_made(
    flat: HandMade,
    feature_set: str = "online",
    threshold: float = 0.5,
    card: Mapping[str, Any] | None = None,
) -> TriageModel:
    columns = FEATURE_SETS.get(feature_set, (feature_set,))
    classifier = cast("FittedClassifier", flat)
    return TriageModel("online", feature_set, columns, threshold, classifier, card or {})


def edge_model(feature_set: str = "online", card: Mapping[str, Any] | None = None) -> TriageModel:
    """The farther the edge, the more likely a change."""
    flat = Edge(FEATURE_SETS[feature_set].index("edge"))
    return hand_made(flat, feature_set, card=card)


def paper_model(threshold: float = 0.5) -> TriageModel:
    """Algorithm 1 on the paper's features."""
    return hand_made(StepOfPaper(), "bauer8", threshold)


def edge_judge(history: int = HISTORY) -> OnlineJudge:
    """The pair as a judge."""
    return OnlineJudge(*edge_pair(), history)


def sides_of(values: list[float], split: int) -> tuple[list[float], list[float]]:
    """The last values before a split, and all values since."""
    return values[max(split - BEFORE, 0) : split], values[split:]


def noise(size: int, seed: int = 0) -> Floats:
    return 100.0 + np.random.default_rng(seed).normal(size=size)


def quiet(size: int) -> Floats:
    """Values that never stray: evenly spread within 1 of 100."""
    values: Floats = 100.0 + 2.0 * (0.618034 * np.arange(size, dtype=np.float64) % 1.0 - 0.5)
    return values


def tails_of(model: TriageModel, window: int) -> TailRates:
    """Tail rates on pure noise."""
    probabilities = []
    for k in range(20):
        values = noise(400, 99 + k)
        splits = np.arange(20, values.size - window)
        rows = feature_matrix(
            values, np.zeros_like(splits), splits, splits + window + 1, model.feature_set, threads=1
        )
        probabilities.append(model.predict_proba(rows)[:, 1])
    return TailRates.of(np.concatenate(probabilities))


@cache
def edge_pair() -> tuple[TriageModel, TriageModel, Budget]:
    """Two models and a budget calibrated on noise."""
    first, second = edge_model(), edge_model("confirm")
    tails = {0: tails_of(first, 0)} | {w: tails_of(second, w) for w in (1, 2, 3, 5, 7, 10)}
    return first, second, Budget(tails, 6.0)

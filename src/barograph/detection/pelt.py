"""PELT (Killick et al. 2012) through the package ruptures: a reference, not ours."""

from dataclasses import dataclass

import numpy as np

from barograph.detection.base import Detector, Found, Observations, require
from barograph.detection.levels import fitted


@dataclass(frozen=True)
class Pelt(Detector):
    """The levels that fit best, each paid for with a penalty.

    Args:
        penalty: price of a change point, as a multiple of log(n) and the variance of the noise.
        minimum: least number of points on a level.
    """

    penalty: float = 3.0
    minimum: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.penalty < np.inf, "penalty", self.penalty, "positive and finite")
        require(self.minimum >= 1, "minimum", self.minimum, "at least 1 point")

    @property
    def shortest(self) -> int:
        """Two levels, and enough neighbours to know the noise."""
        return max(2 * self.minimum, 4)

    def find(self, series: Observations) -> list[Found]:
        """Locate the changes between the levels."""
        price = self.penalty * np.log(series.values.size)
        return fitted(series.values, self.minimum, lambda search: search.predict(pen=price))

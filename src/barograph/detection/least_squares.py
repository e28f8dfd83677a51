"""PELT and dynamic programming: levels fitted by least squares, through the package ruptures.

Both are reference detectors. They fit in units of the noise, so that one penalty suits every
series.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats
from barograph.runtime.extras import needed

MINIMUM = 2  # the fewest points of a level


@dataclass(frozen=True)
class _LeastSquares(Detector):
    """Levels that fit a series best.

    The search is `KernelCPD` with the linear kernel: the same optimum as ruptures' `Pelt` and
    `Dynp` with the cost "l2" and no jumps, found by compiled code. The statistic is the increase of
    the squared error, in units of the noise, without the change point.
    """

    @property
    def shortest(self) -> int:
        """Fewest points for two levels and an estimate of the noise."""
        return 2 * MINIMUM

    @abstractmethod
    def _ends(self, size: int) -> dict[str, float]:
        """Return the argument of the search that says how many levels there are."""

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Locate the changes between the levels."""
        noise = noise_level(values)
        if noise == 0.0:
            return []
        with needed(f"detector {type(self).__name__.lower()}"):
            import ruptures

        signal = (values - np.median(values)) / noise
        search = ruptures.KernelCPD(kernel="linear", min_size=MINIMUM).fit(signal)
        edges = [0, *map(int, search.predict(**self._ends(signal.size)))]  # some are NumPy's
        return [
            RawChangePoint(b, _gain(signal[a:b], signal[b:c]))
            for (a, b), (_, c) in pairwise(pairwise(edges))
        ]


@dataclass(frozen=True)
class Pelt(_LeastSquares):
    """Fit levels, each paid for with a penalty (Killick et al. 2012).

    Args:
        penalty: Price of a change point, as a multiple of log(n) and the variance of the noise.

    Example:
        >>> Pelt().detect([1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0])[0].index
        4
    """

    penalty: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.penalty < np.inf, "penalty", self.penalty, "positive and finite")

    def _ends(self, size: int) -> dict[str, float]:
        return {"pen": self.penalty * np.log(size)}


@dataclass(frozen=True)
class Dynp(_LeastSquares):
    """Fit a fixed number of levels, even to a series with fewer changes.

    Args:
        changes: Number of change points to report; fewer in a series too short for them. The
            values of Table 3 of Fleming et al. (F1 2/7 with an index of 1/6) are those of one
            correct point among six.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20
        >>> Dynp(changes=1).fit_predict(values)
        array([60])
    """

    changes: int = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.changes >= 1, "changes", self.changes, "at least 1")

    def _ends(self, size: int) -> dict[str, float]:
        return {"n_bkps": min(self.changes, size // MINIMUM - 1)}


def noise_level(values: Floats) -> float:
    """Return the standard deviation of the noise, estimated from differences of neighbours.

    The median of the differences ignores the changes themselves. Where more than half of the
    neighbours are equal (a quantised series), all differences count. A constant series has 0.
    """
    steps = np.diff(values) / np.sqrt(2.0)
    robust = MAD_TO_SD * float(np.median(np.abs(steps)))
    return robust if robust > 0.0 else float(np.sqrt(np.mean(steps**2)))


def _gain(before: Floats, after: Floats) -> float:
    m, n = before.size, after.size
    return float(m * n / (m + n) * (after.mean() - before.mean()) ** 2)

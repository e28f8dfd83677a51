"""The E-Divisive detector: its parameters, and the division of one series."""

import math
from dataclasses import dataclass, field

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.edivisive.divide import Rules, divide, workspace
from barograph.detection.numerics import power_of_two
from barograph.results.series import Floats


@dataclass(frozen=True)
class EDivisive(Detector):
    """E-Divisive means: divide where the energy statistic is largest, while chance does worse.

    The permutations are seeded, so the same series always has the same change points. `statistic`
    is the energy statistic, `order` the order of discovery, and `pvalue` the share of series, this
    one and its permutations, with a statistic at least as large.

    Args:
        pvalue: Largest p-value of a division that is kept.
        permutations: Number of permutations inside all parts in each round.
        seed: Seed of the permutations.
        alpha: Power of the distances, above 0 and below 2.
        min_size: Fewest points of a part; Daly et al. 2020, 6, use 3.
        middle: Power of the coefficient mn / (m + n), 0 to 1. Below 1, the bias towards the
            middle (Daly et al. 2020, 6) is weaker.
        recent: Number of the newest points to divide, all if None.

    Example:
        >>> EDivisive().detect([1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0])[0].index
        4
    """

    pvalue: float = 0.05
    permutations: int = 100
    seed: int = 0
    alpha: float = field(default=1.0, kw_only=True)
    min_size: int = field(default=3, kw_only=True)
    middle: float = field(default=1.0, kw_only=True)
    recent: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.pvalue < 1, "pvalue", self.pvalue, "between 0 and 1")
        fewest = math.ceil(1 / self.pvalue - 1e-9) - 1
        rule = f"at least {fewest}, or no p-value can be as low as {self.pvalue}"
        require(self.permutations >= fewest, "permutations", self.permutations, rule)
        require(0 <= self.seed < 2**63, "seed", self.seed, "from 0 to 2^63 - 1")
        require(0 < self.alpha < 2, "alpha", self.alpha, "above 0 and below 2")
        require(self.min_size >= 1, "min_size", self.min_size, "at least 1 point")
        require(0 <= self.middle <= 1, "middle", self.middle, "from 0 to 1")
        least = 2 * self.min_size
        require(
            self.recent is None or self.recent >= least, "recent", self.recent, f"{least} or more"
        )

    @property
    def shortest(self) -> int:
        """Fewest points that make two parts."""
        return 2 * self.min_size

    def work(self, points: int) -> float:
        """Return the number of points that a fast detector searches in the same time."""
        return points * self.permutations / 100 * (1.0 if self.alpha == 1.0 else points)

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the change points of a series, or of its recent points."""
        start = max(values.size - self.recent, 0) if self.recent else 0
        scale = power_of_two(values[start:])
        stretch = values[start:] / scale
        points = np.empty(stretch.size, dtype=np.int64)
        statistics = np.empty((stretch.size, 2))
        order = np.argsort(stretch, kind="stable")
        count = divide(stretch, order, self._rules(), workspace(stretch.size), points, statistics)
        with np.errstate(over="ignore"):
            statistics[:count, 0] *= np.power(scale, self.alpha)
        rows = enumerate(zip(points[:count].tolist(), statistics[:count].tolist(), strict=True))
        return sorted(
            (
                RawChangePoint(start + point, energy, pvalue, k, q=energy)
                for k, (point, (energy, pvalue)) in rows
            ),
            key=lambda point: point.index,
        )

    def _rules(self) -> Rules:
        tolerated = math.floor(self.pvalue * (self.permutations + 1) + 1e-9) - 1
        return Rules(
            alpha=float(self.alpha),
            middle=float(self.middle),
            least=self.min_size,
            permutations=self.permutations,
            tolerated=tolerated,
            seed=self.seed,
        )

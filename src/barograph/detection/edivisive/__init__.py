"""E-Divisive means (Matteson and James 2014; Daly et al. 2020)."""

import math
from dataclasses import dataclass, field

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.edivisive.divide import Rules, divide, workspace
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
        min_size: Fewest points of a part; Daly et al. 2020, 6, use 3.

    Example:
        >>> EDivisive().detect([1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0])[0].index
        4
    """

    pvalue: float = 0.05
    permutations: int = 100
    seed: int = 0
    min_size: int = field(default=3, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.pvalue < 1, "pvalue", self.pvalue, "between 0 and 1")
        fewest = math.ceil(1 / self.pvalue - 1e-9) - 1
        rule = f"at least {fewest}, or no p-value can be as low as {self.pvalue}"
        require(self.permutations >= fewest, "permutations", self.permutations, rule)
        require(0 <= self.seed < 2**63, "seed", self.seed, "from 0 to 2^63 - 1")
        require(self.min_size >= 1, "min_size", self.min_size, "at least 1 point")

    @property
    def shortest(self) -> int:
        """Fewest points that make two parts."""
        return 2 * self.min_size

    def work(self, points: int) -> float:
        """Return the number of points that a fast detector searches in the same time."""
        return points * self.permutations / 100

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the change points of a series."""
        points = np.empty(values.size, dtype=np.int64)
        statistics = np.empty((values.size, 2))
        order = np.argsort(values, kind="stable")
        tolerated = math.floor(self.pvalue * (self.permutations + 1) + 1e-9) - 1
        rules = Rules(self.min_size, self.permutations, tolerated, self.seed)
        count = divide(values, order, rules, workspace(values.size), points, statistics)
        rows = enumerate(zip(points[:count].tolist(), statistics[:count].tolist(), strict=True))
        return sorted(
            (
                RawChangePoint(point, energy, pvalue, k, q=energy)
                for k, (point, (energy, pvalue)) in rows
            ),
            key=lambda point: point.index,
        )

"""The E-Divisive detector: its parameters, and the division of one series."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from barograph.detection.base import Detector, Found, Observations, allowed, require
from barograph.detection.edivisive.divide import Rules, divide, room
from barograph.detection.numerics import power_of_two
from barograph.series import Floats

Search = Literal["split", "tau_kappa"]


@dataclass(frozen=True)
class EDivisive(Detector):
    """E-Divisive means: divide where the energy statistic is largest, as long as chance does worse.

    Seeded, so the same series has the same change points. `statistic` is the energy statistic,
    `order` the order of discovery, `pvalue` the share of the series, this one and its permutations,
    that can be divided as well.

    Args:
        pvalue: a division is kept up to this p-value.
        permutations: how many permutations inside all parts stand for chance, anew each round.
        seed: where the permutations start.
        search: "split" passes once over all divisions of a part, with means over n^2 pairs, as
            MongoDB's library does; "tau_kappa" is Matteson and James, as in R's ecp: the second
            part may end before the whole does, with means over the pairs i < k.
        alpha: the power of the distances, above 0 and below 2.
        min_size: the fewest points of a part; Daly et al. 2020, 6, work with 3.
        middle: the power of the coefficient mn / (m + n), 0 to 1. Below 1, the bias towards the
            middle that Daly et al. 2020, 6, describe is weaker; only for search="split".
        recent: look only at so many of the newest points, all if None.
    """

    pvalue: float = 0.05
    permutations: int = 100
    seed: int = 0
    search: Search = "split"
    alpha: float = field(default=1.0, kw_only=True)
    min_size: int = field(default=3, kw_only=True)
    middle: float = field(default=1.0, kw_only=True)
    recent: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed("search", self.search, get_args(Search))
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
        if self.search == "tau_kappa":
            require(self.middle == 1, "middle", self.middle, 'left at 1 with search="tau_kappa"')

    @property
    def shortest(self) -> int:
        """Two parts of the fewest points."""
        return 2 * self.min_size

    def find(self, series: Observations) -> list[Found]:
        """Locate the change points of one series, or of its recent points."""
        skipped = max(series.values.size - self.recent, 0) if self.recent else 0
        return self.divide(series.values, skipped)

    def divide(self, values: Floats, start: int = 0) -> list[Found]:
        """Divide values[start:]; the indices count from the start of the series."""
        scale = power_of_two(values[start:])
        stretch = values[start:] / scale
        points = np.empty(stretch.size, dtype=np.int64)
        found = np.empty((stretch.size, 2))
        order = np.argsort(stretch, kind="stable")
        count = divide(stretch, order, self._rules(), room(stretch.size), points, found)
        with np.errstate(over="ignore"):
            found[:count, 0] *= np.power(scale, self.alpha)
        rows = enumerate(zip(points[:count].tolist(), found[:count].tolist(), strict=True))
        return sorted(
            (Found(start + point, energy, pvalue, k) for k, (point, (energy, pvalue)) in rows),
            key=lambda point: point.index,
        )

    def _rules(self) -> Rules:
        tolerated = math.floor(self.pvalue * (self.permutations + 1) + 1e-9) - 1
        return Rules(
            pairs=self.search == "tau_kappa",
            alpha=float(self.alpha),
            middle=float(self.middle),
            least=self.min_size,
            permutations=self.permutations,
            tolerated=tolerated,
            seed=self.seed,
        )

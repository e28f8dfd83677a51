"""Dynamic programming for a given number of changes, through ruptures: a reference, not ours."""

from dataclasses import dataclass

from barograph.detection.base import Detector, Found, Observations, require
from barograph.detection.levels import fitted


@dataclass(frozen=True)
class Dynp(Detector):
    """The levels that fit best, as many as are asked for, whether they are there or not.

    Args:
        changes: how many change points to report, fewer in a series too short for them. The
            values of Table 3 of Fleming et al. (F1 2/7 with an index of 1/6) are those of one
            right among six.
        minimum: least number of points on a level.
    """

    changes: int = 6
    minimum: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.changes >= 1, "changes", self.changes, "at least 1")
        require(self.minimum >= 1, "minimum", self.minimum, "at least 1 point")

    @property
    def shortest(self) -> int:
        """Two levels, and enough neighbours to know the noise."""
        return max(2 * self.minimum, 4)

    def find(self, series: Observations) -> list[Found]:
        """Locate the changes between the levels."""
        count = min(self.changes, series.values.size // self.minimum - 1)
        return fitted(series.values, self.minimum, lambda search: search.predict(n_bkps=count))

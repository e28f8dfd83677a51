"""SETDS, the method of Perfomalist (Leznik et al. 2022, 2.3), from its published description.

The code of Perfomalist is closed. The description fixes the control limits, the exception value EV
beyond them, and change points at the roots of EV. What it leaves open is a parameter here.
"""

from dataclasses import dataclass

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.features.setds import HOLD, MINIMUM, PATIENCE, SIGMAS, phases
from barograph.results.series import Floats


@dataclass(frozen=True)
class Setds(Detector):
    """Statistical exception and trend detection: find runs that leave the control limits.

    Limits are the mean of a baseline plus and minus `sigmas` standard deviations; the baseline
    holds the points since the last change point, without those of a run in question. EV(t) is
    how far a value lies beyond the nearer limit, signed, 0 inside. A change point is the first
    point of a run over which the cumulative EV leaves 0 and stays away: it returns to 0 when it
    crosses 0 or when `patience` points in a row lie inside, and it has stayed away after `hold`
    points. The statistic is that cumulative EV, in the unit of the values.

    Args:
        sigmas: Half the width of the limits; 3 in the control charts that SETDS extends.
        minimum: Points of baseline before a value is tested; also the smallest distance between
            two change points.
        hold: Points of a run, including the first, that make it a change.
        patience: Consecutive points inside the limits that end a run.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20
        >>> Setds().fit_predict(values)
        array([60])
    """

    sigmas: float = SIGMAS
    minimum: int = MINIMUM
    hold: int = HOLD
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.sigmas < np.inf, "sigmas", self.sigmas, "positive and finite")
        require(self.minimum >= 2, "minimum", self.minimum, "at least 2 points")
        require(self.hold >= 1, "hold", self.hold, "at least 1 point")
        require(self.patience >= 1, "patience", self.patience, "at least 1 point")

    @property
    def shortest(self) -> int:
        """A baseline, and a run outside its limits."""
        return self.minimum + self.hold

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the first point of each new phase."""
        starts, severities, _ = phases(values, self.sigmas, self.minimum, self.hold, self.patience)
        return [
            RawChangePoint(*row) for row in zip(starts.tolist(), severities.tolist(), strict=True)
        ]

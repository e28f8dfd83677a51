"""What the comparison runs on: series with known changes, and the detectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barograph.detection import (
    Dynp,
    EDivisive,
    Gesd,
    Hunter,
    Nothing,
    Pelt,
    Setds,
    StepFit,
    Threshold,
    Triaged,
)
from barograph.detection.base import Detector
from barograph.series import Floats

ONE_PERSON = "one person"
Points = tuple[int, ...]


def default_detectors() -> Mapping[str, Detector]:
    """Return every detector with its default parameters, by the name of its row."""
    return {
        "Triaged": Triaged(),
        "EDivisive": EDivisive(),
        "Hunter": Hunter(),
        "Hunter, parity": Hunter(parity=True),
        "Setds": Setds(),
        "StepFit": StepFit(),
        "Threshold": Threshold(),
        "Gesd": Gesd(),
        "Pelt": Pelt(),
        "Dynp": Dynp(),
        "Nothing": Nothing(),
    }


class Opinion(NamedTuple):
    """The marks of one person, and the change points that they are compared with.

    `reference` is the known truth, or the majority of the other people.
    """

    marks: Points
    reference: Points


@dataclass(frozen=True)
class Case:
    """A series with known changes.

    Attributes:
        series: Name of the series it was made from; intervals resample these.
        scenario: The row of the tables that it counts in.
        values: What a detector sees.
        truth: The change points.
        times: Seconds of each point, for detectors that use them.
        people: One opinion per person.
    """

    series: str
    scenario: str
    values: Floats
    truth: Points
    times: Floats | None = None
    people: tuple[Opinion, ...] = ()

    @property
    def size(self) -> int:
        """The number of points."""
        return self.values.size

    def detected_by(self, detector: Detector, shown: int | None = None) -> Points:
        """Return the indices that a detector reports for all points, or for the first `shown`."""
        times = None if self.times is None else self.times[:shown]
        return tuple(point.index for point in detector.detect(self.values[:shown], times=times))

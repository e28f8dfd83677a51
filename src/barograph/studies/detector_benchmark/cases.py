"""What the comparison runs on: series with known changes, and the detectors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from barograph import detection
from barograph.detection import Hunter
from barograph.detection.base import Detector
from barograph.detection.registry import DETECTORS
from barograph.results.series import Floats
from barograph.studies.detector_benchmark.threshold import Threshold

ONE_PERSON = "one person"
Points = tuple[int, ...]


def default_detectors() -> Mapping[str, Detector]:
    """Return every detector with its default parameters, and variants, by the name of its row."""
    return {
        **{name: getattr(detection, name)() for name in DETECTORS},
        "Hunter, parity": Hunter(parity=True),
        "Threshold": Threshold(),
    }


class Detection(NamedTuple):
    """The change points that a detector or a person reported, and those to compare them with.

    `truth` is the known truth or, for a person, the majority of the others.
    """

    reported: Points
    truth: Points


@dataclass(frozen=True)
class Case:
    """A series with known changes.

    Attributes:
        series: Name of the series it was made from; intervals resample these.
        scenario: The row of the tables that it counts in.
        values: What a detector sees.
        truth: The change points.
        times: Seconds of each point, for `Threshold`.
        people: What each person marked.
    """

    series: str
    scenario: str
    values: Floats
    truth: Points
    times: Floats | None = None
    people: tuple[Detection, ...] = ()

    @property
    def size(self) -> int:
        """The number of points."""
        return self.values.size

    def detected_by(self, detector: Detector, shown: int | None = None) -> Points:
        """Return the indices that a detector reports for all points, or for the first `shown`."""
        if isinstance(detector, Threshold) and self.times is not None:
            detector = replace(detector, times=self.times[:shown])
        return tuple(point.index for point in detector.detect(self.values[:shown]))

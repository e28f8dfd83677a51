import numpy as np

from barograph.detection.registry import DETECTORS
from barograph.studies.detector_cases import Case, Threshold, default_detectors

DAY = 24 * 3600.0


def test_detected_by_passes_the_times() -> None:
    values = 100.0 * 1.02 ** np.arange(20.0)
    case = Case("one", values, np.arange(20.0) * DAY)
    assert case.detected_by(Threshold()) == (7,)
    assert Case("one", values).detected_by(Threshold()) == ()


def test_default_detectors_include_every_detector() -> None:
    names = {type(detector).__name__ for detector in default_detectors().values()}
    assert names == {*DETECTORS, "Threshold", "ControlChart"}

"""Who competes on the ground: every detector with the parameters it has by default."""

from collections.abc import Mapping

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
)
from barograph.detection.base import Detector

ONE_PERSON = "one person"


def contenders() -> Mapping[str, Detector]:
    """Return the detectors by the names of their rows."""
    return {
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

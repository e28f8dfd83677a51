"""Online detection: a decision on the newest commit, and a second look as others follow."""

from typing import TYPE_CHECKING, Any

from barograph.detection.online.budget import Budget, TailRates
from barograph.detection.online.decide import (
    AlarmLog,
    BatchDecisions,
    Judge,
    OnlineJudge,
    PendingSeries,
    make_judge,
)
from barograph.detection.online.decision import (
    ANSWERS,
    AlarmStep,
    Answer,
    Decision,
    Reason,
    StepKind,
)
from barograph.detection.online.newest import Departure, Settled, departure, settle
from barograph.detection.online.second_look import AlarmState

if TYPE_CHECKING:
    from barograph.detection.online.detector import OnlineDetector

__all__ = [
    "ANSWERS",
    "AlarmLog",
    "AlarmState",
    "AlarmStep",
    "Answer",
    "BatchDecisions",
    "Budget",
    "Decision",
    "Departure",
    "Judge",
    "OnlineDetector",
    "OnlineJudge",
    "PendingSeries",
    "Reason",
    "Settled",
    "StepKind",
    "TailRates",
    "departure",
    "make_judge",
    "settle",
]


def __getattr__(name: str) -> Any:
    """Import the detector of single series on first use: commands judge many series together."""
    if name != "OnlineDetector":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from barograph.detection.online.detector import OnlineDetector

    return OnlineDetector

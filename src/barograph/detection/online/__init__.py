"""Online detection: a decision on the newest commit, and a second look as others follow."""

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
from barograph.detection.online.detector import OnlineDetector
from barograph.detection.online.newest import Departure, Settled, departure, settle
from barograph.detection.online.second_look import AlarmState

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

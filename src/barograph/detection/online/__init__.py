"""Online detection: a decision on the newest commit, and a second look as others follow."""

from barograph.detection.online.batch import AlarmLog, BatchDecisions
from barograph.detection.online.budget import ALARM_POLICIES, Budget, TailRates
from barograph.detection.online.decision import (
    ANSWERS,
    AlarmStep,
    Answer,
    Decision,
    Reason,
    StepKind,
)
from barograph.detection.online.detector import OnlineDetector
from barograph.detection.online.judge import (
    Judge,
    OnlineJudge,
    SecondLookConfig,
    make_judge,
)
from barograph.detection.online.newest import Departure, Settled, departure, settle
from barograph.detection.online.pending import PendingSeries
from barograph.detection.online.replay import Replay, replay_many
from barograph.detection.online.rule import AlarmState

__all__ = [
    "ALARM_POLICIES",
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
    "Replay",
    "SecondLookConfig",
    "Settled",
    "StepKind",
    "TailRates",
    "departure",
    "make_judge",
    "replay_many",
    "settle",
]

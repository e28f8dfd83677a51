"""The online detector: a verdict on the newest commit, and a second look as others follow."""

from barograph.detection.online.budget import Budget
from barograph.detection.online.confirming import ConfirmingJudge, SecondLookConfig, make_judge
from barograph.detection.online.decision import Decision, Kind, Reason, Step
from barograph.detection.online.detector import OnlineDetector
from barograph.detection.online.following import Followed, Landed, check_pair, look_again
from barograph.detection.online.judge import Judge, OnlineJudge
from barograph.detection.online.newest import newest_points
from barograph.detection.online.platform import PlatformRates
from barograph.detection.online.replay import Replayed, replay, replay_many
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.second_look import Standing
from barograph.detection.online.tails import TailRates

__all__ = [
    "Budget",
    "ConfirmingJudge",
    "Decision",
    "Followed",
    "Judge",
    "Kind",
    "Landed",
    "OnlineDetector",
    "OnlineJudge",
    "PlatformRates",
    "Reason",
    "Replayed",
    "Scorer",
    "SecondLookConfig",
    "Standing",
    "Step",
    "TailRates",
    "check_pair",
    "look_again",
    "make_judge",
    "newest_points",
    "replay",
    "replay_many",
]

"""Change point detectors, one module each."""

from barograph.detection.base import Nothing
from barograph.detection.batch import detect_many
from barograph.detection.edivisive import EDivisive, IncrementalEDivisive, energy_statistic
from barograph.detection.false_discovery import Discoveries, control_discoveries
from barograph.detection.gesd import Gesd, OutlierTest
from barograph.detection.hunter import Hunter
from barograph.detection.least_squares import Dynp, Pelt
from barograph.detection.online import OnlineDetector
from barograph.detection.setds import Setds
from barograph.detection.stepfit import StepCluster, StepFit, cluster_steps
from barograph.detection.threshold import Threshold
from barograph.detection.triaged import Triaged

__all__ = [
    "Discoveries",
    "Dynp",
    "EDivisive",
    "Gesd",
    "Hunter",
    "IncrementalEDivisive",
    "Nothing",
    "OnlineDetector",
    "OutlierTest",
    "Pelt",
    "Setds",
    "StepCluster",
    "StepFit",
    "Threshold",
    "Triaged",
    "cluster_steps",
    "control_discoveries",
    "detect_many",
    "energy_statistic",
]

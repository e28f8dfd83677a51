"""Change point detectors, one module each, imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barograph.detection.base import Nothing
    from barograph.detection.batch import detect_many
    from barograph.detection.edivisive import EDivisive, energy_statistic
    from barograph.detection.false_discovery import Discoveries, control_discoveries
    from barograph.detection.gesd import Gesd, OutlierTest
    from barograph.detection.hunter import Hunter
    from barograph.detection.least_squares import Dynp, Pelt
    from barograph.detection.online import OnlineDetector
    from barograph.detection.setds import Setds
    from barograph.detection.stepfit import ClusterSettings, StepCluster, StepFit, cluster_steps
    from barograph.detection.triaged import DetectorUnion, Triaged

__all__ = [
    "ClusterSettings",
    "DetectorUnion",
    "Discoveries",
    "Dynp",
    "EDivisive",
    "Gesd",
    "Hunter",
    "Nothing",
    "OnlineDetector",
    "OutlierTest",
    "Pelt",
    "Setds",
    "StepCluster",
    "StepFit",
    "Triaged",
    "cluster_steps",
    "control_discoveries",
    "detect_many",
    "energy_statistic",
]

_MODULES = {
    "DetectorUnion": "triaged",
    "Discoveries": "false_discovery",
    "Dynp": "least_squares",
    "EDivisive": "edivisive",
    "Gesd": "gesd",
    "Hunter": "hunter",
    "Nothing": "base",
    "OnlineDetector": "online",
    "OutlierTest": "gesd",
    "Pelt": "least_squares",
    "Setds": "setds",
    "ClusterSettings": "stepfit",
    "StepCluster": "stepfit",
    "StepFit": "stepfit",
    "Triaged": "triaged",
    "cluster_steps": "stepfit",
    "control_discoveries": "false_discovery",
    "detect_many": "batch",
    "energy_statistic": "edivisive",
}


def __getattr__(name: str) -> object:
    """Import a name on first use: a command needs two or three of the detectors."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value

"""Change point detectors, one module each, imported on first use."""

TYPE_CHECKING = False  # type checkers know the name; importing it from typing would take longer
if TYPE_CHECKING:
    from barograph.detection.batch import detect_many as detect_many
    from barograph.detection.online import OnlineDetector as OnlineDetector
    from barograph.detection.registry import *  # noqa: F403 - every detector
    from barograph.detection.slow import SlowChange as SlowChange
    from barograph.detection.slow import slow_changes as slow_changes
    from barograph.detection.stepfit import ClusterSettings as ClusterSettings
    from barograph.detection.stepfit import StepCluster as StepCluster
    from barograph.detection.stepfit import cluster_steps as cluster_steps
else:  # with it, they would accept any name
    from barograph.detection.registry import DETECTORS

    _MODULES = {
        **DETECTORS,
        "ClusterSettings": "stepfit",
        "OnlineDetector": "online",
        "SlowChange": "slow",
        "StepCluster": "stepfit",
        "cluster_steps": "stepfit",
        "detect_many": "batch",
        "slow_changes": "slow",
    }
    __all__ = list(_MODULES)

    def __getattr__(name: str) -> object:
        """Import a name on first use: a command needs two or three of the detectors."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value

"""Step functions fitted to the shapes of traces, and to clusters of them (Skia)."""

from barograph.detection.stepfit.clusters import (
    ClusterSettings,
    Status,
    StepCluster,
    cluster_steps,
    coalesce,
)
from barograph.detection.stepfit.detector import StepFit

__all__ = ["ClusterSettings", "Status", "StepCluster", "StepFit", "cluster_steps", "coalesce"]

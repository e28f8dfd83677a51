"""The HTTP service: results come in, decisions go back, people give verdicts."""

from barograph.service.app import create_app
from barograph.service.background import BackgroundWorker, RefreshLoop, WorkerConfig
from barograph.service.model_watch import ModelWatch
from barograph.service.retraining import Retraining, RetrainingConfig
from barograph.service.settings import Settings

__all__ = [
    "BackgroundWorker",
    "ModelWatch",
    "RefreshLoop",
    "Retraining",
    "RetrainingConfig",
    "Settings",
    "WorkerConfig",
    "create_app",
]

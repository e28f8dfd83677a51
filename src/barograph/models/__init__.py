"""Models that separate real changes from noise: training, calibration, and the model file."""

from typing import TYPE_CHECKING, Any

from barograph.models.calibration import UNSURE
from barograph.models.triage import OnlineModels, TriageModel
from barograph.runtime.extras import needed

if TYPE_CHECKING:
    from barograph.models.voting import VotingTriage

__all__ = ["UNSURE", "OnlineModels", "TriageModel", "VotingTriage"]


def __getattr__(name: str) -> Any:
    """Import VotingTriage on first use, because serving a model needs no scikit-learn."""
    if name != "VotingTriage":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed(name):
        from barograph.models.voting import VotingTriage

    return VotingTriage

"""Tell real changes from noise: the classifiers and what they are stored as."""

from barograph.models.conformal import UNSURE
from barograph.models.triage import TriageModel
from barograph.models.voting import VotingTriage

__all__ = ["UNSURE", "TriageModel", "VotingTriage"]

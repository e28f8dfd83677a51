"""How early and how right the online detector is on marked histories, and what it learns there."""

from barograph.evaluation.early.fit import Prior
from barograph.evaluation.early.learn import Learned, learn
from barograph.evaluation.early.truth import Truth, majority_changes

__all__ = ["Learned", "Prior", "Truth", "learn", "majority_changes"]

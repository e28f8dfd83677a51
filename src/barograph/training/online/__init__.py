"""How early and how right the online detector is on marked histories, and what it learns there."""

from barograph.training.online.fit import Prior
from barograph.training.online.learn import Learned, learn
from barograph.training.online.truth import Truth

__all__ = ["Learned", "Prior", "Truth", "learn"]

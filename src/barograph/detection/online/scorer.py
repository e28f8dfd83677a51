"""What the online detector needs of a model."""

from collections.abc import Mapping
from typing import Any, Protocol

from barograph.series import Floats


class Scorer(Protocol):
    """A model with its feature set; `models.TriageModel` is one."""

    @property
    def feature_set(self) -> str:
        """The columns that it was trained on."""

    @property
    def threshold(self) -> float:
        """The probability from which a point is called a change."""

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""


def card_of(model: Scorer) -> Mapping[str, Any]:
    """Return what is known of a model's training; nothing of one that has no card."""
    card: Mapping[str, Any] = getattr(model, "card", {})
    return card

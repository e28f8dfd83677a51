"""Which candidates to report: the rule that a model file stores beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barograph.models import TriageModel
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ArtifactError, ConfigError

ENTRY = "reporting"  # the rule's entry in the card of a model
SAME_CHANGE = 5  # points between two candidates that can stand for one change


@dataclass(frozen=True)
class ReportingRule:
    """Reports candidates of at least a probability.

    Attributes:
        min_probability: Candidates below this are not reported, and bound no others when these
            are scored for the second time.

    Example:
        >>> rule = ReportingRule(0.4)
        >>> rule.select([10, 13], [0.9, 0.6], [1.0, 2.0, 3.0]).tolist()
        [0]
    """

    min_probability: float

    def __post_init__(self) -> None:
        """Check the probability."""
        if not 0 <= self.min_probability <= 1:
            raise ConfigError(f"min_probability is {self.min_probability}: it must be from 0 to 1")

    @classmethod
    def of(cls, model: TriageModel) -> ReportingRule:
        """Return the rule of a model, or its threshold if it was made without a rule.

        Raises:
            ArtifactError: The card has a rule that this program cannot read.
        """
        stated = model.card.get(ENTRY)
        if stated is None:
            return cls(min(model.threshold, 1.0))
        try:
            return cls(float(stated["min_probability"]))
        except (ConfigError, KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"the card's {ENTRY!r} is {stated!r}; it must have min_probability, 0 to 1"
            ) from error

    def entry(self, chosen_from: str) -> Mapping[str, Any]:
        """Return the entry of a model's card that `of` reads.

        Args:
            chosen_from: What the rule was chosen from, for people who read the card.
        """
        return {ENTRY: {"min_probability": self.min_probability, "chosen_from": chosen_from}}

    def select(self, index: Ints, probability: Floats, levels: Floats) -> Ints:
        """Return the positions of the candidates of a series that are reported, ascending.

        Two candidates for one change share its evidence: of candidates within `SAME_CHANGE` points
        of each other that change the level in the same direction, the most probable is reported.

        Args:
            index: The candidates, ascending.
            probability: Their probabilities.
            levels: The level before the first, between two, and after the last candidate.
        """
        places, rise = np.asarray(index), np.diff(levels) > 0
        chosen: list[int] = []
        for k in np.argsort(-np.asarray(probability), kind="stable").tolist():
            if probability[k] < self.min_probability:
                break
            near = (j for j in chosen if abs(int(places[k]) - int(places[j])) <= SAME_CHANGE)
            if all(rise[j] != rise[k] for j in near):
                chosen.append(k)
        return np.sort(np.array(chosen, dtype=np.int64))

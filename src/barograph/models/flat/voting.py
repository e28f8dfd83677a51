"""The voting scheme of Leznik et al. 2022 as flat arrays: a threshold, a side and a weight each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, ConfigError
from barograph.models.artifact import Arrays, check_range, finite_array
from barograph.series import Floats, Ints


@dataclass(frozen=True)
class FlatVoting:
    """Weighted votes: a column votes for a real change on one side of its threshold."""

    kind: ClassVar[str] = "voting"
    thresholds: Floats
    above: Floats  # 1 where a column votes from its threshold on, 0 where it votes below
    weights: Floats

    @classmethod
    def of(cls, model: Any) -> FlatVoting:
        """Flatten a fitted VotingTriage; columns that do not vote have no weight."""
        return cls.of_columns(model, np.arange(model.n_features_in_), model.n_features_in_)

    @classmethod
    def of_columns(cls, model: Any, places: Ints, columns: int) -> FlatVoting:
        """Flatten a VotingTriage that was fitted to some columns of a wider matrix."""
        thresholds, above, weights = np.zeros((3, columns))
        voters = places[model.columns_]
        thresholds[voters] = model.thresholds_
        above[voters] = model.above_
        weights[voters] = model.weights_
        if not weights.sum() > 0:
            raise ConfigError("no column has a vote: the voting scheme cannot judge")
        return cls(thresholds, above, weights)

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return one less the score, and the score: the weight of the votes for a change."""
        votes = np.where(self.above == 1, matrix >= self.thresholds, matrix < self.thresholds)
        # A matrix product would round a row differently depending on the number of rows.
        score = (votes * self.weights).sum(axis=1) / self.weights.sum()
        return np.column_stack([1.0 - score, score])

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return 0, and the share that each column's vote has in the score."""
        votes = np.where(self.above == 1, matrix >= self.thresholds, matrix < self.thresholds)
        parts: Floats = votes * (self.weights / self.weights.sum())
        return 0.0, parts

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {"thresholds": self.thresholds, "above": self.above, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatVoting:
        """Restore the model from an artifact's arrays."""
        thresholds, above, weights = (
            finite_array(arrays, name, columns) for name in ("thresholds", "above", "weights")
        )
        check_range("weights", weights)
        if not (np.isin(above, (0, 1)).all() and weights.sum() > 0):
            raise ArtifactError("the votes need sides of 0 or 1, and a weight above 0")
        return cls(thresholds, above, weights)

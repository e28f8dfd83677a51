"""The voting scheme of Leznik et al. 2022 as flat arrays: a threshold, a side and a weight each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, ConfigError
from barograph.features import leznik
from barograph.models.artifact import Arrays, check_range, finite_array
from barograph.series import Flags, Floats, Ints

FEATURES = len(leznik.NAMES)


@dataclass(frozen=True)
class FlatVoting:
    """Weighted votes: a column votes for a real change on one side of its threshold.

    With ranges of its own, the columns of the matrix are the features of both sides, and the votes
    are those of their deltas and distance.
    """

    kind: ClassVar[str] = "voting"
    thresholds: Floats
    above: Floats  # 1 where a column votes from its threshold on, 0 where it votes below
    weights: Floats
    ranges: Floats | None = None

    @classmethod
    def of(cls, model: Any) -> FlatVoting:
        """Flatten a fitted VotingTriage; columns that do not vote have no weight."""
        if model.own_ranges:
            ranges = np.array([model.ranges_[name] for name in leznik.NAMES])
            return cls.of_columns(model, np.arange(FEATURES + 1), FEATURES + 1, ranges)
        return cls.of_columns(model, np.arange(model.n_features_in_), model.n_features_in_)

    @classmethod
    def of_columns(
        cls, model: Any, places: Ints, columns: int, ranges: Floats | None = None
    ) -> FlatVoting:
        """Flatten a VotingTriage that was fitted to some columns of a wider matrix."""
        thresholds, above, weights = np.zeros((3, columns))
        voters = places[model.columns_]
        thresholds[voters] = model.thresholds_
        above[voters] = model.above_
        weights[voters] = model.weights_
        if not weights.sum() > 0:
            raise ConfigError("no column has a vote: the voting scheme cannot judge")
        return cls(thresholds, above, weights, ranges)

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return one less the score, and the score: the weight of the votes for a change."""
        # A matrix product would round a row differently depending on the number of rows.
        score = (self._votes(matrix) * self.weights).sum(axis=1) / self.weights.sum()
        return np.column_stack([1.0 - score, score])

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return 0, and the share that each column's vote has in the score.

        Both sides of a feature share the vote of its delta. They share that of the distance in
        proportion to what the feature adds to it.
        """
        parts: Floats = self._votes(matrix) * (self.weights / self.weights.sum())
        if self.ranges is None:
            return 0.0, parts
        deltas = leznik.differences(matrix)
        widths = np.where(self.ranges > 0.0, self.ranges, np.inf)
        scaled = deltas / widths
        total = scaled.sum(axis=1, keepdims=True)
        shares = np.where(total > 0.0, scaled / np.where(total > 0.0, total, 1.0), 1.0 / FEATURES)
        both = 0.5 * (parts[:, :FEATURES] + shares * parts[:, FEATURES:])
        return 0.0, np.column_stack([both, both])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        arrays = {"thresholds": self.thresholds, "above": self.above, "weights": self.weights}
        return arrays if self.ranges is None else {**arrays, "ranges": self.ranges}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatVoting:
        """Restore the model from an artifact's arrays."""
        ranges = finite_array(arrays, "ranges", FEATURES) if "ranges" in arrays else None
        if ranges is not None:
            check_range("ranges", ranges, high=np.inf)
            if columns != len(leznik.SOURCES):
                raise ArtifactError(
                    f"ranges of the distance need {len(leznik.SOURCES)} columns, not {columns}"
                )
        voters = columns if ranges is None else FEATURES + 1
        thresholds, above, weights = (
            finite_array(arrays, name, voters) for name in ("thresholds", "above", "weights")
        )
        check_range("weights", weights)
        if not (np.isin(above, (0, 1)).all() and weights.sum() > 0):
            raise ArtifactError("the votes need sides of 0 or 1, and a weight above 0")
        return cls(thresholds, above, weights, ranges)

    def _votes(self, matrix: Floats) -> Flags:
        if self.ranges is not None:
            named = dict(zip(leznik.NAMES, self.ranges.tolist(), strict=True))
            matrix = leznik.with_distance(matrix, named)
        return np.where(self.above == 1, matrix >= self.thresholds, matrix < self.thresholds)

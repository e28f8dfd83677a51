"""The stacked model of Leznik et al. 2022 as flat arrays: votes, then boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ConfigError
from barograph.models.artifact import Arrays
from barograph.models.flat.boosted import FlatBoosted
from barograph.models.flat.voting import FlatVoting
from barograph.series import Floats

VOTES = "votes_"  # in the names of arrays: trees have thresholds, too


@dataclass(frozen=True)
class FlatStacked:
    """Boosted trees over the columns and, last, the score of weighted votes of these columns."""

    kind: ClassVar[str] = "stacked"
    voting: FlatVoting
    boosted: FlatBoosted

    @classmethod
    def of(cls, model: Any) -> FlatStacked:
        """Flatten a fitted StackedTriage over XGBoost."""
        if type(model.model_).__name__ != "XGBClassifier":  # importing xgboost is slow
            raise ConfigError(
                f"a stacked model over a {type(model.model_).__name__} has no flat form; use the "
                "default, XGBoost"
            )
        voting = FlatVoting.of_columns(model.voting_, model.voters_, model.n_features_in_)
        return cls(voting, FlatBoosted.of(model.model_))

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""
        return self.boosted.predict_proba(self._stacked(matrix))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the probability at the roots, and each column's part.

        The part of the votes is shared by the columns in proportion to their weights.
        """
        base, parts = self.boosted.parts(self._stacked(matrix))
        weights = self.voting.weights / self.voting.weights.sum()
        shared: Floats = parts[:, :-1] + parts[:, -1:] * weights
        return base, shared

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        votes = {f"{VOTES}{name}": array for name, array in self.voting.arrays().items()}
        return {**votes, **self.boosted.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatStacked:
        """Restore the model from an artifact's arrays."""
        votes = {k.removeprefix(VOTES): v for k, v in arrays.items() if k.startswith(VOTES)}
        voting = FlatVoting.from_arrays(votes, columns)
        return cls(voting, FlatBoosted.from_arrays(arrays, columns + 1))

    def _stacked(self, matrix: Floats) -> Floats:
        return np.column_stack([matrix, self.voting.predict_proba(matrix)[:, 1]])

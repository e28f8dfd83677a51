"""A trained model as the batch path and the service use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError
from barograph.features import FEATURE_SETS
from barograph.models import artifact
from barograph.models.flat import FlatForest
from barograph.series import Floats

USES = ("adaptive", "label_free", "online", "confirm")


@dataclass(frozen=True)
class TriageModel:
    """Says how likely a person would call a candidate real, from a row of features."""

    use: str
    feature_set: str
    columns: tuple[str, ...]
    threshold: float
    forest: FlatForest
    card: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> TriageModel:
        """Load a safe artifact; refuse any other file."""
        header, arrays = artifact.read(path)
        try:
            use, feature_set = str(header["use"]), str(header["feature_set"])
            columns = tuple(map(str, header["columns"]))
            threshold = float(header["threshold"])
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"{path}: the header lacks or garbles {error}") from error
        if use not in USES:
            raise ArtifactError(f"{path}: made for the use {use!r}; known uses: {USES}")
        if FEATURE_SETS.get(feature_set) != columns:
            raise ArtifactError(
                f"{path}: made for the columns {columns} of the feature set {feature_set!r}; "
                f"this program computes {FEATURE_SETS.get(feature_set)}"
            )
        if not 0 <= threshold <= 1:
            raise ArtifactError(f"{path}: the threshold {threshold} lies outside 0 to 1")
        forest = FlatForest.from_arrays(arrays, len(columns))
        return cls(use, feature_set, columns, threshold, forest, header.get("card", {}))

    def save(self, path: str | Path) -> None:
        """Write the safe artifact, whole or not at all."""
        header = {
            "use": self.use,
            "feature_set": self.feature_set,
            "columns": list(self.columns),
            "threshold": self.threshold,
            "card": dict(self.card),
        }
        artifact.write(path, header, self.forest.arrays())

    def predict_proba(self, matrix: npt.ArrayLike) -> Floats:
        """Return the probability of noise and of a real change for each row."""
        rows = np.asarray(matrix, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise ValueError(
                f"expected rows of {len(self.columns)} features {self.columns}, got {rows.shape}"
            )
        bad = np.argwhere(~np.isfinite(rows))
        if bad.size:
            row, column = bad[0]
            raise ValueError(
                f"row {row}, column {self.columns[column]}: {rows[row, column]} is not finite"
            )
        return self.forest.predict_proba(rows)

    def predict(self, matrix: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return 1 where the probability of a real change reaches the threshold."""
        return (self.predict_proba(matrix)[:, 1] >= self.threshold).astype(np.int64)

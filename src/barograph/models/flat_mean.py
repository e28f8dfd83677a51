"""Several boosted models as one: the mean of their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, ConfigError
from barograph.models.checks import Arrays, array
from barograph.models.flat_boosted import FlatBoosted
from barograph.series import Floats

MOST = 64


@dataclass(frozen=True)
class FlatMean:
    """Members that differ in their seeds; steadier together than one of them."""

    kind: ClassVar[str] = "boosted_mean"
    members: tuple[FlatBoosted, ...]

    @classmethod
    def of(cls, model: Any) -> FlatMean:
        """Flatten a fitted VotingClassifier(voting="soft") of XGBClassifiers, equally weighted."""
        if model.voting != "soft" or model.weights is not None:
            raise ConfigError("members are served that vote softly and without weights")
        return cls(tuple(FlatBoosted.of(member) for member in model.estimators_))

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the mean probability of noise and of a real change."""
        found: Floats = np.mean([member.predict_proba(matrix) for member in self.members], axis=0)
        return found

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the mean of the members' bases, and of their parts."""
        bases, parts = zip(*(member.parts(matrix) for member in self.members), strict=True)
        return float(np.mean(bases)), np.mean(parts, axis=0)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        found: dict[str, npt.NDArray[Any]] = {"members": np.array([len(self.members)])}
        for number, member in enumerate(self.members):
            found |= {f"member{number}_{name}": a for name, a in member.arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatMean:
        """Take arrays from an artifact, or say what is wrong with them."""
        count = array(arrays, "members", np.int64, 1)
        if count.size != 1 or not 0 < count[0] <= MOST:
            raise ArtifactError(f"array 'members': expected one number, 1 to {MOST}, got {count}")
        return cls(tuple(_member(arrays, k, columns) for k in range(int(count[0]))))


def _member(arrays: Arrays, number: int, columns: int) -> FlatBoosted:
    prefix = f"member{number}_"
    own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    try:
        return FlatBoosted.from_arrays(own, columns)
    except ArtifactError as error:
        raise ArtifactError(f"member {number}: {error}") from error

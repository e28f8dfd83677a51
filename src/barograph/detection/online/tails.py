"""How rarely a score is reached where nothing changed: what makes windows comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import DataError, NotEnoughDataError
from barograph.series import Floats

LEVELS = 200
_SURE = 1e-9


@dataclass(frozen=True)
class TailRates:
    """The surprise, -ln(share of quiet points that score as high), by the logit of the score.

    Between the levels it is interpolated; beyond the highest it goes on with the logit, so that
    the order of the surest is kept.
    """

    logits: Floats
    surprises: Floats

    @classmethod
    def of(cls, probabilities: npt.ArrayLike) -> TailRates:
        """Learn from held-out scores of points far from any change."""
        z = np.sort(logit(np.asarray(probabilities, dtype=np.float64)))
        if z.size < LEVELS:
            raise NotEnoughDataError(f"{z.size} quiet points: {LEVELS} are needed for tail rates")
        above = np.unique(np.geomspace(1, z.size, LEVELS).astype(np.int64))[::-1]
        levels, first = np.unique(z[z.size - above], return_index=True)
        return cls(levels, -np.log(above[first] / (z.size + 1.0)))

    @classmethod
    def from_card(cls, card: Mapping[str, Any], window: int) -> TailRates:
        """Take them from a model's card; a window between two is read as the shorter one."""
        tails = card.get("tails", {})
        known = sorted(int(name) for name in tails if int(name) <= window)
        if not known:
            raise DataError(f"the model has no tail rates for window {window}: {sorted(tails)}")
        entry: Mapping[str, Sequence[float]] = tails[str(known[-1])]
        return cls(np.array(entry["logits"]), np.array(entry["surprises"]))

    def to_card(self) -> dict[str, list[float]]:
        """Return what a card keeps."""
        return {"logits": self.logits.tolist(), "surprises": self.surprises.tolist()}

    def surprise(self, probability: npt.ArrayLike) -> Floats:
        """Return -ln of the tail rate of each probability."""
        z = logit(np.asarray(probability, dtype=np.float64))
        inner = np.interp(z, self.logits, self.surprises, left=0.0)
        result: Floats = inner + np.maximum(z - self.logits[-1], 0.0)
        return result


def logit(probability: Floats) -> Floats:
    """Return ln(p / (1 - p)) of probabilities kept away from 0 and 1."""
    p = np.clip(probability, _SURE, 1.0 - _SURE)
    result: Floats = np.log(p) - np.log1p(-p)
    return result

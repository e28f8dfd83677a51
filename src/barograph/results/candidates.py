"""Proposed change points of many series, with the verdicts of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from barograph.results.series import UNKNOWN_TIME, Floats, Ints, Verdict
from barograph.results.texts import Texts


@dataclass(frozen=True)
class Candidates:
    """Candidates as columns; dates in milliseconds since 1970, UNKNOWN_TIME where missing.

    The columns from `orders` on are empty where only the bounds of candidates matter. Only an
    exported store has the last three.

    Args:
        series: Number of the series.
        index: 0-based place in the series.
        verdict: One of `Verdict`.
        calculated_on: When the candidate was found.
        triaged_on: When a person gave the verdict.
        orders: The orders of the points.
        commits: The commits of the points.
        algorithms: What found the candidate, as the source says it.
        present: Whether the latest search found the candidate.
        discovery: Number in the order in which that search found the candidates, -1 if unknown.
        q: Energy statistic of E-Divisive or Hunter, NaN if unknown.
    """

    series: Ints
    index: Ints
    verdict: npt.NDArray[np.str_]
    calculated_on: Ints
    triaged_on: Ints
    orders: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    commits: Texts = field(default_factory=lambda: Texts.unknown(0))
    algorithms: Texts = field(default_factory=lambda: Texts.unknown(0))
    present: npt.NDArray[np.bool_] | None = None
    discovery: Ints | None = None
    q: Floats | None = None

    @classmethod
    def of(cls, indices: Sequence[Sequence[int]]) -> Candidates:
        """Return candidates without verdicts and dates, from the places in each series."""
        series = np.repeat(np.arange(len(indices)), [len(places) for places in indices])
        index = np.array([place for places in indices for place in places], dtype=np.int64)
        verdicts = np.full(index.size, Verdict.NOT_TRIAGED.value)
        unknown = np.full(index.size, UNKNOWN_TIME)
        return cls(series, index, verdicts, unknown, unknown)

    def __len__(self) -> int:
        """Return the number of candidates."""
        return self.series.size

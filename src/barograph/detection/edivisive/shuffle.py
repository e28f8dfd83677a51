"""Shuffle inside a stretch: seeded, the same on every machine."""

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel
from barograph.series import Floats, Ints

State = npt.NDArray[np.uint64]

STEP, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
HALF, A, B, C = np.uint64(32), np.uint64(30), np.uint64(27), np.uint64(31)


@kernel
def below(bound: int, state: State) -> int:
    """Return the next number in [0, bound) of the generator SplitMix64."""
    state[0] += STEP
    bits = state[0]
    bits = (bits ^ (bits >> A)) * FIRST
    bits = (bits ^ (bits >> B)) * SECOND
    bits = bits ^ (bits >> C)
    return int(((bits >> HALF) * np.uint64(bound)) >> HALF)


@kernel
def shuffle(values: Floats, ranks: Ints, totals: Floats, state: State) -> None:
    """Permute three arrays alike: rank and distance sum move with a point."""
    for i in range(values.size - 1, 0, -1):
        j = below(i + 1, state)
        values[i], values[j] = values[j], values[i]
        ranks[i], ranks[j] = ranks[j], ranks[i]
        totals[i], totals[j] = totals[j], totals[i]

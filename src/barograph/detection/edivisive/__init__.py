"""E-Divisive means (Matteson and James 2014; Daly et al. 2020).

A series is divided hierarchically: the best part as long as chance does not do as well.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.edivisive.energy import divergence, prepare, reach
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel, kernel_or

State = npt.NDArray[np.uint64]

STEP, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
HALF, A, B, C = np.uint64(32), np.uint64(30), np.uint64(27), np.uint64(31)


@dataclass(frozen=True)
class EDivisive(Detector):
    """E-Divisive means: divide where the energy statistic is largest, while chance does worse.

    The permutations are seeded, so the same series always has the same change points. `statistic`
    is the energy statistic, `order` the order of discovery, and `pvalue` the share of series, this
    one and its permutations, with a statistic at least as large.

    Args:
        pvalue: Largest p-value of a division that is kept.
        permutations: Number of permutations inside all parts in each round.
        seed: Seed of the permutations.
        min_size: Fewest points of a part; Daly et al. 2020, 6, use 3.

    Example:
        >>> EDivisive().detect([1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0])[0].index
        4
    """

    pvalue: float = 0.05
    permutations: int = 100
    seed: int = 0
    min_size: int = field(default=3, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.pvalue < 1, "pvalue", self.pvalue, "between 0 and 1")
        fewest = math.ceil(1 / self.pvalue - 1e-9) - 1
        rule = f"at least {fewest}, or no p-value can be as low as {self.pvalue}"
        require(self.permutations >= fewest, "permutations", self.permutations, rule)
        require(0 <= self.seed < 2**63, "seed", self.seed, "from 0 to 2^63 - 1")
        require(self.min_size >= 1, "min_size", self.min_size, "at least 1 point")

    @property
    def shortest(self) -> int:
        """Fewest points that make two parts."""
        return 2 * self.min_size

    def work(self, points: int) -> float:
        """Return the number of points that a fast detector searches in the same time."""
        return points * self.permutations / 100

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the change points of a series."""
        points = np.empty(values.size, dtype=np.int64)
        statistics = np.empty((values.size, 2))
        order = np.argsort(values, kind="stable")
        tolerated = math.floor(self.pvalue * (self.permutations + 1) + 1e-9) - 1
        rules = Rules(self.min_size, self.permutations, tolerated, self.seed)
        count = divide(values, order, rules, workspace(values.size), points, statistics)
        rows = enumerate(zip(points[:count].tolist(), statistics[:count].tolist(), strict=True))
        return sorted(
            (
                RawChangePoint(point, energy, pvalue, k, q=energy)
                for k, (point, (energy, pvalue)) in rows
            ),
            key=lambda point: point.index,
        )


@kernel
def below(bound: int, state: State) -> int:
    """Return the next number in [0, bound) of the generator SplitMix64."""
    state[0] += STEP
    bits = state[0]
    bits = (bits ^ (bits >> A)) * FIRST
    bits = (bits ^ (bits >> B)) * SECOND
    bits = bits ^ (bits >> C)
    return int(((bits >> HALF) * np.uint64(bound)) >> HALF)


def _shuffle_by_arrays(values: Floats, ranks: Ints, totals: Floats, state: State) -> None:
    """Do the same as `shuffle`, with the numbers that `below` returns in the same order."""
    size = values.size
    if size < 2:
        return
    bits = state[0] + STEP * np.arange(1, size, dtype=np.uint64)
    state[0] = bits[-1]
    bits = (bits ^ (bits >> A)) * FIRST
    bits = (bits ^ (bits >> B)) * SECOND
    bits = bits ^ (bits >> C)
    places = ((bits >> HALF) * np.arange(size, 1, -1, dtype=np.uint64)) >> HALF
    order = [*range(size)]
    for i, j in zip(range(size - 1, 0, -1), places.tolist(), strict=True):
        order[i], order[j] = order[j], order[i]
    chosen = np.array(order)
    for array in (values, ranks, totals):
        array[:] = array[chosen]


@kernel_or(_shuffle_by_arrays)
def shuffle(values: Floats, ranks: Ints, totals: Floats, state: State) -> None:
    """Permute three arrays together: rank and distance sum move with their point."""
    for i in range(values.size - 1, 0, -1):
        j = below(i + 1, state)
        values[i], values[j] = values[j], values[i]
        ranks[i], ranks[j] = ranks[j], ranks[i]
        totals[i], totals[j] = totals[j], totals[i]


# Sums of one part in another order differ by rounding; within this share they are equal.
TIE = 1e-12


class Rules(NamedTuple):
    """The parameters of E-Divisive as the kernel needs them."""

    least: int
    permutations: int
    tolerated: int
    seed: int


# Rows of the working space, with one entry for each point. The sum over all pairs of a part is
# stored at its first point.
CENTRED, TOTALS, EARLIER, TREE, PAIRS, INVERSE = range(6)
RANKS, COUNTS = range(2)


class DivisionSpace(NamedTuple):
    """Arrays that the kernels write to; few, because each call passes them all."""

    numbers: Floats
    whole: Ints


def workspace(size: int) -> DivisionSpace:
    """Allocate the working space for a series of this many points."""
    numbers = np.empty((6, size + 1))
    numbers[INVERSE] = 1.0 / np.maximum(np.arange(size + 1.0), 1.0)
    return DivisionSpace(numbers, np.empty((2, size + 1), dtype=np.int64))


@kernel
def divide(
    values: Floats,
    order: Ints,
    rules: Rules,
    workspace: DivisionSpace,
    points: Ints,
    statistics: Floats,
) -> int:
    """Write the change points in the order of their discovery; return how many there are.

    Row k of `statistics` has the statistic and the p-value of points[k]. A part is named by its
    first point and keeps its best division until it is divided itself (Daly et al. 2020, 2.1).
    """
    size = values.size
    ends, taus, energies = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(rules.seed)
    part, fresh, count = 0, 0, 0
    ends[0] = size
    while True:
        # At first one part is new, later the two halves of the part that was divided.
        for new in range(part, fresh + 1, max(fresh - part, 1)):
            centred, totals = workspace.numbers[CENTRED], workspace.numbers[TOTALS]
            workspace.numbers[PAIRS, new] = prepare(
                values, order, new, ends[new], centred, workspace.whole[RANKS], totals
            )
            taus[new], energies[new] = _best(new, ends[new], rules, workspace)
        part = strongest(size, ends, energies)
        fresh = taus[part]
        if energies[part] <= 0:
            return count
        exceeding = _permute(ends, energies[part], rules, workspace, state)
        if exceeding > rules.tolerated:
            return count
        points[count], statistics[count, 0] = fresh, energies[part]
        statistics[count, 1] = (1 + exceeding) / (1 + rules.permutations)
        ends[part], ends[fresh] = fresh, ends[part]
        count += 1


@kernel
def strongest(size: int, ends: Ints, energies: Floats) -> int:
    """Return the part with the largest energy, the first of equals."""
    best, part = 0, 0
    while part < size:
        if energies[part] > energies[best]:
            best = part
        part = ends[part]
    return best


@kernel
def _permute(
    ends: Ints,
    energy: float,
    rules: Rules,
    workspace: DivisionSpace,
    state: State,
) -> int:
    """Count the permutations, inside every part, whose best division is at least as good.

    The count stops early once it decides that the division is rejected.
    """
    centred, totals, ranks = (
        workspace.numbers[CENTRED],
        workspace.numbers[TOTALS],
        workspace.whole[RANKS],
    )
    exceeding = 0
    for _ in range(rules.permutations):
        part = 0
        while part < ends.size:
            end = ends[part]
            pairs = workspace.numbers[PAIRS, part]
            if end - part >= 2 * rules.least and _could_reach(energy, pairs, end - part):
                shuffle(centred[part:end], ranks[part:end], totals[part:end], state)
                if _best(part, end, rules, workspace)[1] >= energy * (1.0 - TIE):
                    exceeding += 1
                    break
            part = end
        if exceeding > rules.tolerated:
            break
    return exceeding


@kernel
def _could_reach(energy: float, pairs: float, size: int) -> bool:
    """Return whether any order of a part could have so large a statistic.

    The statistic is at most 2 XY / (n + m), and XY at most the sum over all pairs of the part.
    """
    return bool(2.0 * pairs / size >= energy * (1.0 - 2.0 * TIE))


@kernel
def _best(start: int, end: int, rules: Rules, workspace: DivisionSpace) -> tuple[int, float]:
    """Return the best division of a part and its statistic, -1 if the part is too short."""
    if end - start < 2 * rules.least:
        return start, -1.0
    centred, earlier = workspace.numbers[CENTRED, start:end], workspace.numbers[EARLIER, start:end]
    ranks, tree, counts = (
        workspace.whole[RANKS, start:end],
        workspace.numbers[TREE],
        workspace.whole[COUNTS],
    )
    reach(centred, ranks, tree, counts, earlier)
    totals, inverse = workspace.numbers[TOTALS, start:end], workspace.numbers[INVERSE]
    pairs = workspace.numbers[PAIRS, start]
    tau, q = _best_split(earlier, totals, pairs, inverse, rules.least)
    return start + tau, q


@kernel
def _best_split(
    earlier: Floats, totals: Floats, pairs: float, inverse: Floats, least: int
) -> tuple[int, float]:
    """Pass once over all divisions of a part into two."""
    size = earlier.size
    best, best_q = least, -math.inf
    left, rows = 0.0, 0.0
    for t in range(size - least):
        left += earlier[t]
        rows += totals[t]
        n, m = t + 1, size - t - 1
        between, right = rows - 2.0 * left, pairs - rows + left
        q = divergence(left, between, right, n * inverse[m], m * inverse[n])
        if q > best_q and n >= least:
            best, best_q = n, q
    return best, 2.0 * inverse[size] * best_q

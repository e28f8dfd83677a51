"""Hierarchical division: the best of all parts, kept as long as chance does not do as well."""

import math
from typing import NamedTuple

import numpy as np

from barograph.compiled import kernel
from barograph.detection.edivisive.energy import divergence, prepare, reach
from barograph.detection.edivisive.shuffle import State, shuffle
from barograph.detection.tau_kappa import best_pair
from barograph.series import Floats, Ints

# Sums of one part in another order differ by roundings: such a tie counts as one.
TIE = 1e-12


class Rules(NamedTuple):
    """What the kernel needs to know: the parameters of E-Divisive, checked and in numbers."""

    pairs: bool
    alpha: float
    middle: float
    least: int
    permutations: int
    tolerated: int
    seed: int


class Room(NamedTuple):
    """The working arrays, one entry per point: nothing is larger than the series."""

    centred: Floats
    totals: Floats
    behind: Floats
    tree: Floats
    ranks: Ints
    counts: Ints
    rows: Floats
    pairs: Floats
    inverse: Floats
    scratch: Floats


def room(size: int) -> Room:
    """Allocate the working arrays for a series of this many points."""
    floats = np.empty((9, size + 1))
    ranks, counts = np.empty((2, size + 1), dtype=np.int64)
    inverse = 1.0 / np.maximum(np.arange(size + 1.0), 1.0)
    centred, totals, behind, tree, rows, pairs = floats[:6]
    scratch = floats[6:].ravel()
    return Room(centred, totals, behind, tree, ranks, counts, rows, pairs, inverse, scratch)


@kernel
def divide(
    values: Floats, order: Ints, rules: Rules, room: Room, points: Ints, found: Floats
) -> int:
    """Write the change points in the order of their discovery; return how many there are.

    Row k of `found` is the statistic and the p-value of points[k]. A part is named by its first
    point and keeps its best division until it is divided itself (Daly et al. 2020, 2.1).
    """
    size = values.size
    ends, taus, energies = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(rules.seed)
    part, fresh, count = 0, 0, 0
    ends[0] = size
    while True:
        # At first one part is new, then the two halves of the one that was divided.
        for new in range(part, fresh + 1, max(fresh - part, 1)):
            room.pairs[new] = prepare(
                values, order, new, ends[new], rules.alpha, room.centred, room.ranks, room.totals
            )
            taus[new], energies[new] = _best(new, ends[new], rules, room)
        part = _strongest(ends, energies)
        fresh = taus[part]
        if energies[part] <= 0:
            return count
        exceeding = _permute(ends, energies[part], rules, room, state)
        if exceeding > rules.tolerated:
            return count
        points[count], found[count, 0] = fresh, energies[part]
        found[count, 1] = (1 + exceeding) / (1 + rules.permutations)
        ends[part], ends[fresh] = fresh, ends[part]
        count += 1


@kernel
def _strongest(ends: Ints, energies: Floats) -> int:
    best, part = 0, 0
    while part < ends.size:
        if energies[part] > energies[best]:
            best = part
        part = ends[part]
    return best


@kernel
def _permute(
    ends: Ints,
    energy: float,
    rules: Rules,
    room: Room,
    state: State,
) -> int:
    """Count the permutations, inside every part, in which some part divides as well.

    The count ends early when it is too high already: that changes no decision.
    """
    exceeding = 0
    for _ in range(rules.permutations):
        part = 0
        while part < ends.size:
            end = ends[part]
            if _could_reach(energy, part, end, rules, room):
                shuffle(room.centred, room.ranks, room.totals, part, end, state)
                if _best(part, end, rules, room)[1] >= energy * (1.0 - TIE):
                    exceeding += 1
                    break
            part = end
        if exceeding > rules.tolerated:
            break
    return exceeding


@kernel
def _could_reach(energy: float, start: int, end: int, rules: Rules, room: Room) -> bool:
    """Tell whether any order of a part could have so large a statistic.

    The statistic is at most 2 XY / (n + m), and XY at most the sum over all pairs of the part.
    """
    if end - start < 2 * rules.least:
        return False
    if rules.pairs or rules.middle != 1.0:
        return True
    return bool(2.0 * room.pairs[start] / (end - start) >= energy * (1.0 - 2.0 * TIE))


@kernel
def _best(start: int, end: int, rules: Rules, room: Room) -> tuple[int, float]:
    """Return the best division of a part and its statistic, -1 if the part is too short."""
    if end - start < 2 * rules.least:
        return start, -1.0
    reach(room.centred, room.ranks, start, end, rules.alpha, room.tree, room.counts, room.behind)
    if rules.pairs:
        return best_pair(
            room.centred,
            start,
            end,
            rules.least,
            rules.alpha,
            room.behind,
            room.rows,
            room.scratch,
        )
    return _best_split(start, end, rules, room)


@kernel
def _best_split(start: int, end: int, rules: Rules, room: Room) -> tuple[int, float]:
    """Pass once over all divisions of a part into two."""
    total, scale = room.pairs[start], 2.0 / (end - start)
    best, best_q = start, -math.inf
    left, rows = 0.0, 0.0
    for tau in range(start + 1, end - rules.least + 1):
        left += room.behind[tau - 1]
        rows += room.totals[tau - 1]
        n, m = tau - start, end - tau
        between, right = rows - 2.0 * left, total - rows + left
        q = divergence(left, between, right, n * room.inverse[m], m * room.inverse[n])
        if rules.middle != 1.0:
            q *= (0.5 * scale * n * m) ** (rules.middle - 1.0)
        if q > best_q and n >= rules.least:
            best, best_q = tau, q
    return best, scale * best_q

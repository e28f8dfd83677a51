"""Hunter's second step: weak change points are removed from the bottom up.

Fleming et al. 2023, 3.4: the weakest point is removed and its neighbours are tested again, until
every remaining point is significant and large enough.
"""

import numpy as np

from barograph.detection.hunter.windows import t_test
from barograph.detection.numerics import two_sided
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel


@kernel
def merge(
    values: Floats,
    points: Ints,
    energies: Floats,
    pvalues: Floats,
    pvalue: float,
    magnitude: float,
    parity: bool,
) -> int:
    """Remove weak points and their energies, write the p-values, return the number of points.

    Removing a point changes the regions of both neighbours. Apache Otava 0.8.0 tests the two
    points to the right again, so the left one keeps the p-value of a former region. `parity` does
    the same.
    """
    count = points.size
    changes, scratch = np.empty(count), np.empty(values.size)
    first, last = 0, count
    while True:
        for k in range(first, last):
            start = points[k - 1] if k else 0
            end = points[k + 1] if k + 1 < count else values.size
            t, freedom, changes[k] = t_test(values, start, points[k], end, not parity, scratch)
            pvalues[k] = two_sided(t, freedom)
        weakest = _weakest(count, pvalues, changes, pvalue, magnitude)
        if weakest < 0:
            return count
        count -= 1
        for k in range(weakest, count):
            points[k], energies[k] = points[k + 1], energies[k + 1]
            pvalues[k], changes[k] = pvalues[k + 1], changes[k + 1]
        first = max(weakest if parity else weakest - 1, 0)
        last = min(first + 2, count)


@kernel
def _weakest(count: int, pvalues: Floats, changes: Floats, pvalue: float, magnitude: float) -> int:
    """Return the position of the point to remove, -1 if there is none.

    The least significant point, unless it passes; then the smallest change, unless that passes.
    The comparisons are written so that a p-value of NaN in the first place (two equal constants,
    under parity) is removed, as Otava does.
    """
    if count == 0:
        return -1
    worst = 0
    for k in range(1, count):
        if pvalues[k] > pvalues[worst]:
            worst = k
    if not pvalues[worst] < pvalue:
        return worst
    least = 0
    for k in range(1, count):
        if changes[k] < changes[least]:
            least = k
    return -1 if changes[least] > magnitude else least

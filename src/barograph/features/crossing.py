"""Crossing points: how often a side passes its own median.

With a_i = [x_i <= median], the number of i where a_i and a_{i+1} differ.
"""

from barograph.compiled import kernel
from barograph.series import Floats


@kernel
def crossing_points(x: Floats, work: Floats) -> float:
    """Count the crossings; `work` is space as long as the side."""
    for i in range(x.size):
        work[i] = x[i]
    return crossings(x, median(work[: x.size]))


@kernel
def crossings(x: Floats, middle: float) -> float:
    """Count the changes between values up to `middle` and values above it."""
    count = 0
    for i in range(x.size - 1):
        count += (x[i] <= middle) != (x[i + 1] <= middle)
    return float(count)


@kernel
def median(work: Floats) -> float:
    """Return the median; `work` comes back in another order."""
    half = work.size // 2
    high = float(select(work, half))
    if work.size % 2:
        return high
    low = float(work[0])
    for i in range(1, half):
        low = max(low, float(work[i]))
    return (low + high) / 2.0


@kernel
def select(work: Floats, rank: int) -> float:
    """Return the value of this rank (0-based); smaller values end up before it (Hoare)."""
    left, right = 0, work.size - 1
    while left < right:
        _median_of_three(work, left, right)
        pivot = work[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while work[i] < pivot:
                i += 1
            while work[j] > pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if rank <= j:
            right = j
        elif rank >= i:
            left = i
        else:
            break
    return float(work[rank])


@kernel
def _median_of_three(work: Floats, left: int, right: int) -> None:
    """Put the median of the first, middle and last value in the middle: no sorted side is slow."""
    middle = (left + right) // 2
    if work[middle] < work[left]:
        work[left], work[middle] = work[middle], work[left]
    if work[right] < work[left]:
        work[left], work[right] = work[right], work[left]
    if work[right] < work[middle]:
        work[middle], work[right] = work[right], work[middle]

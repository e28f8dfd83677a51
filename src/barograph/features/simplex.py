"""Moves of the simplex of Nelder and Mead (1965); its vertices are the first rows of an array.

Each row holds the coordinates of a point, followed by the function value there. The order of sums
and comparisons is part of the definition, because it decides how the simplex moves.
"""

from barograph.compiled import kernel
from barograph.series import Floats


@kernel
def first_simplex(size: int, workspace: Floats) -> float:
    """Build the other vertices, each one step along one axis; return ten times all steps.

    On every axis the step is a tenth of the largest parameter, so it depends on the scale of the
    data. It grows tenfold until rounding does not hide it.
    """
    step = 0.0
    for i in range(size):
        step = max(step, 0.1 * abs(workspace[0, i]))
    if step == 0.0:
        step = 0.1
    total = 0.0
    for i in range(size):
        copy(size, workspace, i + 1, 0)
        reach = step
        while workspace[i + 1, i] == workspace[0, i]:
            workspace[i + 1, i] = workspace[0, i] + reach
            reach *= 10.0
        total += reach
    return total


@kernel
def extremes(size: int, workspace: Floats, best: int) -> tuple[int, int]:
    """Return the best and the worst vertex; a tie keeps the former best, then the first vertex."""
    low = high = best
    for j in range(size + 1):
        if workspace[j, size] < workspace[low, size]:
            low = j
        if workspace[j, size] > workspace[high, size]:
            high = j
    return low, high


@kernel
def reflect(size: int, workspace: Floats, worst: int, centroid: int, trial: int) -> None:
    """Fill the centroid of all but the worst vertex, and the reflection of the worst through it."""
    for i in range(size):
        total = -workspace[worst, i]
        for j in range(size + 1):
            total += workspace[j, i]
        workspace[centroid, i] = total / size
    blend(size, workspace, trial, 2.0, centroid, -1.0, worst)


@kernel
def blend(size: int, workspace: Floats, out: int, of_a: float, a: int, of_b: float, b: int) -> None:
    """Fill a row with the weighted sum of two rows."""
    for i in range(size):
        workspace[out, i] = of_a * workspace[a, i] + of_b * workspace[b, i]


@kernel
def copy(size: int, workspace: Floats, out: int, row: int) -> None:
    """Copy a row, including its function value."""
    for i in range(size + 1):
        workspace[out, i] = workspace[row, i]


@kernel
def shrink(size: int, workspace: Floats, best: int) -> float:
    """Move every vertex halfway to the best; return the sum of the remaining distances."""
    left = 0.0
    for j in range(size + 1):
        if j != best:
            for i in range(size):
                gap = 0.5 * (workspace[j, i] - workspace[best, i])
                workspace[j, i] = gap + workspace[best, i]
                left += abs(workspace[j, i] - workspace[best, i])
    return left

"""How the simplex of Nelder and Mead (1965) moves; its vertices are the first rows of an array.

Each row holds the coordinates of a point and, behind them, the value there. The order of the sums
and of the comparisons is part of what is defined: it decides which way the simplex goes.
"""

from barograph.compiled import kernel
from barograph.series import Floats


@kernel
def first_simplex(size: int, workspace: Floats) -> float:
    """Build the other vertices, each one step along one axis; return ten times all steps.

    The step is a tenth of the largest parameter for every axis: it depends on the data's scale. It
    grows tenfold where it is lost in rounding.
    """
    step = 0.0
    for i in range(size):
        step = max(step, 0.1 * abs(workspace[0, i]))
    if step == 0.0:
        step = 0.1
    spread = 0.0
    for i in range(size):
        copy(size, workspace, i + 1, 0)
        reach = step
        while workspace[i + 1, i] == workspace[0, i]:
            workspace[i + 1, i] = workspace[0, i] + reach
            reach *= 10.0
        spread += reach
    return spread


@kernel
def extremes(size: int, workspace: Floats, best: int) -> tuple[int, int]:
    """Return the best and the worst vertex; among equals the last best stays, then the first."""
    low = high = best
    for j in range(size + 1):
        if workspace[j, size] < workspace[low, size]:
            low = j
        if workspace[j, size] > workspace[high, size]:
            high = j
    return low, high


@kernel
def reflect(size: int, workspace: Floats, worst: int, centroid: int, trial: int) -> None:
    """Put the centroid of all but the worst vertex, and the reflection of the worst through it."""
    for i in range(size):
        total = -workspace[worst, i]
        for j in range(size + 1):
            total += workspace[j, i]
        workspace[centroid, i] = total / size
    blend(size, workspace, trial, 2.0, centroid, -1.0, worst)


@kernel
def blend(size: int, workspace: Floats, out: int, of_a: float, a: int, of_b: float, b: int) -> None:
    """Put a weighted sum of two rows."""
    for i in range(size):
        workspace[out, i] = of_a * workspace[a, i] + of_b * workspace[b, i]


@kernel
def copy(size: int, workspace: Floats, out: int, row: int) -> None:
    """Copy a row with its value."""
    for i in range(size + 1):
        workspace[out, i] = workspace[row, i]


@kernel
def shrink(size: int, workspace: Floats, best: int) -> float:
    """Halve the way of every vertex to the best; return the sum of what is left."""
    left = 0.0
    for j in range(size + 1):
        if j != best:
            for i in range(size):
                gap = 0.5 * (workspace[j, i] - workspace[best, i])
                workspace[j, i] = gap + workspace[best, i]
                left += abs(workspace[j, i] - workspace[best, i])
    return left

"""Input checks, done once before any kernel runs."""

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints, as_floats, require_finite


def side(values: npt.ArrayLike, name: str) -> Floats:
    """Return one side as a one-dimensional array of finite floats.

    Raises:
        ValueError: The side is empty, not one-dimensional, or holds something that is not a
            finite number; the message names the side, the index and the value.
    """
    array = as_floats(values, name)
    if array.size == 0:
        raise ValueError(f"{name} is empty; it must hold at least one value")
    require_finite(array, name)
    return array


def bounds(starts: npt.ArrayLike, splits: npt.ArrayLike, ends: npt.ArrayLike, size: int) -> Ints:
    """Return the three bounds as rows of one array; both sides of every candidate are non-empty."""
    rows = [_indices(b, n) for b, n in ((starts, "starts"), (splits, "splits"), (ends, "ends"))]
    if not rows[0].size == rows[1].size == rows[2].size:
        raise ValueError(
            "starts, splits and ends must be equally long, but have "
            f"{rows[0].size}, {rows[1].size} and {rows[2].size} entries"
        )
    table = np.stack(rows)
    good = (table[0] >= 0) & (table[0] < table[1]) & (table[1] < table[2]) & (table[2] <= size)
    if not good.all():
        k = int(np.argmin(good))
        start, split, end = (int(b) for b in table[:, k])
        raise ValueError(
            f"candidate {k} has start {start}, split {split}, end {end}; "
            f"0 <= start < split < end <= {size} must hold, so that neither side is empty"
        )
    return table


def _indices(values: npt.ArrayLike, name: str) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be one-dimensional integers, not {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)


def covered(values: Floats, table: Ints) -> None:
    """Raise an error if a value inside Pre or After of any candidate is not finite."""
    bad = np.flatnonzero(~np.isfinite(values))
    if not bad.size or not table.shape[1]:
        return
    # The first bad value after each start is inside the candidate if it is before the end.
    place = np.searchsorted(bad, table[0])
    inside = place < bad.size
    hit = np.flatnonzero(inside & (bad[np.minimum(place, bad.size - 1)] < table[2]))
    if hit.size:
        k = int(hit[0])
        index = int(bad[place[k]])
        name = "pre" if index < table[1, k] else "after"
        first = int(table[0, k] if name == "pre" else table[1, k])
        raise ValueError(
            f"{name}[{index - first}] of candidate {k} is {values[index]} (values[{index}]); "
            "every value must be finite"
        )

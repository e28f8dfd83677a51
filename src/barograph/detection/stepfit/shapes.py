"""The shape of a trace: gaps filled forward, mean 0, standard deviation 1 (Skia, Definitions)."""

import numpy as np

from barograph.compiled import kernel
from barograph.series import Floats

SD_FLOOR = 1e-3


@kernel
def shapes(traces: Floats, sd_floor: float) -> Floats:
    """Normalise every row; NaN takes the value before it, or the first value at the start.

    A standard deviation below `sd_floor` times the mean magnitude would blow up nothing but
    noise: such a row is divided by its mean magnitude instead, which leaves it nearly flat. The
    paper's limit is a number in the unit of its traces; a share judges every unit alike.
    A row without any value is 0 throughout.
    """
    rows, length = traces.shape
    result = np.zeros((rows, length))
    for row in range(rows):
        shape = result[row]
        first = 0
        while first < length and np.isnan(traces[row, first]):
            first += 1
        if first == length:
            continue
        last = traces[row, first]
        total = 0.0
        for t in range(length):
            if not np.isnan(traces[row, t]):
                last = traces[row, t]
            shape[t] = last
            total += last
        mean = total / length
        magnitude, squares = 0.0, 0.0
        for t in range(length):
            magnitude += abs(shape[t])
            shape[t] -= mean
            squares += shape[t] * shape[t]
        magnitude /= length
        sd = np.sqrt(squares / length)
        width = sd if sd > sd_floor * magnitude else magnitude
        if width > 0.0:
            shape /= width
    return result

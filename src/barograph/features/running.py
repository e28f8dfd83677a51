"""The numbers that a growing Pre carries along, and how one more value changes them."""

import numpy as np

from barograph.compiled import kernel
from barograph.features import nodes
from barograph.features.bauer import is_large, levels_into, side_into
from barograph.features.crossing import crossings
from barograph.features.entropy import Space, space_in, spectral_entropy
from barograph.features.likelihood import TERMS
from barograph.features.serial import LAGS, add_lags, serial_correlation
from barograph.features.sums import Sums, grown, mean, sums_of
from barograph.features.tiles import lumpiness_and_stability, tile
from barograph.series import Floats

WIDTH = 10  # of tiles and windows on sides of more than ten values

# Rows of the table: values, their distances to the first (a fused sum must not take the two
# apart), sorted values, tile means, tile variances, window sums, work space.
X, DISTANCES, SORTED, MEANS, VARIANCES, WINDOWS, SPACE = range(7)
# Places in the vector: the nine sums, the largest shift, the sums of what lies more than 100
# before the newest value (as distances, and raw), the lagged products.
SHIFT, EARLY, EARLY_RAW, PRODUCTS = 9, 10, 11, 12
LENGTH = PRODUCTS + LAGS + 1

# Magnitudes at which the sums at the nodes neither overflow nor vanish.
_LEAST_SPAN, _MOST_SPAN = 1e-100, 1e100


@kernel
def sums_in(vector: Floats) -> Sums:
    """Read the running sums."""
    v = vector
    return Sums(int(v[0]), v[1], v[2], v[3], v[4], v[5], int(v[6]), v[7], v[8])


@kernel
def append(table: Floats, vector: Floats, value: float) -> None:
    """Let Pre grow by one value."""
    sums = sums_in(vector)
    n = sums.size
    if n == 0:
        sums = Sums(0, value, value, value, 0.0, 0.0, 0, 0.0, 0.0)
    sums = grown(sums, value)
    vector[0], vector[1], vector[2], vector[3] = sums.size, sums.first, sums.low, sums.high
    vector[4], vector[5], vector[6] = sums.distance, sums.square, sums.differing
    vector[7], vector[8] = sums.gap, sums.magnitude
    x = table[X, : n + 1]
    x[n] = value
    table[DISTANCES, n] = value - sums.first
    _insert(table[SORTED], n, value)
    add_lags(x, n, vector[PRODUCTS:])
    if n + 1 >= WIDTH:
        _open_window(x, table[WINDOWS], vector)
    if (n + 1) % WIDTH == 0:
        k = n // WIDTH
        table[MEANS, k], table[VARIANCES, k] = tile(x[k * WIDTH :], sums.first)


@kernel
def _insert(ordered: Floats, n: int, value: float) -> None:
    """Put the value in its place among the first n."""
    place = n
    while place > 0 and ordered[place - 1] > value:
        ordered[place] = ordered[place - 1]
        place -= 1
    ordered[place] = value


@kernel
def _open_window(x: Floats, windows: Floats, vector: Floats) -> None:
    """Sum the window that the newest value completes, and compare it with its neighbour."""
    i = x.size - WIDTH
    total = 0.0
    for j in range(WIDTH):
        total += x[i + j] - x[0]
    windows[i] = total
    if i >= WIDTH:
        step = abs(total / WIDTH - windows[i - WIDTH] / WIDTH)
        vector[SHIFT] = max(vector[SHIFT], step)


@kernel
def describe(table: Floats, vector: Floats, after: Floats, out: Floats) -> None:
    """Fill the sixteen characteristics; NaN first where `bauer.rows` has to compute the row."""
    before, behind = sums_in(vector), sums_of(after)
    if is_large(before, behind):
        out[0] = np.nan
        return
    x = table[X, : before.size]
    space = space_in(table[SPACE:])
    if before.size > WIDTH:
        _pre_into(x, before, table, vector, space, out)
    else:
        side_into(x, before, space, out[:8])
    side_into(after, behind, space, out[8:16])
    levels_into(x, before, after, behind, out)


@kernel
def _pre_into(
    x: Floats, sums: Sums, table: Floats, vector: Floats, space: Space, out: Floats
) -> None:
    """Fill columns 2 to 7 of a Pre of more than ten values."""
    count = x.size // WIDTH
    means, variances = table[MEANS, :count], table[VARIANCES, :count]
    out[2], out[3] = lumpiness_and_stability(sums, means, variances)
    out[4] = spectral_entropy(x, mean(sums), space)
    half = x.size // 2
    middle = table[SORTED, half]
    if x.size % 2 == 0:
        middle = (table[SORTED, half - 1] + middle) / 2.0
    out[5] = crossings(x, middle)
    out[6] = vector[SHIFT]
    out[7] = serial_correlation(x, WIDTH, sums, vector[PRODUCTS:])


@kernel
def append_to_nodes(table: Floats, vector: Floats, state: Floats, tables: Floats) -> None:
    """Add the newest value to the likelihood's sums."""
    t = int(vector[0]) - 1
    early = np.nan
    if t > TERMS:
        vector[EARLY] += table[DISTANCES, t - TERMS - 1]
        vector[EARLY_RAW] += table[X, t - TERMS - 1]
        if vector[EARLY_RAW] != 0.0:
            early = vector[EARLY] / (t - TERMS)
    nodes.add(table[DISTANCES], t, early, state, tables)


@kernel
def hurst_of(vector: Floats, state: Floats) -> float:
    """Return the Hurst exponent of Pre, or NaN where only a fresh fit is safe."""
    sums = sums_in(vector)
    span = sums.high - sums.low
    if sums.size < 3 or not _LEAST_SPAN < span < _MOST_SPAN:
        return np.nan
    return nodes.hurst_between(sums.size, state)

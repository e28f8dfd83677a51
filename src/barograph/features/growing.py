"""The characteristics of a Pre that grows point by point, as an online detector sees it.

What a new value costs, n being the length of Pre, and how near it is to `feature_matrix`:

- norm mean and sd, the near-constant rule: running sums, O(1), the same bits;
- lumpiness, stability: a tile every ten values, O(n / 10) to compare them, the same bits;
- max level shift: one window, O(1), the same bits;
- serial correlation: eleven lagged products, O(1), the same bits;
- crossing points: insertion into a sorted copy and one pass to count, the same bits;
- entropy: no exact update exists, the fit is computed anew, within 1e-9;
- Hurst exponent: sums at fixed nodes of d (see `nodes`), O(1), within 1e-9.

The fit and the likelihood have fused sums, whose last bits depend on the code around them.
"""

import math

import numpy as np
import numpy.typing as npt

from barograph.features import bauer, checks, hurst, nodes, running
from barograph.features.eighteen import NAMES
from barograph.features.entropy import SPACE_ROWS, SPARE
from barograph.features.families import one_row
from barograph.series import Floats

_ROOM = 128  # values that a new Pre can hold before its table is enlarged
_ORDER = np.array([(*bauer.NAMES, *hurst.NAMES).index(name) for name in NAMES])


class GrowingPre:
    """Pre as it grows; describes itself against any After without starting over.

    Args:
        hurst: Whether to keep the Hurst exponents too: rows are those of `bauer9` then, and of
            `bauer8` otherwise.
    """

    def __init__(self, *, hurst: bool = False) -> None:
        self.hurst = hurst
        self._table = np.empty((running.SPACE + SPACE_ROWS, _ROOM))
        self._vector = np.zeros(running.LENGTH)
        self._state, self._tables = nodes.new_state()
        self._out = np.empty(_ORDER.size)

    def __len__(self) -> int:
        return int(self._vector[0])

    @property
    def values(self) -> Floats:
        """The values of Pre; a view, good until the next `append`."""
        return self._table[running.X, : len(self)]

    def clear(self) -> None:
        """Forget all values: a new regime starts."""
        self._vector[:] = 0.0
        nodes.clear(self._state)

    def append(self, value: float) -> None:
        """Let Pre grow by one value."""
        value = float(value)
        if not math.isfinite(value):
            raise ValueError(f"pre[{len(self)}] is {value}; every value must be finite")
        self._reserve(len(self) + 1)
        running.append(self._table, self._vector, value)
        if self.hurst:
            running.append_to_nodes(self._table, self._vector, self._state, self._tables)

    def describe(self, after: npt.ArrayLike) -> Floats:
        """Return the row of `bauer8` or `bauer9` for this Pre and the values of After."""
        side = checks.side(after, "after")
        if not len(self):
            raise ValueError("pre is empty; it must hold at least one value")
        self._reserve(side.size)
        running.describe(self._table, self._vector, side, self._out)
        if np.isnan(self._out[0]):
            self._out[: len(bauer.NAMES)] = one_row(bauer.FAMILY, self.values, side)
        if not self.hurst:
            return self._out[: len(bauer.NAMES)].copy()
        self._out[len(bauer.NAMES) :] = self._pre_hurst(), hurst.exponent(side)
        row: Floats = self._out[_ORDER]
        return row

    def _pre_hurst(self) -> float:
        exponent = running.hurst_of(self._vector, self._state)
        return hurst.exponent(self.values) if math.isnan(exponent) else exponent

    def _reserve(self, size: int) -> None:
        """Make room for `size` values and what the work space needs beyond them."""
        rows, room = self._table.shape
        if size + SPARE > room:
            table = np.empty((rows, 2 * (size + SPARE)))
            table[:, :room] = self._table
            self._table = table

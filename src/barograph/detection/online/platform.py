"""Tail rates as one platform shows them: recalibrated once enough of its points are known."""

import math

import numpy as np

ENOUGH = 2000
_WIDTH = 0.25  # of a bin, in nats
_BINS = 48


class PlatformRates:
    """How often the quiet points of a platform reach a surprise, for all of its series together.

    The released rates are an average over platforms; on a single one they can be wrong several
    times over. They count as `ENOUGH` points beside those observed.
    """

    def __init__(self) -> None:
        self._counts: dict[int, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}

    def observe(self, window: int, nominal: float) -> None:
        """Count the released surprise of one quiet point."""
        counts = self._counts.setdefault(window, np.zeros(_BINS, dtype=np.int64))
        counts[min(_BINS - 1, int(nominal / _WIDTH))] += 1

    def points(self, window: int) -> int:
        """How many points were counted."""
        return int(self._counts[window].sum()) if window in self._counts else 0

    def surprise(self, window: int, nominal: float) -> float:
        """Return the surprise on this platform; the released one before enough is known."""
        known = self.points(window)
        if known < ENOUGH:
            return nominal
        counts = self._counts[window]
        place = nominal / _WIDTH
        bin_ = min(_BINS - 1, int(place))
        # Within a bin the points lie as the released rates say: e^-x of them beyond x.
        low, high = bin_ * _WIDTH, (bin_ + 1) * _WIDTH
        if bin_ == _BINS - 1:
            part = math.exp(low - nominal)
        else:
            top, bottom = math.exp(-low), math.exp(-high)
            part = (math.exp(-nominal) - bottom) / (top - bottom)
        beyond = float(counts[bin_ + 1 :].sum()) + part * float(counts[bin_])
        rate = (beyond + ENOUGH * math.exp(-nominal)) / (known + ENOUGH)
        return -math.log(rate)

"""How many requests a caller may send: a bucket that fills as time goes by."""

import time
from collections import OrderedDict
from collections.abc import Callable

CALLERS = 10_000  # buckets that are remembered; the one that was not used for longest gives way


class Rate:
    """A bucket of tokens for each caller.

    Args:
        rate: how many a second come back.
        burst: how many a bucket holds.
        clock: tells the time in seconds.
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take one; return 0, or after how many seconds there is one again."""
        left = self.left(caller)
        if left < 1:
            return (1 - left) / self._rate
        self._buckets[caller] = (left - 1, self._clock())
        if len(self._buckets) > CALLERS:
            self._buckets.popitem(last=False)
        return 0.0

    def left(self, caller: str) -> float:
        """How many the caller has left."""
        now = self._clock()
        left, then = self._buckets.pop(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._rate)
        self._buckets[caller] = (left, now)
        return left

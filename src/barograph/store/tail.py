"""The recent values of each series, in memory: what the next decision is made from."""

from collections import OrderedDict

import numpy as np

from barograph.detection.online import AlarmState
from barograph.detection.online.views import kept_from
from barograph.series import Floats

Key = tuple[int, str]  # the place of a point in its series: order, and run
NOWHERE: Key = (-(2**63), "")
SLACK = 1.1  # how far a buffer grows beyond what is needed now


def needed(count: int, history: int) -> int:
    """Return how many of the newest values the next decision on a series of so many reads."""
    return count - kept_from(count, history)


class Recent:
    """The newest values of one series, and where its last change point lies.

    Attributes:
        start: the place of the last change point among the values, 0 where it lies before them.
        last: the place of the newest point in the series.
        count: how many points the series has in all.
        standing: what a second look has to know, by places in the whole series.
    """

    __slots__ = ("_buffer", "_size", "count", "last", "standing", "start")

    def __init__(self, values: Floats, start: int, last: Key, count: int) -> None:
        self._buffer = values
        self._size = values.size
        self.start = start
        self.last = last
        self.count = count
        self.standing: AlarmState | None = None

    @property
    def values(self) -> Floats:
        """The values, oldest first: a view that the next `extend` may void."""
        return self._buffer[: self._size]

    @property
    def base(self) -> int:
        """How many older values the series has."""
        return self.count - self._size

    @property
    def room(self) -> int:
        """How many values the memory holds for it."""
        return self._buffer.size

    def extended(self, values: list[float]) -> Floats:
        """The values with new ones behind them."""
        size = self._size + len(values)
        if size > self._buffer.size:
            grown = np.empty(int(size * SLACK) + 4)
            grown[: self._size] = self.values
            self._buffer = grown
        self._buffer[self._size : size] = values
        return self._buffer[:size]

    def accept(self, added: int, start: int, last: Key, history: int) -> None:
        """Take what `extended` gave for good; forget what no later point looks at."""
        self._size += added
        self.start, self.last, self.count = start, last, self.count + added
        drop = self._size - needed(self.count, history)
        if drop > 0:
            self._buffer = self._buffer[drop : self._size].copy()
            self._size -= drop
            self.start = max(0, self.start - drop)


class Memory:
    """Recent values by the number of their series; the least used ones give way.

    Args:
        room: how many values are held in all, eight bytes each.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._held: OrderedDict[int, Recent] = OrderedDict()
        self._used = 0

    def __len__(self) -> int:
        return len(self._held)

    @property
    def used(self) -> int:
        """How many values are held."""
        return self._used

    @property
    def is_full(self) -> bool:
        """Whether no more series fit that are as long as those that are held."""
        return self._used * (len(self._held) + 1) > self.room * len(self._held) > 0

    def __contains__(self, series: int) -> bool:
        return series in self._held

    def __getitem__(self, series: int) -> Recent:
        return self._held[series]

    def use(self, series: int) -> bool:
        """Note that a series is used now, if it is held at all."""
        held = series in self._held
        if held:
            self._held.move_to_end(series)
        return held

    def put(self, series: int, recent: Recent) -> None:
        """Hold a series anew, in its present size."""
        old = self._held.pop(series, None)
        self._used += recent.room - (old.room if old is not None else 0)
        self._held[series] = recent

    def resized(self, by: int) -> None:
        """Take note that a held series grew or shrank."""
        self._used += by

    def trim(self) -> None:
        """Forget the least used until the rest fits."""
        while self._used > self.room and self._held:
            _, recent = self._held.popitem(last=False)
            self._used -= recent.room

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
        self._used = 0

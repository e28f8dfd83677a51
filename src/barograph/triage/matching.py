"""Which change point of this run is which of the run before, though it moved by a few commits."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

REACH = 5  # commits


def match(old: Sequence[int], new: Sequence[int], reach: int = REACH) -> dict[int, int]:
    """Pair the places of two runs, the nearest first; each place is taken once.

    Args:
        old: places of the run before.
        new: places of this run.
        reach: how far a change point may have moved.

    Returns:
        For each paired entry of `new`, which entry of `old` it is; by their numbers. Of two that
        are equally near the earlier one is taken.
    """
    by_place = sorted(range(len(old)), key=lambda k: (old[k], k))
    places = [old[k] for k in by_place]
    pairs = [
        (abs(place - old[k]), old[k], place, k, number)
        for number, place in enumerate(new)
        for k in by_place[bisect_left(places, place - reach) : bisect_right(places, place + reach)]
    ]
    found: dict[int, int] = {}
    taken: set[int] = set()
    for *_, k, number in sorted(pairs):
        if number not in found and k not in taken:
            found[number] = k
            taken.add(k)
    return found

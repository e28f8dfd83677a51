"""Ask for many places of many series, so that the database finds each by its key."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

CHUNK = 1000  # of one kind in one question


def questions(places: Iterable[tuple[int, int]]) -> Iterator[tuple[list[int], list[int]]]:
    """Cut pairs of series and order into lists of series and of orders that belong together.

    Each question is one order of many series, or many orders of one series, whichever takes
    fewer: SQLite answers a list of pairs by reading the whole table.
    """
    by_order: dict[int, set[int]] = defaultdict(set)
    by_series: dict[int, set[int]] = defaultdict(set)
    for series, order in places:
        by_order[order].add(series)
        by_series[series].add(order)
    if len(by_order) <= len(by_series):
        for order, some in sorted(by_order.items()):
            yield from ((part, [order]) for part in _parts(some))
    else:
        for series, some in sorted(by_series.items()):
            yield from (([series], part) for part in _parts(some))


def _parts(numbers: set[int]) -> Iterator[list[int]]:
    ordered = sorted(numbers)
    return (ordered[first : first + CHUNK] for first in range(0, len(ordered), CHUNK))

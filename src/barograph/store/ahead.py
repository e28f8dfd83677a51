"""Judge a batch part by part: the next part while the one before it is written."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from barograph.detection.online import BatchDecisions, Judge, PendingSeries
from barograph.store.upsert import Entry

TOGETHER = 1250  # points that are judged, and then written, in one go


def parts_of(appended: dict[int, list[Entry]]) -> Iterator[dict[int, list[Entry]]]:
    """Whole series, until their points are enough to be worth a call."""
    part: dict[int, list[Entry]] = {}
    held = 0
    for series, entries in appended.items():
        part[series] = entries
        held += len(entries)
        if held >= TOGETHER:
            yield part
            part, held = {}, 0
    if part:
        yield part


def judged_ahead(
    judge: Judge, parts: Iterator[Sequence[PendingSeries]], count: int
) -> Iterator[BatchDecisions]:
    """Judge so many parts, the next ones while the caller makes ready and writes the others."""
    if count == 1:
        yield judge.judge(next(parts))
        return
    with ThreadPoolExecutor(1) as pool:
        yield from pool.map(judge.judge, parts)

"""Cut a large request into parts with a transaction each, so that others need not wait long.

A request of which some parts were written before an error or a crash is repaired when it is sent
again: what the store has is a duplicate.
"""

from collections.abc import Sequence
from concurrent.futures import Future

from barograph.errors import BarographError, StoreError
from barograph.series import SeriesId
from barograph.store.measurement import Measurement
from barograph.store.results import IngestResult, PointResult, PointStatus

Rows = list[int]


def cut(measurements: Sequence[Measurement], size: int) -> list[Rows]:
    """Return the rows of each part, so that all parts together give the answers of one.

    The results of a series are in one part, or in consecutive parts by their order if there are
    more than `size`. Those without an order come last: other rows may give the order of a commit.

    Args:
        measurements: The measurements of a request.
        size: Maximum number of measurements in a part.
    """
    groups: dict[SeriesId, Rows] = {}
    without_order: Rows = []
    for row, measurement in enumerate(measurements):
        if measurement.order is None:
            without_order.append(row)
        else:
            groups.setdefault(measurement.series, []).append(row)

    def order(row: int) -> int:
        number = measurements[row].order
        return number if isinstance(number, int) else 0  # anything else is going to be rejected

    parts: list[Rows] = [[]]
    for group in (*groups.values(), without_order):
        if len(group) > size and group is not without_order:
            group.sort(key=order)
        for rows in (group[first : first + size] for first in range(0, len(group), size)):
            if len(parts[-1]) + len(rows) > size:
                parts.append([])
            parts[-1] += rows
    return [sorted(rows) for rows in parts if rows]  # in the order of their arrival


def joined(parts: Sequence[Rows], futures: Sequence[Future[IngestResult]]) -> Future[IngestResult]:
    """Return the future of a request whose parts are written one after the other.

    If a part fails, the result is an error that says how much was written.
    """
    whole: Future[IngestResult] = Future()
    whole.set_running_or_notify_cancel()  # what has begun cannot be cancelled

    def finish(_last: object) -> None:
        points = [PointResult(PointStatus.REJECTED)] * sum(map(len, parts))
        written = 0
        for rows, future in zip(parts, futures, strict=True):
            error = future.exception()
            if error is not None:
                whole.set_exception(_named(error, written, len(points)))
                return
            result = future.result()
            for row, point in zip(rows, result.points, strict=True):
                points[row] = point
            written += len(rows)
        whole.set_result(IngestResult(points, result.model))

    futures[-1].add_done_callback(finish)
    return whole


def _named(error: BaseException, written: int, count: int) -> BaseException:
    if not written or not isinstance(error, BarographError):
        return error
    return StoreError(f"only {written} of {count} results were taken, send all again: {error}")

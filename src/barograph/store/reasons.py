"""The reasons of a decision: computed on the first request, and stored."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.detection.online.decision import reasons_for_newest
from barograph.errors import DataError
from barograph.models import TriageModel
from barograph.store.reading import StoredPoint, points_of
from barograph.store.schema import points


class OtherModelError(DataError):
    """Raised when the model of a decision is no longer loaded."""


def explained(
    connection: sa.Connection, model: TriageModel, version: str, series: int, order: int, run: str
) -> list[dict[str, Any]]:
    """Return the features of a point with value and contribution, the most decisive first.

    Args:
        connection: Of a writing transaction: the reasons are stored.
        model: The model that decides now.
        version: Its version.
        series: Number of the series.
        order: Order of the point.
        run: Run of the point.

    Raises:
        DataError: There is no such point.
        OtherModelError: Another model decided, and its reasons were never requested.
    """
    newest = _until(connection, series, order, run, 1)
    if not newest or (newest[-1].order, newest[-1].run) != (order, run):
        raise DataError(f"there is no point at order {order}, run {run!r:.60}")
    point = newest[-1]
    if point.reasons is not None or not point.baseline_size:
        return point.reasons or []  # the first points of a series are not judged
    if point.model != version:
        raise OtherModelError(
            f"the point was decided by model {point.model}, but {version} is loaded now"
        )
    baseline = _until(connection, series, order, run, point.baseline_size + 1)
    values = np.array([earlier.value for earlier in baseline])
    found = [reason._asdict() for reason in reasons_for_newest(model, values)]
    store_reasons(connection, series, order, run, found)
    return found


def store_reasons(connection: sa.Connection, series: int, order: int, run: str, found: Any) -> None:
    """Store the reasons of a decision."""
    p = points.c
    same = sa.and_(p.series == series, p.order == order, p.run == run)
    text = json.dumps(found, ensure_ascii=False)
    connection.execute(sa.update(points).where(same).values(reasons=text))


def _until(
    connection: sa.Connection, series: int, order: int, run: str, count: int
) -> list[StoredPoint]:
    """Return the last `count` points up to one of them."""
    same_order = points_of(connection, series, first=order, last=order, limit=1_000_000)
    later = sum(point.run > run for point in same_order)
    found = points_of(connection, series, last=order, limit=count + later, newest=True)
    return found[: len(found) - later]

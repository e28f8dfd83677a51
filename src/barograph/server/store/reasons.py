"""The reasons of a decision: computed on the first request, and stored."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.detection.online.decision import reasons_for_newest
from barograph.models import TriageModel
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store.reading import points_of, settled_tail
from barograph.server.store.schema import points


class OtherModelError(DataError):
    """Raised when the model of a decision is no longer loaded."""


def explained(
    connection: sa.Connection, model: TriageModel, version: str, series: int, order: int
) -> list[dict[str, Any]]:
    """Return the features of a commit with value and contribution, the most decisive first.

    Args:
        connection: Of a writing transaction: the reasons are stored.
        model: The model that decides now.
        version: Its version.
        series: Number of the series.
        order: Order of the commit.

    Raises:
        NotFoundError: There is no such point.
        OtherModelError: Another model decided, and its reasons were never requested.
    """
    first_run = points_of(connection, series, first=order, last=order, limit=1)
    if not first_run:
        raise NotFoundError(f"there is no point at order {order}")
    [point] = first_run
    if point.reasons is not None or not point.decision.baseline_size:
        return point.reasons or []  # the first points of a series are not judged
    if point.model != version:
        raise OtherModelError(
            f"the point was decided by model {point.model}, but {version} is loaded now"
        )
    baseline = settled_tail(connection, series, order, point.decision.baseline_size + 1)
    values = np.array([value for *_, value in baseline])
    reasons = [reason._asdict() for reason in reasons_for_newest(model, values)]
    store_reasons(connection, series, order, reasons)
    return reasons


def store_reasons(connection: sa.Connection, series: int, order: int, reasons: Any) -> None:
    """Store the reasons of a decision, with the first run of its commit."""
    p = points.c
    same = sa.and_(p.series == series, p.order == order, p.settled.is_not(None))
    text = json.dumps(reasons, ensure_ascii=False)
    connection.execute(sa.update(points).where(same).values(reasons=text))

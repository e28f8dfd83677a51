"""Why a point was decided as it was: taken apart once somebody asks, and kept from then on."""

from __future__ import annotations

from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.detection.online.decision import reasons_for_newest
from barograph.errors import DataError
from barograph.models import TriageModel
from barograph.store import queries


class OtherModelError(DataError):
    """A decision of a model that decides no more: nobody can take it apart."""


def explained(
    connection: sa.Connection, model: TriageModel, version: str, series: int, order: int, run: str
) -> list[dict[str, Any]]:
    """Return the features of a point, the most decisive first, with value and part each.

    Args:
        connection: of a transaction that may write: what was found is kept.
        model: that decides on newest points now.
        version: what its decisions are signed with.
        series: the number of the series.
        order: of the point.
        run: of the point.

    Raises:
        DataError: there is no such point.
        OtherModelError: another model decided, and nobody asked while it did.
    """
    found = _upto(connection, series, order, run, 1)
    if not found or (found[-1].order, found[-1].run) != (order, run):
        raise DataError(f"there is no point at order {order}, run {run!r:.60}")
    one = found[-1]
    if one.reasons is None and one.baseline_size:
        if one.model != version:
            raise OtherModelError(f"the model {one.model} decided, and {version} does by now")
        points = _upto(connection, series, order, run, one.baseline_size + 1)
        values = np.array([point.value for point in points])
        told = [reason._asdict() for reason in reasons_for_newest(model, values)]
        queries.explain(connection, series, order, run, told)
        return told
    return one.reasons or []  # the first points of a series are not judged


def _upto(
    connection: sa.Connection, series: int, order: int, run: str, count: int
) -> list[queries.Measured]:
    """The last points up to one place."""
    later = queries.points_of(connection, series, first=order, last=order, limit=1_000_000)
    behind = sum(point.run > run for point in later)
    points = queries.points_of(connection, series, last=order, limit=count + behind, newest=True)
    return points[: len(points) - behind]

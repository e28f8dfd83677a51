"""Measure every candidate again: its levels are the medians of the nearest results.

Before, the hazard was the log of the means of whole segments.
"""

import json
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

from barograph.results.series import Direction
from barograph.results.sizes import size_of
from barograph.server.store.schema import candidates, points, series

revision = "sizes"
down_revision = "initial"
_C, _P = candidates.c, points.c


def upgrade() -> None:
    """Add the column `trend`, and measure the candidates whose segments are known."""
    connection = op.get_bind()
    columns = sa.inspect(connection).get_columns("candidates")
    if all(column["name"] != "trend" for column in columns):
        trend = sa.Column("trend", sa.Boolean, nullable=False, server_default=sa.false())
        op.add_column("candidates", trend)
    every = sa.select(_C.id, _C.series, _C.order, _C.before, _C.after, series.c.direction)
    every = every.join(series, series.c.id == _C.series).where(_C.before.is_not(None))
    found = connection.execute(every.order_by(_C.series)).all()
    for number, rows in groupby(found, attrgetter("series")):
        query = sa.select(_P.order, _P.settled).where(_P.series == number, _P.settled.is_not(None))
        results = dict(connection.execute(query.order_by(_P.order)).all())
        for row in rows:
            measured = _measured(row, results)
            connection.execute(sa.update(candidates).where(_C.id == row.id).values(**measured))


def _measured(row: Any, results: dict[int, float]) -> dict[str, Any]:
    old, new = json.loads(row.before), json.loads(row.after)
    split, values = np.searchsorted([*results], row.order), np.array([*results.values()])
    before, after = values[:split][-old["count"] :], values[split:][: new["count"]]
    if not before.size or not after.size:  # they were deleted
        before, after = np.array([old["median"]]), np.array([new["median"]])
    size = size_of(before, after)
    sides = {"before": old | {"level": size.before}, "after": new | {"level": size.after}}
    columns = {name: json.dumps(side) for name, side in sides.items()}
    return columns | {"hazard": size.hazard(Direction(row.direction)), "trend": size.is_trend}

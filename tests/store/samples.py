"""Series and measurements to test with."""

import numpy as np
import sqlalchemy as sa

from barograph.results.series import SeriesId
from barograph.server.store import Measurement, reading


def series(name: str = "a", project: str = "p") -> SeriesId:
    return SeriesId(project, "linux", "task", name, "ops", (("threads", "16"),))


def point(order: int, value: float = 1.0, name: str = "a", run: str = "") -> Measurement:
    return Measurement(series(name), value, order, f"c{order}", run)


def history(
    names: str = "abc", length: int = 30, seed: int = 0, runs: int = 1
) -> list[Measurement]:
    """Noise with a step in the middle, for some series."""
    random = np.random.default_rng(seed)
    return [
        Measurement(
            series(name),
            float(random.normal(20.0 * (order >= length // 2), 0.5)),
            order,
            f"c{order}",
            str(run),
        )
        for order in range(length)
        for name in names
        for run in range(runs)
    ]


def number_of(connection: sa.Connection, name: SeriesId) -> int | None:
    """Return the number of a series by an identity that it has or had."""
    stored = reading.series_named(connection, [name]).get(name)
    return None if stored is None else stored.id

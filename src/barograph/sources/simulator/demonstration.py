"""A small simulated company for `barograph serve --demo`: three projects in front of one team."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from barograph.series import Direction, Floats, Ints, SeriesId
from barograph.sources.simulator.people import survey
from barograph.sources.simulator.profiles import SHORT
from barograph.sources.simulator.projects import Layout, Stream, commit_hash, stream
from barograph.sources.simulator.world import SimulatedSeries, World

SEED = 20
PROFILE = replace(
    SHORT,
    commits=140,
    hours_between_commits=15.0,
    length=(150, 160),  # no series ends early
    run_share=(0.85, 1.0),
    steps_per_100=(0.3, 1.0),
)
LAYOUT = Layout(variants=3, tasks=3, tests=2, threads=(1, 8, 64))
NAMES = ("heron-db", "tern-parser", "plover-queue")
PEOPLE = 5  # of the simulated crowd
STOPPED = ("tern-parser", "sharded", "aggregation")  # a pipeline that fell silent ...
MISSING = 24  # ... this many results ago
QUIET = 17  # the number of one series that fell silent alone
SPIKES = (4, 47, 90)  # series whose newest result is far off
SPIKE = 0.3  # of the level
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class DemoSeries:
    """One series of the demonstration.

    Attributes:
        id: Its identity.
        direction: Which way is better.
        orders: Of its commits.
        commits: Their hashes.
        times: When the results were measured, in milliseconds since 1970.
        values: The results.
        marks: The indices that each of the simulated people marked as changes.
    """

    id: SeriesId
    direction: Direction
    orders: Ints
    commits: tuple[str, ...]
    times: Ints
    values: Floats
    marks: tuple[Ints, ...]

    def votes(self, index: int, margin: int = 3) -> int:
        """Return how many people marked a change near an index."""
        return sum(bool(np.any(np.abs(marked - index) <= margin)) for marked in self.marks)


@cache
def simulated() -> tuple[SimulatedSeries, ...]:
    """Return all series as they are simulated, with their events."""
    return tuple(World(SEED, PROFILE, LAYOUT).stream(0, len(NAMES) * LAYOUT.series))


def demo_series(now: int) -> Iterator[DemoSeries]:
    """Yield all series; the newest results are some hours old.

    Args:
        now: The present time, in milliseconds since 1970.
    """
    newest = {one.home.number: int(one.home.times[-1]) for one in simulated()}
    for number, one in enumerate(simulated()):
        identity = replace(one.identity, project=NAMES[one.home.number])
        values, orders = one.values.copy(), one.orders
        if number in SPIKES:
            values[-1] *= 1.0 + SPIKE
        crowd = survey(values, one.events, PEOPLE, stream(SEED, Stream.CROWD, number))
        is_stopped = (identity.project, identity.variant, identity.task) == STOPPED
        kept = slice(0, orders.size - MISSING if is_stopped or number == QUIET else orders.size)
        times = one.created() + (now - newest[one.home.number] - 7 * HOUR_MS)
        commits = tuple(commit_hash(one.home.name, int(order)) for order in orders[kept])
        yield DemoSeries(
            *(identity, one.direction, orders[kept], commits),
            *(times[kept], values[kept], crowd.marks),
        )

"""A small simulated company for `barograph serve --demo`: three projects in front of one team."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from barograph.results.series import Direction, Floats, Ints, SeriesId
from barograph.simulator.people import Marks, survey, votes_for
from barograph.simulator.profiles import SHORT
from barograph.simulator.projects import Event, Layout, Stream, commit_hash, stream
from barograph.simulator.world import SimulatedSeries, World

SEED = 20
# Noisier series and smaller steps than those of the profile, which are of dedicated machines.
PROFILE = replace(
    SHORT,
    commits=160,
    hours_between_commits=13.0,
    length=(160, 160),  # no series ends early
    run_share=(0.65, 1.0),
    log10_level=(1.0, 4.0),
    cv=(0.006, 0.05),
    families=(0.5, 0.5, 0.4, 0.3, 0.2, 0.25, 0.2, 0.05),
    steps_per_100=(0.6, 1.8),
    small_share=0.1,
    relative_share=0.4,
    relative_scale=0.09,
    relative_spread=0.6,
    sd_scale=4.0,
    sd_spread=0.6,
    reverts_per_100=(0.1, 1.0),
    revert_length=(6, 40),
    variance_changes_per_300=(0.05, 0.8),
    spikes=(0.002, 0.02),
)
UNITS = {
    "ops_per_sec": "ops/s",
    "Latency50thPercentile": "us",
    "Latency95thPercentile": "us",
}
LAYOUT = Layout(variants=3, tasks=3, tests=2, threads=(1, 8, 64))
NAMES = ("heron-db", "tern-parser", "plover-queue")
PEOPLE = 5  # of the simulated crowd
COMMON = ("heron-db", 11)  # a commit that made most series of a project worse, from the newest on
AFFECTED = 0.75  # of the series of this project
COMMON_SIZE = (0.07, 0.3)
STOPPED = ("tern-parser", "sharded", "aggregation")  # a pipeline that fell silent ...
MISSING = 24  # ... this many results ago
QUIET = 17  # the number of a series that fell silent alone
SPIKES = (4, 47, 90)  # series whose newest result is far off
SPIKE = 0.4  # of the level
REPEATED = ("plover-queue", "crud")  # is measured three times for each of the newest commits
REPEATS = 50
NEAR = 3  # points from a mark to the change that it is about
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class DemoSeries:
    """One series of the demonstration.

    Attributes:
        id: Its identity.
        direction: Which way is better.
        unit: The unit of its values.
        orders: Of its commits.
        commits: Their hashes.
        times: When the results were measured, in milliseconds since 1970.
        values: The results.
        reruns: Two further results of each of the newest commits, one on either side of the value.
        marks: The indices that each of the simulated people marked as changes.
    """

    id: SeriesId
    direction: Direction
    unit: str
    orders: Ints
    commits: tuple[str, ...]
    times: Ints
    values: Floats
    reruns: Floats
    marks: Marks

    def votes(self, index: int) -> int:
        """Return how many people marked a change near an index."""
        return votes_for(index, self.marks, NEAR)


@cache
def simulated() -> tuple[SimulatedSeries, ...]:
    """Return all series as they are simulated, with their events."""
    return tuple(World(SEED, PROFILE, LAYOUT).stream(0, len(NAMES) * len(LAYOUT.slots)))


def demo_series(now: int) -> Iterator[DemoSeries]:
    """Yield all series; the newest results are some hours old.

    Args:
        now: The present time, in milliseconds since 1970.
    """
    newest = {series.home.number: int(series.home.times[-1]) for series in simulated()}
    for number, series in enumerate(simulated()):
        rng = stream(SEED, Stream.CROWD, number)
        identity = replace(series.identity, project=NAMES[series.home.number])
        values, events = _with_common_change(series, identity, rng)
        if number in SPIKES:
            values[-1] *= 1.0 + SPIKE
        marks = survey(values, events, PEOPLE, rng)
        is_stopped = (identity.project, identity.variant, identity.task) == STOPPED
        size = series.orders.size - (MISSING if is_stopped or number == QUIET else 0)
        kept = slice(0, size)
        times = series.created() + (now - newest[series.home.number] - 7 * HOUR_MS)
        commits = tuple(commit_hash(series.home.name, int(order)) for order in series.orders[kept])
        count = REPEATS if (identity.project, identity.task) == REPEATED else 0
        apart = np.abs(rng.normal(0.0, series.cv, (count, 2))) * (-1.0, 1.0)
        yield DemoSeries(
            id=identity,
            direction=series.direction,
            unit=UNITS[identity.measurement],
            orders=series.orders[kept],
            commits=commits,
            times=times[kept],
            values=values[kept],
            reruns=values[size - count : size, None] * (1.0 + apart),
            marks=marks,
        )


def _with_common_change(
    series: SimulatedSeries, identity: SeriesId, rng: np.random.Generator
) -> tuple[Floats, tuple[Event, ...]]:
    """Return the values and events of a series with the change that most of its project share."""
    project, back = COMMON
    index = int(np.searchsorted(series.orders, PROFILE.commits - back))
    is_affected = identity.project == project and not series.canary and rng.random() < AFFECTED
    if not is_affected or index >= series.orders.size:
        return series.values.copy(), series.events
    shift = -int(series.direction) * float(rng.uniform(*COMMON_SIZE))
    values = np.where(np.arange(series.orders.size) < index, 1.0, np.exp(shift)) * series.values
    return values, (*series.events, Event(index, shift, "step"))

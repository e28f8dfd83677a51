"""Projects: their commits and platforms, and the commits that shift the levels of their series.

Every simulated object draws from its own stream of random numbers, which depends on the seed and
on the object, never on what was drawn before. So series number 7,000 is the same whether or not
the 6,999 before it were simulated, and in any process.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import product

import numpy as np

from barograph.results.series import Floats, Ints
from barograph.simulator.noise import Platform
from barograph.simulator.profiles import Profile

# Which series a change of performance can affect, and the share of all changes with that reach.
# A change of one variant is a change of its platform, the only kind that affects canaries.
REACH = {"project": 0.2, "variant": 0.1, "task": 0.25, "test": 0.35, "series": 0.1}
REACHES = tuple(REACH)
# Changes of a group are drawn this many times as often as an average series is affected, so each
# change affects about half of the series within its reach.
SELECTIVE = 2.0
EPOCH_MS = 1_546_300_800_000  # 2019-01-01
HOUR_MS = 3_600_000
# A change that affects several series moves each by its own amount around the common one.
AMOUNT_SPREAD = 0.5
# No change moves a level by more than a factor of 5, and few by more than 2.
LARGEST = 1.6
LARGEST_COMMON = 0.8
SLOW_WINDOW = 12


class Stream(IntEnum):
    """The uses of random streams. Changing a number changes every simulated value."""

    PROJECT = 0
    PLATFORM = 1
    CHANGES = 2
    SERIES = 3
    CROWD = 4
    COMMIT = 5
    CANDIDATE = 6
    FLEET = 7
    RUNNERS = 8


def stream(seed: int, use: Stream, *where: int) -> np.random.Generator:
    """Return the generator of one object, by its use and its coordinates."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(use), *where)))


@dataclass(frozen=True, slots=True)
class CommitChange:
    """A commit that changes performance; `undone` is the order of the commit that reverts it."""

    order: int
    undone: int | None
    relative: bool
    size: float
    better: int


@dataclass(frozen=True, slots=True)
class Event:
    """A shift of the level of a series; `shift` is the change of its logarithm."""

    index: int
    shift: float
    kind: str  # step, regressed, reverted or slow


Slot = tuple[int, int, int, int]  # variant, task (0 is the canary task), test and thread level


@dataclass(frozen=True, slots=True)
class Layout:
    """The number of variants, tasks and tests of a project, and its thread levels."""

    variants: int = 6
    tasks: int = 3
    tests: int = 2
    threads: tuple[int, ...] = (1, 16)

    @property
    def slots(self) -> list[Slot]:
        """The series of a project: of a variant one canary, and all tests at all thread levels."""
        tests = product(range(1, self.tasks), range(self.tests), range(len(self.threads)))
        of_variant = [(0, 0, 0), *tests]
        return [(variant, *rest) for variant in range(self.variants) for rest in of_variant]


DEFAULT_LAYOUT = Layout()


@dataclass(frozen=True, eq=False)
class Project:
    """One project of a world, with everything that its series share.

    Attributes:
        times: The time of every commit in milliseconds since 1970.
        up: The share of its changes that are improvements.
    """

    seed: int
    number: int
    profile: Profile
    name: str
    times: Ints
    platforms: tuple[Platform, ...]
    up: float


@lru_cache(maxsize=4)
def project(seed: int, number: int, profile: Profile, layout: Layout) -> Project:
    """Return one project, from the seed alone."""
    world = profile.key
    rng = stream(seed, Stream.PROJECT, world, number)
    gaps = rng.exponential(profile.hours_between_commits * HOUR_MS, profile.commits) + 60_000
    times = EPOCH_MS + int(rng.integers(365 * 24)) * HOUR_MS + np.cumsum(gaps).astype(np.int64)
    platforms = tuple(
        Platform.draw(profile, stream(seed, Stream.PLATFORM, world, number, variant))
        for variant in range(layout.variants)
    )
    name, up = f"{profile.name}-{number + 1}", float(rng.beta(6.0, 6.0))
    return Project(seed, number, profile, name, times // 1000 * 1000, platforms, up)


@lru_cache(maxsize=256)
def changes_of(home: Project, reach: str, *where: int) -> tuple[CommitChange, ...]:
    """Return the changes of one reach in a project, the same for every series."""
    coordinates = home.profile.key, home.number, REACHES.index(reach), *where
    rng = stream(home.seed, Stream.CHANGES, *coordinates)
    means = [rate * home.profile.commits for rate in group_rates(home.profile, reach)]
    return tuple(sorted(draw_changes(home, means, rng), key=lambda change: change.order))


def group_rates(profile: Profile, reach: str) -> tuple[float, float]:
    """Return the rates of steps and of reverted changes per commit for a group of this reach."""
    share = SELECTIVE * REACH[reach] * float(np.mean(profile.run_share)) / 100
    low, high = np.log(profile.reverts_per_100)
    mean_reverts = (np.exp(high) - np.exp(low)) / max(high - low, 1e-12)
    return share * float(np.mean(profile.steps_per_100)), share * float(mean_reverts)


def draw_changes(
    home: Project, means: Sequence[float], rng: np.random.Generator
) -> list[CommitChange]:
    """Draw commits that change performance; on average `means` lasting and reverted ones."""
    return [
        _draw_change(home, lasting, rng)
        for lasting, mean in zip((True, False), means, strict=True)
        for _ in range(rng.poisson(mean))
    ]


def _draw_change(home: Project, lasting: bool, rng: np.random.Generator) -> CommitChange:
    profile = home.profile
    order = int(rng.integers(1, profile.commits + 1))
    relative = bool(rng.random() < profile.relative_share)
    if rng.random() < profile.small_share:
        relative, size = False, profile.small_scale * np.exp(rng.normal(0.0, 0.5))
    elif relative:
        tail = rng.standard_t(profile.relative_df)
        size = profile.relative_scale * np.exp(min(profile.relative_spread * tail, 5.0))
    else:
        size = profile.sd_scale * np.exp(rng.normal(0.0, profile.sd_spread))
    undone = None
    if not lasting:
        low, high = profile.revert_length
        runs = np.exp(rng.uniform(np.log(low), np.log(high)))
        undone = order + max(1, round(runs / float(np.mean(profile.run_share))))
        size *= profile.revert_boost
    better = 1 if rng.random() < home.up else -1
    return CommitChange(order, undone, relative, float(size), better)


def commit_hash(name: str, order: int) -> str:
    """Return the forty hex digits of a commit."""
    return hashlib.blake2b(f"{name}@{order}".encode(), digest_size=20).hexdigest()


def steps(
    changes: list[CommitChange], orders: Ints, cv: float, sign: int, rng: np.random.Generator
) -> list[Event]:
    """Turn the changes that affect this series into shifts at the points that first show them."""
    events: dict[int, Event] = {}
    for change in changes:
        amount = min(change.size * (1.0 if change.relative else cv), LARGEST_COMMON)
        amount *= float(np.exp(rng.normal(0.0, AMOUNT_SPREAD)))
        shift = min(amount, LARGEST) * change.better * sign
        start = int(np.searchsorted(orders, change.order))
        if change.undone is None:
            _add(events, orders.size, start, shift, "step")
            continue
        stop = int(np.searchsorted(orders, change.undone))
        if start < stop:
            _add(events, orders.size, start, shift, "regressed")
            _add(events, orders.size, stop, -shift, "reverted")
    return [events[index] for index in sorted(events)]


def _add(events: dict[int, Event], length: int, index: int, shift: float, kind: str) -> None:
    """Add a shift; shifts before the first point or after the last one are not measured."""
    if 0 < index < length:
        other = events.get(index)
        events[index] = Event(index, shift + (other.shift if other else 0.0), kind)


def path_of(events: list[Event], length: int) -> Floats:
    """Return the logarithm of the level, the sum of the shifts."""
    places = np.array([event.index for event in events], dtype=np.int64)
    return np.cumsum(np.bincount(places, [event.shift for event in events], length))


def slow_events(slow: Floats, cv: float) -> list[Event]:
    """Find where the slow path shifts by at least one CV between the means of 12 points."""
    n, w = slow.size, SLOW_WINDOW
    if n < 2 * w:
        return []
    sums = np.concatenate(([0.0], np.cumsum(slow)))
    means = (sums[w:] - sums[:-w]) / w
    shift = means[w:] - means[:-w]  # shift[k] compares the points before k + w with those after
    remaining = np.abs(shift) >= cv
    events = []
    while remaining.any():
        k = int(np.argmax(np.where(remaining, np.abs(shift), -1.0)))
        # The index of the largest change between neighbours within 4 points.
        low = max(1, k + w - 4)
        sharpest = low + int(np.argmax(np.abs(np.diff(slow[low - 1 : k + w + 5]))))
        events.append(Event(sharpest, float(shift[k]), "slow"))
        remaining[max(0, k - w + 1) : k + w] = False
    return sorted(events, key=lambda event: event.index)

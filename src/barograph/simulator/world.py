"""A world of series, simulated one at a time; only the current project is in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from barograph.results.series import Direction, Floats, Ints, SeriesId
from barograph.simulator import projects
from barograph.simulator.noise import Character, Platform, noise, spikes, spread_changes, wander
from barograph.simulator.profiles import Profile, Runners
from barograph.simulator.runners import Disturbance, Fleet, disturb

VARIANTS = ("standalone", "replica-set", "sharded", "standalone-arm", "small-cache", "encrypted")
TASKS = ("crud", "aggregation", "indexing", "bulk-load", "mixed")
TESTS = ("insert", "find-by-key", "update-indexed", "group-by", "range-scan", "remove")
FLOOR = 0.02  # no value falls below this share of its level
RATE_SPREAD = 0.6
COUNTS = 1e6  # in a unit of time, of a series that counts instead of measuring


@dataclass(frozen=True, slots=True)
class SimulatedSeries:
    """One series with its events."""

    number: int
    home: projects.Project
    identity: SeriesId
    direction: Direction
    canary: bool
    orders: Ints
    values: Floats
    events: tuple[projects.Event, ...]
    cv: float

    def committed(self) -> Ints:
        """Return the time of each point's commit, in milliseconds since 1970."""
        return self.home.times[self.orders - 1]

    def created(self) -> Ints:
        """Return the time of each result: two to six hours after its commit."""
        return self.committed() + 2 * projects.HOUR_MS + self.orders * 7919 % 240 * 60_000


@dataclass(frozen=True, slots=True)
class World:
    """The series of one profile, numbered from 0; each can be simulated alone, in any process."""

    seed: int
    profile: Profile
    layout: projects.Layout = projects.DEFAULT_LAYOUT

    def stream(self, start: int, stop: int) -> Iterator[SimulatedSeries]:
        """Simulate the series `start` to `stop - 1`, one at a time."""
        return (self.series(number) for number in range(start, stop))

    def series(self, number: int) -> SimulatedSeries:
        """Simulate one series."""
        slots = self.layout.slots
        home = projects.project(self.seed, number // len(slots), self.profile, self.layout)
        place = slots[number % len(slots)]
        platform = home.platforms[place[0]]
        rng = projects.stream(self.seed, projects.Stream.SERIES, self.profile.key, number)
        identity, direction = self._identity(home, place)
        orders = run_orders(platform, rng)
        character = Character.draw(platform, rng)
        sign, runners, canary = int(direction), self.profile.runners, place[1] == 0
        disturbance = Disturbance.none(orders.size)
        if runners is not None:
            fleet = _fleet(self.seed, self.profile, runners, home.number, place[0])
            own = projects.stream(self.seed, projects.Stream.RUNNERS, self.profile.key, number)
            disturbance = disturb(runners, fleet, orders, -sign, own, canary=canary)
        if disturbance.exact_cv:
            character = Character(cv=disturbance.exact_cv)
        felt = affecting_changes(home, place, platform, rng)
        events = [*projects.steps(felt, orders, character.cv, sign, rng), *disturbance.events]
        values, slow = measure(platform, character, events, disturbance, -sign, rng)
        ordered = tuple(sorted(events + slow, key=lambda event: event.index))
        facts = identity, direction, canary, orders, values, ordered, character.cv
        return SimulatedSeries(number, home, *facts)

    def _identity(self, home: projects.Project, place: projects.Slot) -> tuple[SeriesId, Direction]:
        kinds = self.profile.measurements
        variant, task, test, thread = place
        measurement, sign = kinds[(2 * home.number + 3 * task + test) % len(kinds)]
        identity = SeriesId(
            project=home.name,
            variant=_name(VARIANTS, variant),
            task=_name(TASKS, task - 1) if task else "canary",
            test=_name(TESTS, test + 2 * task - 2) if task else "canary-cpu-loop",
            measurement=measurement,
            args=(("thread_level", str(self.layout.threads[thread])),),
        )
        return identity, Direction(sign)


@lru_cache(maxsize=32)
def _fleet(seed: int, profile: Profile, runners: Runners, number: int, variant: int) -> Fleet:
    rng = projects.stream(seed, projects.Stream.FLEET, profile.key, number, variant)
    return Fleet.draw(runners, profile.commits, rng)


def _name(names: tuple[str, ...], number: int) -> str:
    turn, place = divmod(number, len(names))
    return names[place] if turn == 0 else f"{names[place]}-{turn + 1}"


def run_orders(platform: Platform, rng: np.random.Generator) -> Ints:
    """Draw the orders of the commits that the series ran on, with gaps."""
    profile = platform.profile
    length = int(rng.integers(int(profile.length[0]), int(profile.length[1]) + 1))
    span = min(profile.commits, round(length / platform.run_share))
    spare = profile.commits - span
    # Seven in ten series still run; the others were retired earlier.
    birth = spare if rng.random() < 0.7 else int(rng.integers(spare + 1))
    runs = rng.random(span) < platform.run_share
    for _ in range(rng.poisson(profile.outages_per_100 * span / 100)):
        start = int(rng.integers(span))
        runs[start : start + int(rng.integers(2, 15))] = False
    orders = birth + 1 + np.flatnonzero(runs)
    return orders.astype(np.int64) if orders.size >= 2 else np.array([birth + 1, birth + 2])


def affecting_changes(
    home: projects.Project, place: projects.Slot, platform: Platform, rng: np.random.Generator
) -> list[projects.CommitChange]:
    """Draw the changes that affect this series: those of its groups, and its own."""
    factor = float(np.exp(rng.normal(0.0, RATE_SPREAD)))
    rates = factor * platform.steps, factor * platform.reverts
    variant, task, test, _ = place
    groups: dict[str, tuple[int, ...]] = {"variant": (variant,)}
    if task:  # no commit changes a canary
        groups = {"project": (), **groups, "task": (task,), "test": (task, test)}
    felt: list[projects.CommitChange] = []
    for reach, where in groups.items():
        chances = [
            share_affected(rate, platform.run_share * projects.REACH[reach], common)
            for rate, common in zip(rates, projects.group_rates(home.profile, reach), strict=True)
        ]
        changes = projects.changes_of(home, reach, *where)
        felt += [c for c in changes if rng.random() < chances[0 if c.undone is None else 1]]
    if task == 0:
        return felt
    per_history = platform.run_share * projects.REACH["series"] * home.profile.commits
    return felt + projects.draw_changes(home, [rate * per_history for rate in rates], rng)


def share_affected(rate: float, share: float, common: float) -> float:
    """Return the probability that a common change affects a series with its own rate."""
    return min(1.0, rate * share / common) if common > 0.0 else 0.0


def measure(
    platform: Platform,
    character: Character,
    events: list[projects.Event],
    disturbance: Disturbance,
    worse: int,
    rng: np.random.Generator,
) -> tuple[Floats, list[projects.Event]]:
    """Draw the values around the level that the events imply, and find the slow shifts."""
    length = disturbance.offsets.size
    level = 10.0 ** rng.uniform(*platform.profile.log10_level) * np.exp(rng.standard_normal())
    ramp = ramps(platform, character.cv, length, rng)
    slow = wander(character, length, rng)
    spread = spread_changes(platform, length, rng) * disturbance.spread
    shaken = slow + spread * noise(character, length, rng)
    shaken = character.cv * (shaken + spikes(platform, length, worse, rng))
    factor = np.exp(np.clip(shaken, -3.0, 3.0)) if character.log_normal else 1.0 + shaken
    path = projects.path_of(events, length) + disturbance.offsets + ramp
    values = np.exp(path) * np.maximum(factor, FLOOR)
    if character.grid:
        step = character.grid * character.cv
        values = np.maximum(np.round(values / step), 1.0) * step
    values = level * values
    if disturbance.exact_cv:
        values = np.maximum(np.rint(values * COUNTS), 1.0)
    return values, projects.slow_events(character.cv * slow + ramp, character.cv)


def ramps(platform: Platform, cv: float, length: int, rng: np.random.Generator) -> Floats:
    """Draw slow ramps of the level over many commits."""
    profile = platform.profile
    path = np.zeros(length)
    for _ in range(rng.poisson(profile.ramps_per_300 * length / 300)):
        start = int(rng.integers(length))
        climb = int(rng.integers(int(profile.ramp_length[0]), int(profile.ramp_length[1]) + 1))
        height = cv * profile.sd_scale * np.exp(rng.normal(0.0, profile.sd_spread))
        done = np.clip((np.arange(length) - start) / climb, 0.0, 1.0)
        path += min(height, projects.LARGEST) * rng.choice((-1, 1)) * done
    return path

"""Worlds: the same series for the same seed, with commits, platforms and changes."""

import itertools
import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pytest

from barograph.simulator.profiles import LONG, PROFILES, SHORT, Profile
from barograph.simulator.projects import DEFAULT_LAYOUT, Layout, changes_of, commit_hash, project
from barograph.simulator.world import SimulatedSeries, World, share_affected

PROJECT = len(DEFAULT_LAYOUT.slots)


@pytest.fixture(scope="module", params=PROFILES, ids=lambda profile: profile.name)
def profile(request: pytest.FixtureRequest) -> Profile:
    chosen: Profile = request.param
    return chosen


@pytest.fixture(scope="module")
def many(profile: Profile) -> list[SimulatedSeries]:
    return list(World(3, profile).stream(0, 3 * PROJECT))


def test_series_does_not_depend_on_other_series(many: list[SimulatedSeries]) -> None:
    for number in (0, 17, 2 * PROJECT + 5):
        alone = World(3, many[number].home.profile).series(number)
        assert alone.identity == many[number].identity
        assert alone.events == many[number].events
        assert np.array_equal(alone.values, many[number].values)
        assert np.array_equal(alone.orders, many[number].orders)


def test_another_seed_gives_another_world(profile: Profile) -> None:
    first, second = World(3, profile).series(4), World(4, profile).series(4)
    assert first.identity == second.identity
    assert first.values[0] != second.values[0]


def test_identities_differ_and_cover_every_level(many: list[SimulatedSeries]) -> None:
    identities = [series.identity for series in many]
    assert len(set(identities)) == len(identities)
    assert len({i.project for i in identities}) == 3
    assert len({i.variant for i in identities}) == DEFAULT_LAYOUT.variants
    assert len({i.task for i in identities}) == DEFAULT_LAYOUT.tasks
    assert len({i.test for i in identities}) > 3
    assert len({i.args for i in identities}) == len(DEFAULT_LAYOUT.threads)


def test_values_are_positive_and_orders_increase(many: list[SimulatedSeries]) -> None:
    for series in many:
        assert np.all(np.isfinite(series.values))
        assert np.all(series.values > 0.0)
        assert np.all(np.diff(series.orders) > 0)
        assert series.values.size == series.orders.size >= 2
        assert series.orders[0] >= 1
        assert series.orders[-1] <= series.home.profile.commits


def test_events_are_inside_their_series(many: list[SimulatedSeries]) -> None:
    kinds: Counter[str] = Counter()
    for series in many:
        places = [event.index for event in series.events]
        assert places == sorted(places)
        assert all(0 < place < series.values.size for place in places)
        kinds.update(event.kind for event in series.events)
    assert set(kinds) == {"step", "regressed", "reverted", "slow"}
    assert min(kinds.values()) > 10


def test_changes_are_small_and_large(
    many: list[SimulatedSeries],
) -> None:
    ratios = [abs(e.shift) / s.cv for s in many for e in s.events if e.kind == "step"]
    assert np.mean(np.array(ratios) < 1.0) > 0.05
    assert np.mean(np.array(ratios) > 5.0) > 0.1


def test_commit_moves_several_series_by_different_amounts(profile: Profile) -> None:
    moved: dict[tuple[str, int], list[float]] = defaultdict(list)
    for series in World(3, profile).stream(0, 10 * PROJECT):
        for event in series.events:
            order = int(series.orders[event.index])
            if event.kind != "slow" and order - series.orders[event.index - 1] == 1:
                moved[series.home.name, order].append(abs(event.shift))
    largest = max(moved.values(), key=len)
    assert len(largest) >= 8
    assert len(set(largest)) > 0.8 * len(largest)
    assert max(largest) > 2 * min(largest)


def test_series_skip_commits_start_late_and_end_early(many: list[SimulatedSeries]) -> None:
    spans = [(s.orders[0], s.orders[-1], s.orders.size) for s in many]
    head = many[0].home.profile.commits
    assert np.mean([last - first + 1 > size for first, last, size in spans]) > 0.9
    assert sum(first > head // 10 for first, _, _ in spans) > len(many) / 3
    assert sum(last < head - head // 10 for _, last, _ in spans) > len(many) / 20
    outages = [np.diff(series.orders).max() for series in many]
    assert max(outages) >= 8


def test_only_platform_changes_affect_canaries(many: list[SimulatedSeries]) -> None:
    canaries = [series for series in many if series.canary]
    assert len(canaries) == 3 * DEFAULT_LAYOUT.variants
    if many[0].home.profile.runners is not None:
        return  # slow machines and pulses affect canaries too: test_runners
    for series in canaries:
        variant = DEFAULT_LAYOUT.slots[series.number % PROJECT][0]
        changes = changes_of(series.home, "variant", variant)
        felt = {c.order for c in changes} | {c.undone for c in changes if c.undone}
        for event in series.events:
            if event.kind != "slow":
                gap = range(series.orders[event.index - 1] + 1, series.orders[event.index] + 1)
                assert felt & set(gap)


def test_changes_have_the_rate_of_the_profile() -> None:
    series = World(5, SHORT).stream(0, 20 * PROJECT)
    steps = points = 0
    for simulated in series:
        if not simulated.canary:
            steps += sum(event.kind == "step" for event in simulated.events)
            points += simulated.values.size
    # The mean of e^N(0, 0.6) is 1.2; two steps between runs show as one.
    expected = 1.2 * float(np.mean(SHORT.steps_per_100)) / 100
    assert 0.7 * expected < steps / points < 1.3 * expected


def test_commit_times_increase_and_results_follow_commits() -> None:
    home = project(1, 0, LONG, DEFAULT_LAYOUT)
    assert np.all(np.diff(home.times) > 0)
    series = World(1, LONG).series(3)
    wait = series.created() - series.committed()
    assert wait.min() >= 2 * 3_600_000
    assert wait.max() <= 6 * 3_600_000


def test_long_histories_wander_more_than_short_ones() -> None:
    def slow(profile: Profile) -> float:
        series = list(World(2, profile).stream(0, 80))
        return sum(e.kind == "slow" for s in series for e in s.events) / len(series)

    assert slow(LONG) > 5 * slow(SHORT)


def test_commits_have_forty_digits_and_differ() -> None:
    hashes = {commit_hash(name, order) for name in ("a", "b") for order in range(50)}
    assert len(hashes) == 100
    assert all(len(text) == 40 and int(text, 16) >= 0 for text in hashes)


def test_layout_counts_its_series() -> None:
    layout = Layout(variants=2, tasks=2, tests=3, threads=(1, 8))
    world = World(1, SHORT, layout)
    assert len(layout.slots) == 2 * (1 + 3 * 2)
    names = {series.identity.project for series in world.stream(0, len(layout.slots))}
    assert names == {"short-1"}
    assert world.series(len(layout.slots)).identity.project == "short-2"


def test_share_affected_is_a_probability() -> None:
    assert share_affected(0.01, 0.5, 0.01) == 0.5
    assert share_affected(0.1, 0.5, 0.01) == 1.0
    assert share_affected(0.1, 0.5, 0.0) == 0.0


def test_world_streams_its_series() -> None:
    stream = World(1, SHORT).stream(0, 100_000_000)
    list(itertools.islice(stream, 2 * PROJECT))  # fill the caches of what a project shares
    tracemalloc.start()
    for _ in itertools.islice(stream, 4 * PROJECT):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000

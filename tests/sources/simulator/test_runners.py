"""What shared CI runners add to a series has the footprint that real histories have."""

import dataclasses
import itertools

import numpy as np
import pytest

from barograph.results.series import Floats
from barograph.simulator.profiles import CI, LONG, Runners
from barograph.simulator.projects import Event, path_of
from barograph.simulator.runners import Disturbance, Fleet, disturb
from barograph.simulator.world import SimulatedSeries, World

assert CI.runners is not None
USUAL: Runners = CI.runners
NOTHING = dataclasses.replace(
    USUAL,
    modes=0.0,
    modality_changes=0.0,
    slow_spans_per_100=(1e-9, 1e-9),
    first_outliers=0.0,
    pulses_per_100=(1e-9, 1e-9),
    jumps_per_100=0.0,
    exact=0.0,
    tiny_per_100=(1e-9, 1e-9),
    repeated=0.0,
)
N = 400
ORDERS = np.arange(1, N + 1)
NO_FLEET = Fleet(np.zeros(N, dtype=np.int64), ())


def drawn(runners: Runners, count: int = 200, fleet: Fleet = NO_FLEET) -> list[Disturbance]:
    rng = np.random.default_rng(5)
    return [disturb(runners, fleet, ORDERS, 1, rng) for _ in range(count)]


def only(**fields: object) -> list[Disturbance]:
    return drawn(dataclasses.replace(NOTHING, **fields))  # type: ignore[arg-type]


def kinds(disturbance: Disturbance) -> list[str]:
    return [event.kind for event in disturbance.events]


@pytest.fixture(scope="module")
def many() -> list[SimulatedSeries]:
    return list(World(3, CI).stream(0, 216))


def test_runners_of_nothing_disturb_nothing() -> None:
    for runner in drawn(NOTHING, 20):
        assert runner.events == ()
        assert not runner.offsets.any()
        assert runner.exact_cv == 0.0
        assert np.all(runner.spread == 1.0)


def test_large_jumps_stay_more_often_than_small_ones() -> None:
    stayed: dict[bool, list[bool]] = {True: [], False: []}
    # At most one jump in most series; a jump near the end stays in any case.
    for runner in drawn(dataclasses.replace(NOTHING, jumps_per_100=0.2), 400):
        if runner.events and runner.events[0].index < N - 60 and len(runner.events) <= 2:
            first = runner.events[0]
            if abs(first.shift) > np.log(2.0):
                stayed[abs(first.shift) > np.log(10.0)].append(first.kind == "step")
    assert 0.75 < np.mean(stayed[True]) < 0.95
    assert 0.55 < np.mean(stayed[False]) < 0.82
    assert min(map(len, stayed.values())) > 25


def test_jumps_that_do_not_stay_return_to_the_old_level() -> None:
    for runner in only(jumps_per_100=0.2, stays_above_2=0.0, stays_above_10=0.0):
        path = path_of(list(runner.events), N)
        if runner.events and kinds(runner).count("step") == 0:
            assert path[-1] == pytest.approx(0.0, abs=1e-9)


def test_no_commit_changes_a_canary() -> None:
    runners = dataclasses.replace(NOTHING, jumps_per_100=5.0, exact=1.0, tiny_per_100=(5, 5))
    runner = disturb(runners, NO_FLEET, ORDERS, 1, np.random.default_rng(5), canary=True)
    assert runner.events == ()
    assert runner.exact_cv == 0.0


def test_pulses_are_short_and_mostly_single() -> None:
    lengths, sizes = [], []
    for runner in only(pulses_per_100=(0.1, 0.1)):
        for begin, end in itertools.pairwise(runner.events):
            if len(runner.events) == 2:
                lengths.append(end.index - begin.index)
                sizes.append(begin.shift)
    assert max(lengths) <= 8
    assert 0.55 < np.mean(np.array(lengths) == 1) < 0.85
    assert 0.65 < np.mean(np.array(sizes) > 0) < 0.95
    assert np.log(1.5) <= np.abs(sizes).min() <= np.abs(sizes).max() <= np.log(80.0)


def test_machines_give_two_or_three_modes() -> None:
    fleet = Fleet.draw(USUAL, N, np.random.default_rng(2))
    for runner in drawn(dataclasses.replace(NOTHING, modes=1.0), 20, fleet):
        assert 2 <= np.unique(runner.offsets).size <= 3
        assert np.abs(runner.offsets).max() <= np.log(1.4)


def test_series_of_a_platform_share_their_machines() -> None:
    fleet = Fleet.draw(USUAL, N, np.random.default_rng(2))
    first, second = (
        runner.offsets for runner in drawn(dataclasses.replace(NOTHING, modes=1.0), 2, fleet)
    )
    changes = np.flatnonzero(np.diff(first))
    assert changes.size > 20
    assert np.array_equal(changes, np.flatnonzero(np.diff(second)))


def test_modality_changes_at_a_commit() -> None:
    fleet = Fleet.draw(USUAL, N, np.random.default_rng(2))
    runners = dataclasses.replace(NOTHING, modes=1.0, modality_changes=1.0)
    for runner in drawn(runners, 20, fleet):
        (event,) = runner.events
        sides = [np.unique(side).size for side in np.split(runner.offsets, [event.index])]
        if 30 < event.index < N - 30:
            assert min(sides) == 1
            assert max(sides) >= 2


def test_all_series_of_a_platform_are_slow_in_the_same_span() -> None:
    fleet = Fleet(np.zeros(N, dtype=np.int64), ((100, 130, 0.2),))
    ones = drawn(NOTHING, 30, fleet)
    for runner in ones:
        path = path_of(list(runner.events), N)
        assert np.all(path[99:129] > 0.0)
        assert not path[:99].any()
        assert np.allclose(path[129:], 0.0)
    felt = [item.events[0].shift for item in ones]
    assert np.std(np.log(felt)) > 0.2


def test_fleet_draws_slow_spans_at_the_rate_of_the_profile() -> None:
    rng = np.random.default_rng(0)
    runners = dataclasses.replace(USUAL, slow_spans_per_100=(0.2, 0.2))
    spans = [Fleet.draw(runners, 900, rng).spans for _ in range(100)]
    assert 1.4 < np.mean([len(span) for span in spans]) < 2.2
    assert all(5 <= stop - start <= 60 for span in spans for start, stop, _ in span)


def test_outliers_are_among_the_first_points() -> None:
    hit = [np.flatnonzero(runner.offsets) for runner in only(first_outliers=1.0)]
    assert all(1 <= places.size <= 3 and places.max() <= 3 for places in hit)
    assert not any(runner.events for runner in only(first_outliers=1.0))


def test_repeated_results_have_a_varying_spread() -> None:
    for runner in only(repeated=1.0)[:5]:
        assert runner.spread.max() == 1.0
        assert runner.spread.min() == pytest.approx(6**-0.5)


def test_counts_have_no_noise_and_many_tiny_steps(many: list[SimulatedSeries]) -> None:
    exact = [series for series in many if series.cv <= 1e-4]
    assert 0.05 < len(exact) / len(many) < 0.25
    for series in exact:
        assert np.array_equal(series.values, np.rint(series.values))
    tiny = [tiny_shifts(series.events) for series in exact]
    assert max(map(len, tiny)) > 10
    assert np.concatenate(tiny).max() < 0.005


def tiny_shifts(events: tuple[Event, ...]) -> Floats:
    shifts = np.array([abs(event.shift) for event in events if event.kind == "step"])
    return shifts[(shifts > 2e-5) & (shifts < 0.00499)]


def test_changes_of_factors_occur_in_ci_histories_alone(many: list[SimulatedSeries]) -> None:
    def largest(series: list[SimulatedSeries]) -> float:
        return max(abs(event.shift) for name in series for event in name.events)

    assert largest(many) > np.log(20.0)
    # Two commits of at most x5 each can show at the same point.
    assert largest(list(World(3, LONG).stream(0, 108))) < 2 * np.log(5.0)


def test_variance_changes_and_grids_are_common(many: list[SimulatedSeries]) -> None:
    few = [
        np.unique(runner.values).size < 0.5 * runner.values.size
        for runner in many
        if runner.cv > 1e-4
    ]
    assert 0.1 < np.mean(few) < 0.6
    ratios = [spread_ratio(runner.values) for runner in many if runner.cv > 1e-4]
    assert np.mean(np.array(ratios) > 2.0) > 0.1


def spread_ratio(values: Floats) -> float:
    """Return how much the usual move differs between the halves, as a factor above 1."""
    moves = np.abs(np.diff(np.log(values)))
    first, second = (np.median(half) for half in np.array_split(moves, 2))
    return float(max(first, second) / max(min(first, second), 1e-12))

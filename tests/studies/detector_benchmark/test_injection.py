import numpy as np
import pytest

from barograph.studies.detector_benchmark.calm_segments import Carrier
from barograph.studies.detector_benchmark.cases import noise
from barograph.studies.detector_benchmark.injection import (
    KINDS,
    SCENARIOS,
    SHORTEST,
    STEPS,
    changed,
    injected,
    places,
    reverted,
)
from barograph.studies.detector_benchmark.simulated_annotators import onlookers, visibility

CARRIERS = [Carrier(str(k), np.random.default_rng(k).standard_normal(120)) for k in range(3)]


def test_nine_scenarios_of_one_two_and_four_points() -> None:
    assert len(SCENARIOS) == 9
    assert [scenario.changes for scenario in SCENARIOS] == [1, 1, 1, 2, 2, 2, 4, 4, 4]
    cases = list(injected(CARRIERS, seed=0))
    assert len(cases) == 27
    for case, scenario in zip(cases, SCENARIOS * 3, strict=True):
        assert (case.scenario, len(case.truth)) == (scenario.name, scenario.changes)


def test_the_same_seed_injects_the_same() -> None:
    once, again = list(injected(CARRIERS, seed=4)), list(injected(CARRIERS, seed=4))
    other = list(injected(CARRIERS, seed=5))
    for a, b, c in zip(once, again, other, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
        assert (a.truth, a.people) == (b.truth, b.people)
        assert not np.array_equal(a.values, c.values)


@pytest.mark.parametrize("changes", [1, 2, 4])
def test_no_group_is_shorter_than_five_points(changes: int) -> None:
    for seed in range(50):
        points = places(30, changes, np.random.default_rng(seed))
        assert len(points) == changes
        assert min(np.diff([0, *points, 30])) >= SHORTEST


def test_every_second_group_is_changed_and_no_other() -> None:
    values = CARRIERS[0].values
    for kind in KINDS:
        result = changed(values, (30, 60, 90), kind, np.random.default_rng(1))
        same = result == values
        assert same[:30].all()
        assert same[60:90].all()
        assert not same[30:60].any()
        assert not same[90:].any()


def test_a_change_of_mean_keeps_the_spread_and_one_of_variance_the_level() -> None:
    values = CARRIERS[0].values
    step = changed(values, (60,), "mean", np.random.default_rng(2))[60:] - values[60:]
    assert np.ptp(step) < 1e-12
    assert STEPS[0] <= abs(step[0]) / noise(values) <= STEPS[1]
    wide = changed(values, (60,), "variance", np.random.default_rng(2))[60:]
    assert 2.0 <= wide.std() / values[60:].std() <= 4.0
    assert abs(np.median(wide) - np.median(values[60:])) < wide.std()


def test_reverted_changes_return_after_so_many_points() -> None:
    cases = list(reverted(CARRIERS, (2, 10), seed=0))
    assert [case.truth[1] - case.truth[0] for case in cases] == [2, 10] * 3
    assert cases[0].scenario == "reverted after 2"


def test_onlookers_see_a_large_lasting_step_and_no_small_one() -> None:
    values = np.random.default_rng(3).standard_normal(120)
    large, small = values.copy(), values.copy()
    large[60:] += 30.0
    small[60:] += 0.05
    seen = [o.marks for seed in range(20) for o in onlookers(large, (60,), (seed,))]
    assert np.mean([any(abs(mark - 60) <= 2 for mark in marks) for marks in seen]) > 0.95
    missed = [o.marks for seed in range(20) for o in onlookers(small, (60,), (seed,))]
    assert np.mean([any(abs(mark - 60) <= 2 for mark in marks) for marks in missed]) < 0.1


def test_what_lasts_longer_is_seen_by_more() -> None:
    values = np.random.default_rng(3).standard_normal(120)
    lasting = [visibility(values, (60, 60 + n), 0)[2] for n in (2, 5, 20)]
    assert lasting == pytest.approx(np.log([2 / 5, 1.0, 4.0]))


def test_onlookers_of_a_constant_series_see_nothing() -> None:
    assert visibility(np.ones(50), (25,), 0)[:2] == (-np.inf, -np.inf)
    marks = [o.marks for seed in range(20) for o in onlookers(np.ones(50), (25,), (seed,))]
    assert np.mean([len(own) for own in marks]) < 0.2

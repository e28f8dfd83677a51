import numpy as np
import pytest

from barograph.simulator.people import noise
from barograph.studies.detector_cases import (
    CALM,
    KINDS,
    SCENARIOS,
    SHORTEST,
    STEPS,
    Case,
    calm_segments,
    calmest_segment,
    changed,
    draw_points,
    injected,
    rank_deviation,
)

SEGMENTS = [Case(str(k), np.random.default_rng(k).standard_normal(120)) for k in range(3)]

NOISE = np.random.default_rng(0).standard_normal(400)
STEPPED = NOISE + np.repeat([0.0, 8.0, 8.0, 8.0], 100)


def test_injected_yields_nine_scenarios_per_segment() -> None:
    assert len(SCENARIOS) == 9
    assert [changes for _, changes in SCENARIOS.values()] == [1, 1, 1, 2, 2, 2, 4, 4, 4]
    cases = list(injected(SEGMENTS, seed=0))
    assert len(cases) == 27
    for case, (name, (_, changes)) in zip(cases, [*SCENARIOS.items()] * 3, strict=True):
        assert (case.scenario, len(case.truth)) == (name, changes)


def test_injected_depends_on_the_seed_only() -> None:
    once, again = list(injected(SEGMENTS, seed=4)), list(injected(SEGMENTS, seed=4))
    other = list(injected(SEGMENTS, seed=5))
    for a, b, c in zip(once, again, other, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
        assert a.truth == b.truth
        assert not np.array_equal(a.values, c.values)


@pytest.mark.parametrize("changes", [1, 2, 4])
def test_draw_points_leaves_groups_of_at_least_five_points(changes: int) -> None:
    for seed in range(50):
        points = draw_points(30, changes, np.random.default_rng(seed))
        assert len(points) == changes
        assert min(np.diff([0, *points, 30])) >= SHORTEST


def test_changed_affects_every_second_group_only() -> None:
    values = SEGMENTS[0].values
    for kind in KINDS:
        result = changed(values, (30, 60, 90), kind, np.random.default_rng(1))
        same = result == values
        assert same[:30].all()
        assert same[60:90].all()
        assert not same[30:60].any()
        assert not same[90:].any()


def test_change_of_mean_keeps_the_variance_and_change_of_variance_the_level() -> None:
    values = SEGMENTS[0].values
    step = changed(values, (60,), "mean", np.random.default_rng(2))[60:] - values[60:]
    assert np.ptp(step) < 1e-12
    assert STEPS[0] <= abs(step[0]) / noise(values) <= STEPS[1]
    wide = changed(values, (60,), "variance", np.random.default_rng(2))[60:]
    assert 2.0 <= wide.std() / values[60:].std() <= 4.0
    assert abs(np.median(wide) - np.median(values[60:])) < wide.std()


def test_rank_deviation_of_noise_follows_the_kolmogorov_distribution() -> None:
    generator = np.random.default_rng(1)
    calm = [rank_deviation(generator.standard_normal(200)) < 1.358 for _ in range(500)]
    assert 0.92 < np.mean(calm) < 0.985
    assert rank_deviation(STEPPED[:200]) > 5
    assert rank_deviation(np.ones(50)) == 0.0


def test_calmest_segment_contains_no_step() -> None:
    segment = calmest_segment(Case("one", STEPPED), 100)
    assert segment is not None
    start = int(np.argmin(np.abs(STEPPED - segment.values[0])))
    assert start == 0 or start >= 100
    assert segment.values.size == 100
    assert rank_deviation(segment.values) < CALM


def test_calmest_segment_keeps_its_times() -> None:
    segment = calmest_segment(Case("one", STEPPED, np.arange(400.0)), 100)
    assert segment is not None
    assert segment.times is not None
    np.testing.assert_array_equal(STEPPED[segment.times.astype(int)], segment.values)


def test_history_without_a_calm_part_has_no_segment() -> None:
    drift = Case("drift", np.arange(400.0) + NOISE)
    constant = Case("constant", np.ones(400))
    short = Case("short", NOISE[:50])
    assert calmest_segment(drift, 100) is None
    assert calmest_segment(constant, 100) is None
    assert calmest_segment(short, 100) is None
    assert calm_segments([drift, constant, short], 100, 9) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_calm_segments_stops_at_the_limit(limit: int) -> None:
    histories = [Case(str(k), NOISE[k:]) for k in range(3)]
    assert [segment.series for segment in calm_segments(histories, 100, limit)] == ["0", "1", "2"][
        :limit
    ]

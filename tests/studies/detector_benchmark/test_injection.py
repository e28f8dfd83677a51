import numpy as np
import pytest

from barograph.simulator import people
from barograph.simulator.people import noise
from barograph.simulator.projects import Event
from barograph.studies.detector_benchmark.injection import (
    CALM,
    KINDS,
    SCENARIOS,
    SHORTEST,
    STEPS,
    Segment,
    calm_segments,
    calmest_segment,
    changed,
    draw_points,
    injected,
    mark_chances,
    rank_deviation,
    simulated_opinions,
)

SEGMENTS = [Segment(str(k), np.random.default_rng(k).standard_normal(120)) for k in range(3)]

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
        assert (a.truth, a.people) == (b.truth, b.people)
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
    segment = calmest_segment(Segment("one", STEPPED), 100)
    assert segment is not None
    start = int(np.argmin(np.abs(STEPPED - segment.values[0])))
    assert start == 0 or start >= 100
    assert segment.values.size == 100
    assert rank_deviation(segment.values) < CALM


def test_calmest_segment_keeps_its_times() -> None:
    segment = calmest_segment(Segment("one", STEPPED, np.arange(400.0)), 100)
    assert segment is not None
    assert segment.times is not None
    np.testing.assert_array_equal(STEPPED[segment.times.astype(int)], segment.values)


def test_history_without_a_calm_part_has_no_segment() -> None:
    drift = Segment("drift", np.arange(400.0) + NOISE)
    constant = Segment("constant", np.ones(400))
    short = Segment("short", NOISE[:50])
    assert calmest_segment(drift, 100) is None
    assert calmest_segment(constant, 100) is None
    assert calmest_segment(short, 100) is None
    assert calm_segments([drift, constant, short], 100, 9) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_calm_segments_stops_at_the_limit(limit: int) -> None:
    histories = [Segment(str(k), NOISE[k:]) for k in range(3)]
    assert [segment.series for segment in calm_segments(histories, 100, limit)] == ["0", "1", "2"][
        :limit
    ]


def test_people_mark_a_large_lasting_step_and_not_a_small_one() -> None:
    values = np.random.default_rng(3).standard_normal(120)
    large, small = values.copy(), values.copy()
    large[60:] += 30.0
    small[60:] += 0.05
    seen = [o.reported for seed in range(20) for o in simulated_opinions(large, (60,), (seed,))]
    assert np.mean([any(abs(mark - 60) <= 2 for mark in marks) for marks in seen]) > 0.8
    missed = [o.reported for seed in range(20) for o in simulated_opinions(small, (60,), (seed,))]
    assert np.mean([any(abs(mark - 60) <= 2 for mark in marks) for marks in missed]) < 0.15


def test_longer_changes_are_marked_by_more_people() -> None:
    values = np.random.default_rng(3).standard_normal(120)
    chances = []
    for duration in (2, 5, 20):
        raised = values + 10.0 * ((np.arange(120) >= 60) & (np.arange(120) < 60 + duration))
        chances.append(mark_chances(raised, (60, 60 + duration), np.zeros(1))[0, 0])
    assert chances == sorted(chances)
    assert chances[0] < 0.2 < 0.85 < chances[-1]


def test_change_without_a_step_is_never_marked() -> None:
    assert mark_chances(np.ones(50), (25,), np.zeros(1)).tolist() == [[0.0]]
    marks = [
        o.reported for seed in range(20) for o in simulated_opinions(np.ones(50), (25,), (seed,))
    ]
    assert np.mean([len(mark) for mark in marks]) < 0.2


def test_changes_of_equal_size_have_the_chances_of_the_simulator() -> None:
    values = np.random.default_rng(3).standard_normal(200) + np.repeat(
        [0.0, 4.0, 0.0], [90, 60, 50]
    )
    events = [Event(90, 4.0, "step"), Event(150, -4.0, "step")]
    leniency = np.linspace(-1.0, 1.0, 5)
    expected = people.mark_chances(values, events, leniency)
    assert mark_chances(values, (90, 150), leniency).tolist() == expected.tolist()


def test_people_of_one_key_mark_the_same_places_and_others_differ() -> None:
    values = np.random.default_rng(5).standard_normal(120) + np.repeat([0.0, 6.0, 3.0], 40)
    first, again, other = (
        [opinion.reported for opinion in simulated_opinions(values, (40, 80), key)]
        for key in ((1, 2, 3), (1, 2, 3), (1, 2, 4))
    )
    assert first == again
    assert first != other

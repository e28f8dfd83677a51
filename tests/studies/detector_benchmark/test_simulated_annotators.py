import numpy as np

from barograph.sources.simulator import people
from barograph.sources.simulator.events import Event
from barograph.studies.detector_benchmark.simulated_annotators import (
    mark_chances,
    simulated_opinions,
)


def test_people_mark_a_large_lasting_step_and_not_a_small_one() -> None:
    values = np.random.default_rng(3).standard_normal(120)
    large, small = values.copy(), values.copy()
    large[60:] += 30.0
    small[60:] += 0.05
    seen = [o.marks for seed in range(20) for o in simulated_opinions(large, (60,), (seed,))]
    assert np.mean([any(abs(mark - 60) <= 2 for mark in marks) for marks in seen]) > 0.8
    missed = [o.marks for seed in range(20) for o in simulated_opinions(small, (60,), (seed,))]
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
    marks = [o.marks for seed in range(20) for o in simulated_opinions(np.ones(50), (25,), (seed,))]
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
        [opinion.marks for opinion in simulated_opinions(values, (40, 80), key)]
        for key in ((1, 2, 3), (1, 2, 3), (1, 2, 4))
    )
    assert first == again
    assert first != other

"""The marking rule: large, lasting, isolated shifts get votes; small or short ones do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.results.series import Floats
from barograph.simulator.people import (
    ATTENTION,
    VARIED,
    mark_chances,
    noise,
    step_and_noise,
    survey,
    votes_for,
)
from barograph.simulator.projects import Event

NOISE = np.random.default_rng(7).standard_normal(200)
HABITS = np.zeros(1)


def stepped(*events: Event) -> Floats:
    """A level of 100 with unit noise and the shifts of the events, in the same unit."""
    values = 100.0 + NOISE
    for event in events:
        values[event.index :] += event.shift
    return values


def chance(*events: Event, of: int = 0) -> float:
    return float(mark_chances(stepped(*events), events, HABITS)[0, of])


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.floats(1.0, 30.0), st.floats(1.05, 3.0), st.integers(20, 180))
def test_larger_step_is_marked_more_often(size: float, factor: float, index: int) -> None:
    assert chance(Event(index, size * factor, "step")) >= chance(Event(index, size, "step")) - 1e-9


def test_clear_step_is_marked_and_noise_is_not() -> None:
    assert chance(Event(100, 12.0, "step")) > 0.99 * (1.0 - VARIED.overlooked)
    assert chance(Event(100, 0.3, "step")) < 0.02


def test_reverted_step_is_marked_less_often() -> None:
    lasting = chance(Event(100, 10.0, "step"))
    chances = [
        chance(Event(100, 10.0, "regressed"), Event(100 + n, -10.0, "reverted"))
        for n in (2, 4, 10, 50)
    ]
    assert chances == sorted(chances)
    assert chances[0] < 0.2 * lasting
    assert chances[-1] > 0.9 * lasting


def test_step_at_the_end_is_marked_less_often() -> None:
    assert chance(Event(198, 10.0, "step")) < 0.2 < 0.8 < chance(Event(160, 10.0, "step"))


def test_small_neighbour_does_not_end_the_comparison() -> None:
    alone = chance(Event(100, 10.0, "step"))
    assert chance(Event(100, 10.0, "step"), Event(103, 1.0, "step")) > 0.9 * alone


def test_step_that_is_small_in_the_plot_is_overlooked() -> None:
    small = Event(150, 4.0, "step")
    assert chance(small) > 0.5
    assert chance(Event(50, 300.0, "step"), small, of=1) < 0.05


def test_lenient_people_mark_more() -> None:
    event = Event(100, 2.0, "step")
    chances = mark_chances(stepped(event), [event], np.array([-1.0, 0.0, 1.0]))[:, 0]
    assert chances[0] < chances[1] < chances[2]


def test_noise_is_measured_around_both_medians() -> None:
    values = np.array([0.0, 1.0, -1.0, 0.0, 10.0, 11.0, 9.0, 10.0])
    size, noise = step_and_noise(values, 0, 4, 8)
    assert size == 10.0
    assert noise == pytest.approx(1.4826 * 0.5)


def test_flat_line_has_no_marks() -> None:
    assert mark_chances(np.ones(50), [Event(20, 0.5, "step")], HABITS)[0, 0] == 0.0


def test_step_without_noise_is_marked() -> None:
    values = np.repeat([1.0, 2.0], 50)
    assert mark_chances(values, [Event(50, 0.7, "step")], HABITS)[0, 0] > 0.85


def test_marks_are_near_their_events_and_votes_count_people() -> None:
    event = Event(100, 20.0, "step")
    crowd = survey(stepped(event), [event], 200, np.random.default_rng(3))
    near = [np.abs(mark - 100).min() <= 2 for mark in crowd if mark.size]
    assert np.mean(near) > 0.97
    marked = [mark for mark in crowd if mark.size]
    offsets = np.array([mark[np.abs(mark - 100).argmin()] - 100 for mark in marked])
    assert 0.4 < np.mean(offsets == 0) < 0.6
    assert 165 < votes_for(100, crowd) < 195
    assert votes_for(30, crowd) < 20


def test_series_without_events_has_only_stray_marks() -> None:
    crowd = survey(100.0 + NOISE, [], 1000, np.random.default_rng(3))
    assert 30 <= sum(mark.size for mark in crowd) <= 75


def test_vote_reaches_five_points() -> None:
    crowd = np.array([100]), np.array([94, 106])
    assert votes_for(105, crowd) == 2
    assert votes_for(100, crowd) == 1
    assert votes_for(112, crowd) == 0


def test_noise_is_robust_but_not_zero_where_most_values_are_equal() -> None:
    calm = np.random.default_rng(0).standard_normal(2000)
    assert noise(calm) == pytest.approx(1.0, abs=0.1)
    mostly_equal = np.zeros(100)
    mostly_equal[::10] = 1.0
    assert noise(mostly_equal) == pytest.approx(0.5 * mostly_equal.std())


def test_steps_below_half_a_percent_are_not_worth_a_mark_even_without_noise() -> None:
    def marked(percent: float) -> float:
        values = np.repeat([1.0, 1.0 + percent / 100], 50)
        return float(mark_chances(values, [Event(50, percent / 100, "step")], HABITS)[0, 0])

    assert marked(0.1) < 0.01
    assert marked(0.3) < 0.05
    assert marked(0.4) < 0.3
    assert marked(1.0) > 0.85


def test_both_ends_of_a_pulse_are_marked_as_often() -> None:
    pulse = Event(100, 10.0, "regressed"), Event(105, -10.0, "reverted")
    assert chance(*pulse) == pytest.approx(chance(*pulse, of=1), abs=0.05)


def test_people_overlook_some_changes_and_are_lenient_on_average() -> None:
    clear, slight = Event(100, 30.0, "step"), Event(100, 0.7, "step")
    seen = votes_for(100, survey(stepped(clear), [clear], 2000, np.random.default_rng(1))) / 2000
    assert seen == pytest.approx(1.0 - VARIED.overlooked, abs=0.05)
    average = (
        votes_for(100, survey(stepped(slight), [slight], 2000, np.random.default_rng(1))) / 2000
    )
    assert average > chance(slight) + 0.05


def test_attentive_people_mark_every_clear_shift_that_lasts() -> None:
    def marked(*events: Event, of: int = 0, values: Floats | None = None) -> float:
        plot = stepped(*events) if values is None else values
        return float(mark_chances(plot, events, HABITS, ATTENTION["attentive"])[0, of])

    clear = Event(100, 30.0, "step")
    assert marked(clear) > 0.99 > 0.95 > chance(clear)
    assert marked(Event(50, 0.001, "step"), values=np.repeat([1.0, 1.001], 50)) > 0.99
    pulse = Event(100, 10.0, "regressed"), Event(103, -10.0, "reverted")
    assert marked(*pulse) < 0.3 < 0.9 < marked(*pulse, of=1)

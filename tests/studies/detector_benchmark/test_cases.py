import numpy as np
import pytest

from barograph.detection import Threshold
from barograph.studies.detector_benchmark.cases import Case, Opinion, majority, noise, opinions

DAY = 24 * 3600.0


def test_a_majority_marks_a_point_together() -> None:
    marks = [{10}, {12}, {11, 60}, set(), {60}]
    assert majority(marks, margin=5) == (11,)
    assert majority(marks[:3], margin=5) == (11,)


def test_half_of_the_people_are_no_majority() -> None:
    assert majority([{10}, {10}, set(), set()], margin=5) == ()


def test_two_changes_near_each_other_are_two() -> None:
    assert majority([{10, 14}, {10, 14}, {10, 14}], margin=5) == (10, 14)


def test_a_person_supports_a_point_once() -> None:
    assert majority([{9, 10, 11}, set(), set()], margin=5) == ()


def test_nobody_is_nothing() -> None:
    assert majority([], margin=5) == ()
    assert opinions([], margin=5) == ()


def test_each_person_is_held_against_the_others() -> None:
    given = opinions([{10}, {11}, {12}, {90}], margin=5)
    assert given[0] == Opinion((10,), (11,))
    assert given[3] == Opinion((90,), (11,))


def test_a_detector_sees_the_first_points_and_their_times() -> None:
    values = 100.0 * 1.02 ** np.arange(20.0)
    case = Case("one", "drift", values, (), np.arange(20.0) * DAY)
    assert case.size == 20
    assert case.found_by(Threshold()) == (7,)
    assert case.found_by(Threshold(), 7) == ()
    assert Case("one", "drift", values, ()).found_by(Threshold()) == ()


def test_noise_ignores_spikes_but_not_all_of_them() -> None:
    calm = np.random.default_rng(0).standard_normal(2000)
    assert noise(calm) == pytest.approx(1.0, abs=0.1)
    mostly_equal = np.zeros(100)
    mostly_equal[::10] = 1.0
    assert noise(mostly_equal) == pytest.approx(0.5 * mostly_equal.std())

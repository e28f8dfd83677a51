"""Hunter: against a plain reference, against Apache Otava, and its properties."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_series import random_series

from barograph.detection import Hunter
from barograph.results.series import ChangePoint, Floats
from tests.detection.hunter_reference import hunter, pvalue

RANDOM = np.random.default_rng(11)
STEP = np.concatenate([RANDOM.normal(100, 1, 30), RANDOM.normal(108, 1, 30)])


def indices(points: list[ChangePoint]) -> list[int]:
    return [point.index for point in points]


def detected(values: Floats, **parameters: float) -> list[int]:
    return indices(Hunter(**parameters).detect(values))  # type: ignore[arg-type]


def test_a_step_is_found_at_its_first_point() -> None:
    (point,) = Hunter().detect(STEP)
    assert point.index == 30
    assert point.pvalue == pytest.approx(pvalue(STEP[:30], STEP[30:]), rel=1e-9)
    assert (point.before.count, point.after.count) == (30, 30)
    assert point.statistic > 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("window", "limit", "magnitude"), [(20, 0.01, 0.0), (12, 0.1, 0.02)])
def test_it_is_the_plain_reference(seed: int, window: int, limit: float, magnitude: float) -> None:
    random = np.random.default_rng(seed)
    values = np.repeat(random.normal(100, 4, 7), 8) + random.normal(0, 1, 56)
    expected = hunter(values, window, limit, magnitude)
    assert detected(values, window=window, pvalue=limit, min_magnitude=magnitude) == expected


def test_parity_gives_the_indices_of_apache_otava() -> None:
    rows = json.loads(Path(__file__).with_name("otava_indices.json").read_text(encoding="utf-8"))
    series = random_series(len(rows))
    assert len(rows) == 300
    for values, (window, limit, magnitude, expected) in zip(series, rows, strict=True):
        assert indices(Hunter(window, limit, magnitude, parity=True).detect(values)) == expected


def test_default_tests_both_neighbours_of_a_merged_point_again() -> None:
    # Wherever the two differ, every p-value of the default is that of the regions reported.
    differ = 0
    for values in random_series(60, seed=5):
        points = Hunter(20, 0.05).detect(values)
        edges = [0, *indices(points), values.size]
        for k, point in enumerate(points):
            left, right = values[edges[k] : edges[k + 1]], values[edges[k + 1] : edges[k + 2]]
            assert point.pvalue is not None
            assert point.pvalue < 0.05
            if left.std() + right.std() > 1e-9:
                assert point.pvalue == pytest.approx(pvalue(left, right), rel=1e-6, abs=1e-280)
        differ += indices(points) != indices(Hunter(20, 0.05, parity=True).detect(values))
    assert differ > 0


def test_without_weak_points_nothing_is_merged() -> None:
    values = random_series(1, seed=3, longest=300)[0]
    plain, merged = detected(values, pvalue=0.05, weak=False), detected(values, pvalue=0.05)
    assert set(plain) != set(merged)


def test_a_minimum_magnitude_leaves_small_changes_out() -> None:
    assert detected(STEP, min_magnitude=0.05) == [30]
    assert detected(STEP, min_magnitude=0.15) == []


def test_a_change_that_is_soon_undone_is_found() -> None:
    values = RANDOM.normal(100, 1, 90)
    values[60:66] -= 12
    assert detected(values) == [60, 66]


@pytest.mark.parametrize("level", [0.0, 0.1, -3.7, 1e100, 1e-100, 123456.789])
@pytest.mark.parametrize("size", [3, 49, 51, 400])
def test_a_constant_has_no_change_points(level: float, size: int) -> None:
    assert detected(np.full(size, level)) == []


def test_two_values_without_noise_are_distinguished_at_any_size() -> None:
    for scale in (1.0, 0.1, 1e99, 1e-99, -1.0):
        values = scale * np.repeat([1.0, 2.0, 1.0], 20)
        points = Hunter().detect(values)
        assert indices(points) == [20, 40]
        assert [point.pvalue for point in points] == [0.0, 0.0]


WHOLE = st.lists(st.integers(-40, 40), min_size=3, max_size=90)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(values=WHOLE, shift=st.integers(-1000, 1000), power=st.integers(-300, 300))
def test_shift_scale_and_sign_do_not_matter(values: list[int], shift: int, power: int) -> None:
    series = np.array(values, dtype=np.float64)
    expected = detected(series, window=20, pvalue=0.05)
    assert detected(series + shift, window=20, pvalue=0.05) == expected
    assert detected(np.ldexp(series, power), window=20, pvalue=0.05) == expected
    assert detected(-series, window=20, pvalue=0.05) == expected


@settings(derandomize=True, deadline=None, max_examples=40)
@given(left=st.integers(5, 25), right=st.integers(5, 25), seed=st.integers(0, 10**6))
def test_a_clear_step_is_found_from_both_ends(left: int, right: int, seed: int) -> None:
    noise = np.random.default_rng(seed).uniform(-1, 1, left + right)
    values = np.repeat([0.0, 30.0], [left, right]) + noise
    assert left in detected(values)
    assert right in detected(values[::-1])

"""E-Divisive: the statistic against the whole matrix, the division, its properties."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import EDivisive
from barograph.detection.edivisive import _shuffle_by_arrays, shuffle
from barograph.detection.edivisive.energy import _distances_by_arrays, distances_back
from barograph.results.series import ChangePoint, Floats
from tests.detection.edivisive_reference import split_statistic

RANDOM = np.random.default_rng(23)


def indices(points: list[ChangePoint]) -> list[int]:
    return [point.index for point in points]


def steps(*levels: float, length: int = 25, seed: int = 0) -> Floats:
    random = np.random.default_rng(seed)
    return np.repeat(np.array(levels), length) + random.normal(0, 1, length * len(levels))


SERIES = {
    "normal": RANDOM.normal(1e6, 1, 173),
    "ties": np.round(RANDOM.normal(0, 2, 90)),
    "heavy": np.exp(RANDOM.normal(0, 3, 401)),
    "steps": steps(1, 5, 2, length=40),
    # Longer than the half triangle of differences serves: the tree's turn.
    "long": RANDOM.normal(5, 1, 700),
}


@pytest.mark.parametrize("name", SERIES)
def test_the_statistic_is_the_largest_of_the_whole_matrix(name: str) -> None:
    expected = split_statistic(SERIES[name])
    points = EDivisive(pvalue=0.99, permutations=999, min_size=1).detect(SERIES[name])
    [first] = [point for point in points if point.order == 0]
    assert first.statistic == pytest.approx(expected.max(), rel=1e-9)
    assert expected[first.index] == pytest.approx(expected.max(), rel=1e-9)


def test_the_search_needs_no_matrix() -> None:
    values = RANDOM.normal(0, 1, 20_000)
    detector = EDivisive(pvalue=0.5, permutations=1)
    detector.detect(values)
    tracemalloc.start()
    detector.detect(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * values.nbytes


def test_steps_are_found_with_order_statistic_and_regions() -> None:
    values = steps(10, 20, 13, length=30)
    first, second = EDivisive().detect(values)
    assert [first.index, second.index] == [30, 60]
    assert sorted([first.order, second.order]) == [0, 1]  # type: ignore[type-var]
    earliest = first if first.order == 0 else second
    statistic = split_statistic(values)
    assert earliest.index == statistic.argmax()
    assert earliest.statistic == pytest.approx(statistic.max(), rel=1e-9)
    assert earliest.pvalue == 1 / 101
    assert (first.before.count, first.after.count, second.after.count) == (30, 30, 30)


def test_the_same_seed_gives_the_same_change_points() -> None:
    values = steps(0, 0.8, 0, 0.9, length=40)
    points_by_seed = [EDivisive(seed=seed).detect(values) for seed in (1, 1, 2)]
    assert points_by_seed[0] == points_by_seed[1]
    pvalues = [[point.pvalue for point in points] for points in points_by_seed]
    assert pvalues[0] != pvalues[2]


def test_noise_alone_is_divided_about_as_often_as_the_pvalue_says() -> None:
    detector = EDivisive()
    random = np.random.default_rng(99)
    alarms = sum(bool(detector.detect(random.normal(0, 1, 40))) for _ in range(400))
    # The p-value of exchangeable points is exact: at most 4.95 % of 400, three deviations aside.
    assert 6 <= alarms <= 33


def test_no_part_is_smaller_than_the_fewest_points() -> None:
    values = steps(0, 30, length=12)
    values[9] += 500
    for least in (1, 3, 6):
        edges = [0, *indices(EDivisive(min_size=least).detect(values)), values.size]
        assert np.diff(edges).min() >= least


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    values=st.lists(st.integers(-30, 30), min_size=6, max_size=60),
    shift=st.integers(-500, 500),
    power=st.integers(-300, 300),
)
def test_shift_scale_and_sign_do_not_matter(values: list[int], shift: int, power: int) -> None:
    detector = EDivisive()
    series = np.array(values, dtype=np.float64)
    expected = indices(detector.detect(series))
    assert indices(detector.detect(series + shift)) == expected
    assert indices(detector.detect(np.ldexp(series, power))) == expected


@settings(derandomize=True, deadline=None, max_examples=30)
@given(left=st.integers(8, 30), right=st.integers(8, 30), seed=st.integers(0, 10**6))
def test_a_clear_step_is_found_from_both_ends(left: int, right: int, seed: int) -> None:
    noise = np.random.default_rng(seed).uniform(-1, 1, left + right)
    values = np.repeat([-20.0, 20.0], [left, right]) + noise
    assert left in indices(EDivisive().detect(values))
    assert right in indices(EDivisive().detect(values[::-1]))


def test_less_than_two_parts_of_the_fewest_points_have_no_change_points() -> None:
    assert EDivisive(min_size=4).detect([0.0] * 3 + [9.0] * 4) == []


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 64, 65, 400])
def test_functions_of_arrays_return_the_bits_of_the_kernels(size: int) -> None:
    values = np.random.default_rng(size).standard_cauchy(size)
    sums = np.zeros(size + 1), np.zeros(size + 1)
    distances_back(values, sums[0])
    _distances_by_arrays(values, sums[1])
    assert np.array_equal(*sums)
    rows = [
        (values.copy(), np.arange(size), sums[0][:size].copy(), np.array([77], dtype=np.uint64))
        for _ in range(2)
    ]
    for _ in range(3):
        shuffle(*rows[0])
        _shuffle_by_arrays(*rows[1])
    for compiled, by_arrays in zip(*rows, strict=True):
        assert np.array_equal(compiled, by_arrays)

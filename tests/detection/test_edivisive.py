"""E-Divisive: the statistic against the whole matrix, the division, its properties."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import EDivisive, energy_statistic
from barograph.detection.edivisive.divide import _shuffle_by_arrays, shuffle
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
    "two": RANDOM.normal(0, 1, 2),
    "steps": steps(1, 5, 2, length=40),
    # Longer than the half triangle of differences serves: the tree's turn.
    "long": RANDOM.normal(5, 1, 700),
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("alpha", [1.0, 0.5, 1.5])
def test_the_statistic_is_that_of_the_whole_matrix(name: str, alpha: float) -> None:
    expected = split_statistic(SERIES[name], alpha)
    tolerance = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(
        energy_statistic(SERIES[name], alpha), expected, atol=tolerance, rtol=0
    )


@pytest.mark.parametrize("size", range(2))
def test_the_statistic_of_less_than_two_points_is_zero(size: int) -> None:
    assert energy_statistic(np.ones(size)).tolist() == [0.0] * size


def test_the_statistic_needs_no_matrix() -> None:
    values = RANDOM.normal(0, 1, 20_000)
    energy_statistic(values)
    tracemalloc.start()
    energy_statistic(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * values.nbytes


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    values=st.lists(st.integers(-50, 50), min_size=2, max_size=60),
    shift=st.integers(-1000, 1000),
    scale=st.sampled_from([0.1, 3.0, -1.0, 1e80]),
)
def test_the_statistic_turns_round_stays_under_shift_and_grows_with_scale(
    values: list[int], shift: int, scale: float
) -> None:
    series = np.array(values, dtype=np.float64)
    statistic = energy_statistic(series)
    within = 1e-9 * float(statistic.max())
    turned = energy_statistic(series[::-1])[1:][::-1]
    np.testing.assert_allclose(turned, statistic[1:], rtol=1e-9, atol=within)
    np.testing.assert_allclose(energy_statistic(series + shift), statistic, rtol=1e-9, atol=within)
    scaled = energy_statistic(scale * series) / abs(scale)
    np.testing.assert_allclose(scaled, statistic, rtol=1e-9, atol=within)


def test_steps_are_found_with_order_statistic_and_regions() -> None:
    values = steps(10, 20, 13, length=30)
    first, second = EDivisive().detect(values)
    assert [first.index, second.index] == [30, 60]
    assert sorted([first.order, second.order]) == [0, 1]  # type: ignore[type-var]
    earliest = first if first.order == 0 else second
    statistic = energy_statistic(values)
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


def test_a_weaker_middle_finds_a_change_near_the_edge() -> None:
    # Three of four points at the edge carry half the weight that they have in the middle.
    random = np.random.default_rng(4)
    values = random.normal(0, 1, 120)
    values[-3:] += 2.5
    weights = {middle: EDivisive(middle=middle, seed=1).detect(values) for middle in (1.0, 0.5)}
    assert indices(weights[1.0]) != indices(weights[0.5])
    assert 117 in indices(weights[0.5])


def test_only_recent_points_are_looked_at_on_demand() -> None:
    values = steps(0, 20, 0, 20, length=20)
    assert indices(EDivisive().detect(values)) == [20, 40, 60]
    assert indices(EDivisive(recent=30).detect(values)) == [60]


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    values=st.lists(st.integers(-30, 30), min_size=6, max_size=60),
    shift=st.integers(-500, 500),
    power=st.integers(-900, 900),
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


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5])
def test_the_energy_of_huge_values_is_never_undefined(alpha: float) -> None:
    values = np.array([1.7e308, -1.7e308, 0.0, 1.0])
    assert not np.isnan(energy_statistic(values, alpha)).any()
    small = np.random.default_rng(2).standard_normal(30)
    large = energy_statistic(small * 2.0**510, alpha)
    expected = energy_statistic(small, alpha) * 2.0 ** (510 * alpha)
    assert large == pytest.approx(expected, rel=1e-12)


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

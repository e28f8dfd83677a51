"""Excursions: short runs far from the level around them, and the copy without them."""

import numpy as np
import pytest

from barograph.detection.excursions import Excursion, excursions, fill
from barograph.results.series import Floats


def noise(size: int = 100, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(100.0, 1.0, size)


@pytest.mark.parametrize("factor", [0.1, 2.0, 80.0])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_run_far_from_the_level_is_an_excursion(size: int, factor: float) -> None:
    values = noise()
    values[40 : 40 + size] *= factor
    assert excursions(values) == [Excursion(40, 40 + size)]


@pytest.mark.parametrize("height", [9.0, -9.0])
def test_run_of_thirteen_points_is_a_level_of_its_own(height: float) -> None:
    values = noise()
    values[40:53] += 10 * height
    assert excursions(values) == []


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_run_that_reaches_the_end_is_an_excursion_only_if_it_is_a_spike(size: int) -> None:
    values = noise()
    values[:2] *= 20
    values[-size:] *= 20
    last = [Excursion(100 - size, 100)] if size < 3 else []
    assert excursions(values) == [Excursion(0, 2), *last]
    filled = fill(values, excursions(values))[-size:]
    assert filled.max() < 110 if size < 3 else filled.min() > 1500


def test_point_within_half_of_the_level_is_no_excursion_however_quiet_the_series() -> None:
    values = np.full(60, 100.0)
    values[30] = 149.0
    assert excursions(values) == []
    values[30] = 151.0
    assert excursions(values) == [Excursion(30, 31)]


@pytest.mark.parametrize("step", [*range(1, 14), *range(47, 60)])
@pytest.mark.parametrize("factor", [0.1, 50.0])
def test_part_of_the_first_or_last_level_is_no_excursion(step: int, factor: float) -> None:
    values = noise(60)
    values[step:] *= factor
    # the series comes from a first level of a few points and never returns to it; one or two last
    # points are a spike
    ends = [Excursion(0, step)] if step <= 12 else [Excursion(step, 60)] if step >= 58 else []
    assert excursions(values) == ends


def test_neighbours_on_opposite_sides_are_two_excursions() -> None:
    values = noise()
    values[40:42] *= 10
    values[42:44] *= -10
    assert excursions(values) == [Excursion(40, 42), Excursion(42, 44)]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 50.0], [0.0] * 30])
def test_tiny_and_constant_series_have_no_excursion(values: list[float]) -> None:
    assert excursions(np.array(values, dtype=np.float64)) == []


def test_levels_and_distances_equal_a_plain_computation() -> None:
    rng = np.random.default_rng(3)
    values = np.where(rng.random(400) < 0.1, 300.0, 100.0) + rng.integers(0, 5, 400) * 1.0
    far = np.zeros(400, dtype=int)
    for i in range(400):
        first = min(max(0, i - 12), 375)
        window = values[first : first + 25]
        level = np.median(window)
        spread = 8 * 1.4826 * np.median(np.abs(window - level))
        if abs(values[i] - level) > spread:
            far[i] = int(values[i] >= 1.5 * level) - int(values[i] <= level / 1.5)
    expected = np.zeros(400, dtype=int)
    for start, end in excursions(values):
        expected[start:end] = 1
    runs = np.split(far, np.flatnonzero(np.diff(far)) + 1)
    short = np.concatenate([run * (run.size <= 8) for run in runs])
    assert np.array_equal(expected, np.abs(short))
    assert expected.sum() > 20


def test_filled_copy_has_the_level_beside_the_excursion() -> None:
    values = np.repeat([100.0, 150.0], 30)
    values[28:33] = 900.0
    filled = fill(values, excursions(values))
    assert filled.tolist() == [100.0] * 31 + [150.0] * 29
    assert values[28] == 900.0


@pytest.mark.parametrize("spikes", [(31, 33, 36), (23, 26, 29)])
def test_spikes_near_a_step_leave_it_in_place(spikes: tuple[int, ...]) -> None:
    values = np.repeat([100.0, 110.0], 30)
    steps = values.copy()
    values[list(spikes)] *= 10
    assert np.array_equal(fill(values, excursions(values)), steps)


def test_nothing_is_left_to_fill_from() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(fill(values, [Excursion(0, 3)]), values)

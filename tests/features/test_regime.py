"""The regime features: causality, scale, and independence of rows."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barograph.features import FEATURE_SETS, feature_matrix, regime_length
from barograph.features.contrast.robust import middle_distance, quantile
from barograph.features.regime import extent
from barograph.results.series import Floats

NAMES = FEATURE_SETS["confirm"]


def history(seed: int, size: int = 160) -> Floats:
    """Return noise with two steps, a spike and repeated values."""
    rng = np.random.default_rng(seed)
    values = 50.0 + rng.normal(size=size)
    values[size // 3 :] += 6.0
    values[2 * size // 3 :] -= 9.0
    values[size // 2] += 30.0
    values[10:14] = values[9]
    return values


def rows(values: Floats, window: int = 0) -> Floats:
    """Return all rows of one window, from index 1 on."""
    splits = np.arange(1, values.size - window)
    starts = np.zeros_like(splits)
    return feature_matrix(values, starts, splits, splits + window + 1, "confirm", threads=1)


def column(values: Floats, name: str, window: int = 0) -> Floats:
    """Return one column by its name, with NaN for the first point."""
    return np.concatenate([[np.nan], rows(values, window)[:, NAMES.index(name)]])


def test_rows_do_not_depend_on_their_order() -> None:
    values, rng = history(2), np.random.default_rng(0)
    starts = rng.integers(0, 60, 80)
    splits = starts + rng.integers(1, 80, 80)
    ends = np.minimum(splits + rng.integers(1, 12, 80), values.size)
    matrix = feature_matrix(values, starts, splits, ends, "confirm", threads=1)
    for row, start, split, end in zip(matrix, starts, splits, ends, strict=True):
        alone = feature_matrix(
            values[start:end], [0], [split - start], [end - start], "confirm", threads=1
        )
        assert row.tolist() == alone[0].tolist()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(-1e300, 1e300), min_size=14, max_size=40),
    st.sampled_from([2.0**-40, 0.25, 2.0**30]),
)
@example([0.0] * 12 + [1.0, 1e9], 0.25)  # a step is more than 1e308 times the noise before it
def test_rows_are_finite_and_do_not_depend_on_the_unit(values: list[float], unit: float) -> None:
    result = np.array(values)
    matrix = rows(result, 2)
    assert np.isfinite(matrix).all()
    sizes = np.abs(result[result != 0.0])
    safe = bool(((sizes > 1e-280) & (sizes < 1e280)).all())
    if safe:
        assert rows(result * unit, 2).tolist() == matrix.tolist()


def test_rows_do_not_read_after_the_newest_point() -> None:
    values = history(3)
    changed = values.copy()
    changed[100:] = 1e6
    assert rows(values)[:99].tolist() == rows(changed)[:99].tolist()
    assert rows(values, 5)[:94].tolist() == rows(changed, 5)[:94].tolist()


def test_edge_is_the_nearest_point_over_median_and_noise_of_the_regime() -> None:
    rng = np.random.default_rng(4)
    regime = 10.0 + 0.1 * rng.normal(size=40)
    values = np.concatenate([regime, [12.0, 11.5, 12.5]])
    level = np.median(regime)
    noise = max(1.4826022185056018 * np.median(np.abs(regime - level)), 0.5 * regime.std())
    expected = np.log1p((11.5 - level) / noise)
    assert column(values, "edge", 2)[40] == pytest.approx(expected, rel=1e-6)


def test_tracker_starts_a_regime_at_the_first_of_five_points_away() -> None:
    values = np.concatenate(
        [10 + 0.1 * np.sin(np.arange(40.0)), 12 + 0.1 * np.cos(np.arange(20.0))]
    )
    length = np.exp(column(values, "regime_length"))
    assert length[44] == pytest.approx(44)  # four points are not yet a regime
    known = [regime_length(values[:split]) for split in range(1, values.size)]
    assert length[1:] == pytest.approx(known)
    assert length[45] == pytest.approx(5)
    assert length[59] == pytest.approx(19)


def test_spike_starts_no_regime_and_counts_as_not_lasting() -> None:
    values = 10 + 0.1 * np.sin(np.arange(80.0))
    values[[30, 50, 51]] += 3.0
    spiked = np.append(values, 13.0)
    assert np.exp(column(spiked, "regime_length")[80]) == pytest.approx(80)
    assert np.expm1(column(spiked, "spikes")[80]) == pytest.approx(2)
    assert np.exp(column(spiked, "since_spike")[80]) == pytest.approx(30)
    assert column(spiked, "spikes_lasting")[80] == pytest.approx(0.3 / 3)


def test_visits_distinguish_former_levels_from_new_ones() -> None:
    low = 10 + 0.1 * np.sin(np.arange(40.0))
    back = np.concatenate([low, low + 5.0, [10.0]])
    fresh = np.concatenate([low, low + 5.0, [20.0]])
    assert column(back, "visits")[80] == pytest.approx(0.5)
    assert column(fresh, "visits")[80] == 0.0
    assert column(back, "former_level")[80] < 0.1 < 0.9 < column(fresh, "former_level")[80]


@pytest.mark.parametrize("digits", [1, 15])
@pytest.mark.parametrize("size", [*range(1, 12), 40, 41])
def test_middle_distance_is_the_median_absolute_deviation(size: int, digits: int) -> None:
    values = np.sort(np.random.default_rng(size).normal(size=size).round(digits))
    middle = float(np.median(values))
    expected = np.median(np.abs(values - middle))
    assert middle_distance(values, middle) == float(expected)


@pytest.mark.parametrize("digits", [1, 15])
@pytest.mark.parametrize("size", [1, 2, 3, 40, 200, 201, 202, 402, 2000])
def test_extent_is_the_distance_of_two_quantiles(size: int, digits: int) -> None:
    values = np.random.default_rng(size).normal(size=size).round(digits)
    ordered = np.sort(values)
    assert extent(values) == quantile(ordered, 0.995) - quantile(ordered, 0.005)

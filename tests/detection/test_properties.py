"""What holds for every one of these detectors, whatever the series."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import Dynp, Gesd, Nothing, Pelt, Setds, StepFit, Threshold
from barograph.detection.base import Detector
from barograph.series import Floats

DETECTORS = [
    Setds(),
    StepFit(threshold=5.0),
    Threshold(),
    Gesd(),
    Pelt(),
    Dynp(),
    Nothing(),
]
NAMES = [type(detector).__name__ for detector in DETECTORS]
each = pytest.mark.parametrize("detector", DETECTORS, ids=NAMES)
levels = st.lists(
    st.tuples(st.integers(3, 25), st.sampled_from([-8, -2, 0, 1, 5, 20])), min_size=1, max_size=4
)


def series(parts: list[tuple[int, int]], seed: int) -> Floats:
    """Levels under noise on a grid of 1/64, so that shifts and doublings are exact."""
    generator = np.random.default_rng(seed)
    size = sum(length for length, _ in parts)
    level = np.concatenate([np.full(length, float(height)) for length, height in parts])
    return np.round((level + generator.standard_normal(size)) * 64) / 64


def indices(detector: Detector, values: Floats) -> list[int]:
    return [point.index for point in detector.detect(values)]


@each
@settings(derandomize=True, deadline=None, max_examples=40)
@given(parts=levels, seed=st.integers(0, 999))
def test_change_points_are_ascending_inside_the_series_and_described(
    detector: Detector, parts: list[tuple[int, int]], seed: int
) -> None:
    values = series(parts, seed)
    points = detector.detect(values)
    where = [point.index for point in points]
    assert where == sorted(set(where))
    assert all(0 < index < values.size for index in where)
    assert all(np.isfinite(point.statistic) for point in points)
    assert sum(point.after.count for point in points) == (values.size - where[0] if where else 0)


@each
@settings(derandomize=True, deadline=None, max_examples=40)
@given(parts=levels, seed=st.integers(0, 999), exponent=st.integers(-300, 300))
def test_scale_changes_nothing(
    detector: Detector, parts: list[tuple[int, int]], seed: int, exponent: int
) -> None:
    values = series(parts, seed)
    assert indices(detector, np.ldexp(values, exponent)) == indices(detector, values)


@each
@settings(derandomize=True, deadline=None, max_examples=40)
@given(parts=levels, seed=st.integers(0, 999))
def test_turning_the_sign_changes_nothing(
    detector: Detector, parts: list[tuple[int, int]], seed: int
) -> None:
    values = series(parts, seed)
    assert indices(detector, -values) == indices(detector, values)


# A percentage depends on where 0 is, and so does a floor that is a share of the level.
UNMOVED = [Setds(), StepFit(threshold=5.0, sd_floor=0.0), Gesd(), Pelt(), Dynp(), Nothing()]


@pytest.mark.parametrize("detector", UNMOVED, ids=lambda detector: type(detector).__name__)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(parts=levels, seed=st.integers(0, 999), shift=st.integers(-1000, 1000))
def test_a_shift_changes_nothing(
    detector: Detector, parts: list[tuple[int, int]], seed: int, shift: int
) -> None:
    values = series(parts, seed)
    assert indices(detector, values + shift) == indices(detector, values)


# Dynp must place points that the series does not ask for: ties, and the search takes the first.
REVERSIBLE = [StepFit(threshold=5.0), Pelt(), Nothing()]


@pytest.mark.parametrize("detector", REVERSIBLE, ids=lambda detector: type(detector).__name__)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(parts=levels, seed=st.integers(0, 999))
def test_reversal_mirrors_the_change_points(
    detector: Detector, parts: list[tuple[int, int]], seed: int
) -> None:
    values = series(parts, seed)
    mirrored = sorted(values.size - index for index in indices(detector, values))
    assert indices(detector, values[::-1].copy()) == mirrored


@each
@pytest.mark.parametrize("value", [0.0, 1.0, -3.25, 0.1, 1e150, -1e-150])
def test_a_constant_series_has_no_change(detector: Detector, value: float) -> None:
    assert detector.detect(np.full(60, value)) == []


@each
def test_a_series_too_short_has_no_change(detector: Detector) -> None:
    for size in range(detector.shortest):
        assert detector.detect(np.arange(float(size)) ** 3) == []


@pytest.mark.parametrize(
    "detector", [Setds(), StepFit(), Pelt()], ids=lambda detector: type(detector).__name__
)
@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-1.0, 1.0), (1e150, 2e150), (-7.0, -9.0)])
def test_two_values_with_one_change_between_them(
    detector: Detector, low_high: tuple[float, float]
) -> None:
    assert indices(detector, np.repeat(low_high, 20)) == [20]


@pytest.mark.parametrize("detector", [Setds(), StepFit(), Gesd(), Pelt(), Nothing()], ids=str)
def test_two_values_in_turn_are_no_change(detector: Detector) -> None:
    assert indices(detector, np.tile([0.0, 1.0], 30)) == []

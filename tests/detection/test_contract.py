"""What the contract promises, held against every detector that competes, whatever the series."""

from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import Dynp, Gesd, Nothing, Pelt, Setds, StepFit
from barograph.detection.base import Detector
from barograph.results.series import Floats, Region
from barograph.runtime.errors import ConfigError, DataError
from barograph.studies.detector_cases import default_detectors

# A single trace is no centroid: the default asks for steps without noise (docs/detection.md).
ALL = {**default_detectors(), "StepFit": StepFit(threshold=5.0)}
each = pytest.mark.parametrize("detector", ALL.values(), ids=ALL)
finders = pytest.mark.parametrize(
    "detector",
    [detector for name, detector in ALL.items() if name not in ("Nothing", "Gesd")],
    ids=[name for name in ALL if name not in ("Nothing", "Gesd")],
)
WITH_PVALUE = {"EDivisive", "Hunter", "Gesd", "Triaged"}
NOISE = np.random.default_rng(17).normal(0, 1, 80)
STEP: Floats = 100 + NOISE + np.repeat([0.0, 40.0], 40)
SPIKE: Floats = 100 + NOISE + 40 * (np.arange(80) == 40)


def indices(detector: Detector, values: Floats) -> list[int]:
    return [point.index for point in detector.detect(values)]


@each
def test_regions_are_those_between_the_neighbouring_change_points(detector: Detector) -> None:
    for values in (STEP, SPIKE):
        points = detector.detect(values)
        edges = [0, *(point.index for point in points), values.size]
        for k, point in enumerate(points):
            assert type(point.index) is int
            for region, start in ((point.before, k), (point.after, k + 1)):
                expected = Region.of(values[edges[start] : edges[start + 1]])
                assert region.count == expected.count
                assert type(region.count) is int
                for name in ("min", "max", "median", "mean", "variance"):
                    known = pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-12)
                    assert getattr(region, name) == known


@each
def test_a_pvalue_is_there_or_none_by_the_method(detector: Detector) -> None:
    points = detector.detect(STEP) + detector.detect(SPIKE)
    if type(detector).__name__ in WITH_PVALUE:
        assert all(p.pvalue is not None and 0 <= p.pvalue <= 1 for p in points)
    else:
        assert all(point.pvalue is None for point in points)


@finders
def test_a_step_is_reported_at_its_first_point(detector: Detector) -> None:
    assert 40 in indices(detector, STEP)


def test_an_outlier_is_reported_where_it_is() -> None:
    assert indices(ALL["Gesd"], SPIKE) == [40]


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_its_index(detector: Detector, bad: float) -> None:
    values = STEP.copy()
    values[7] = bad
    with pytest.raises(DataError, match=rf"values\[7\] is {bad}"):
        detector.detect(values)


@each
def test_a_series_too_short_has_an_empty_list(detector: Detector) -> None:
    for size in range(detector.shortest):
        assert detector.detect(np.arange(float(size)) ** 3) == []


@each
@pytest.mark.parametrize("level", [0.0, 0.1, -7.25, 1e100, -1e-100])
def test_a_constant_has_no_change_point(detector: Detector, level: float) -> None:
    assert detector.detect(np.full(60, level)) == []


SERIES = {
    "huge": 1e97 * STEP,
    "tiny": 1e-100 * STEP,
    "negative": -STEP,
    "zero mean": STEP - STEP.mean(),
    "two values": np.where(STEP > 120, 1.0, -1.0),
    "in turn": np.tile([0.0, 1.0], 40),
    "largest": np.where(STEP > 120, 1e100, -1e100),
    "one spike": SPIKE,
}


@each
@pytest.mark.parametrize("name", SERIES)
def test_odd_series_are_answered_twice_alike(detector: Detector, name: str) -> None:
    values = SERIES[name]
    points = detector.detect(values)
    where = [point.index for point in points]
    assert where == sorted(set(where))
    assert all(0 < index < values.size for index in where)
    assert not any(np.isnan(point.statistic) for point in points)
    assert detector.detect(values) == points


@each
def test_a_detector_gets_nothing_but_values(detector: Detector) -> None:
    for method in (detector.detect, detector.find):
        assert [*signature(method).parameters] == ["values"]


@each
def test_fit_predict_returns_the_indices_of_detect(detector: Detector) -> None:
    result = detector.fit_predict(STEP)
    assert result.dtype == np.int64
    assert result.tolist() == indices(detector, STEP)


@each
def test_parameters_make_an_equal_detector(detector: Detector) -> None:
    assert type(detector)(**detector.get_params()) == detector
    assert detector.set_params() == detector


@each
def test_set_params_returns_a_changed_copy(detector: Detector) -> None:
    changed = detector.set_params(**detector.get_params())
    assert changed == detector
    assert changed is not detector
    assert type(changed) is type(detector)


@each
def test_set_params_refuses_unknown_names(detector: Detector) -> None:
    name = type(detector).__name__
    with pytest.raises(ConfigError, match=rf"^{name} has no parameter 'speed': allowed are"):
        detector.set_params(speed=1)


# Held to the properties below: the values of any series, at any scale and with any sign.
WINDOWS = ("Triaged", "Hunter", "Hunter, parity", "EDivisive")  # have tests of their own
UNSCALED = [name for name in ALL if name not in WINDOWS]
invariant = pytest.mark.parametrize("detector", [ALL[n] for n in UNSCALED], ids=UNSCALED)
levels = st.lists(
    st.tuples(st.integers(3, 25), st.sampled_from([-8, -2, 0, 1, 5, 20])), min_size=1, max_size=4
)


def series(parts: list[tuple[int, int]], seed: int) -> Floats:
    """Levels under noise on a grid of 1/64, so that shifts and doublings are exact."""
    generator = np.random.default_rng(seed)
    size = sum(length for length, _ in parts)
    level = np.concatenate([np.full(length, float(height)) for length, height in parts])
    return np.round((level + generator.standard_normal(size)) * 64) / 64


@invariant
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


@invariant
@settings(derandomize=True, deadline=None, max_examples=40)
@given(parts=levels, seed=st.integers(0, 999), exponent=st.integers(-300, 300))
def test_scale_changes_nothing(
    detector: Detector, parts: list[tuple[int, int]], seed: int, exponent: int
) -> None:
    values = series(parts, seed)
    assert indices(detector, np.ldexp(values, exponent)) == indices(detector, values)


@invariant
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


@pytest.mark.parametrize(
    "detector", [Setds(), StepFit(), Pelt()], ids=lambda detector: type(detector).__name__
)
@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-1.0, 1.0), (1e99, 1e100), (-7.0, -9.0)])
def test_two_values_with_one_change_between_them(
    detector: Detector, low_high: tuple[float, float]
) -> None:
    assert indices(detector, np.repeat(low_high, 20)) == [20]


@pytest.mark.parametrize("detector", [Setds(), StepFit(), Gesd(), Pelt(), Nothing()], ids=str)
def test_two_values_in_turn_are_no_change(detector: Detector) -> None:
    assert indices(detector, np.tile([0.0, 1.0], 30)) == []


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("EDivisive", {"pvalue": 1.0}, "pvalue is 1.0: it must be between 0 and 1"),
        ("EDivisive", {"permutations": 18}, "permutations is 18: it must be at least 19"),
        ("EDivisive", {"seed": -1}, "seed is -1: it must be from 0"),
        ("EDivisive", {"min_size": 0}, "min_size is 0: it must be at least 1"),
        ("Hunter", {"window": 1}, "window is 1: it must be at least 2"),
        ("Hunter", {"window": "5"}, "window is '5': it must be a whole number"),
        ("Hunter", {"window": 5.5}, "window is 5.5: it must be a whole number"),
        ("Hunter", {"pvalue": None}, "pvalue is None: it must be a number"),
        ("Hunter", {"pvalue": 0.0}, "pvalue is 0.0: it must be between 0 and 1"),
        ("Hunter", {"min_magnitude": -0.1}, "min_magnitude is -0.1: it must be 0 or more"),
        ("Setds", {"sigmas": 0.0}, "sigmas is 0.0: it must be positive and finite"),
        ("Setds", {"minimum": 1}, "minimum is 1: it must be at least 2 points"),
        ("Setds", {"hold": 0}, "hold is 0: it must be at least 1 point"),
        ("Setds", {"patience": 0}, "patience is 0: it must be at least 1 point"),
        ("StepFit", {"threshold": 0.0}, "threshold is 0.0: it must be positive and finite"),
        ("StepFit", {"window": 3}, "window is 3: it must be at least 4 points"),
        ("StepFit", {"sd_floor": -1.0}, "sd_floor is -1.0: it must be 0 or more, and finite"),
        ("Threshold", {"percent": 0}, "percent is 0: it must be positive and finite"),
        ("Gesd", {"alpha": 1.0}, "alpha is 1.0: it must be between 0 and 1"),
        ("Gesd", {"share": 0.0}, "share is 0.0: it must be above 0 and at most 0.5"),
        ("Pelt", {"penalty": -1.0}, "penalty is -1.0: it must be positive and finite"),
        ("Dynp", {"changes": 0}, "changes is 0: it must be at least 1"),
        ("Hunter", {"parity": "yes"}, "parity is 'yes': it must be True or False"),
        ("Hunter", {"weak": None}, "weak is None: it must be True or False"),
    ],
)
def test_a_parameter_out_of_range_is_named(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        type(ALL[name])(**parameters)

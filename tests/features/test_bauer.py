"""Each characteristic: its formula, its limits and its invariances."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barograph.features import FEATURE_SETS, characteristics, feature_matrix
from barograph.features.bauer import EIGHT
from barograph.features.entropy import reciprocal_condition
from barograph.features.hurst import likelihood, sample_for, take
from barograph.results.series import Floats
from tests.features import plain
from tests.features.vectors import hurst_of

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)

tame = st.lists(st.integers(-400, 400).map(lambda i: i / 4.0), min_size=1, max_size=60)
finite = st.lists(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 1e300, -1e300, 1.7976931348623157e308]),
    min_size=1,
    max_size=30,
)
SIDE_NAMES = (
    "lumpiness",
    "stability",
    "crossing_points",
    "max_level_shift",
    "serial_correlation",
)


@given(tame, tame)
@SETTINGS
def test_characteristics_equal_their_formulas(pre: list[float], after: list[float]) -> None:
    numbers = characteristics(pre, after)
    sides = {"pre": np.array(pre), "after": np.array(after)}
    scaled = plain.normalised(sides["pre"], sides["after"])
    for (side, x), z in zip(sides.items(), scaled, strict=True):
        expected = {name: getattr(plain, name)(x) for name in SIDE_NAMES}
        expected["norm_mean"] = float(z.mean())
        expected["norm_sd"] = float(z.std(ddof=1)) if z.size > 1 else 0.0
        for name, value in expected.items():
            assert numbers[f"{side}_{name}"] == pytest.approx(value, rel=1e-10, abs=1e-10), name


@pytest.mark.parametrize("size", [3, 4, 9, 10, 11, 12, 50, 101, 137, 400])
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, -0.7])
def test_entropy_equals_its_formula(size: int, memory: float) -> None:
    rng = np.random.default_rng(size)
    x = rng.normal(size=size)
    for t in range(1, size):
        x[t] += memory * x[t - 1]
    assert characteristics(x, [0.0])["pre_entropy"] == pytest.approx(plain.entropy(x), abs=1e-9)


@pytest.mark.parametrize("size", [3, 20, 99, 100, 101, 102, 150])
@pytest.mark.parametrize("d", [0.001, 0.19, 0.35, 0.49])
def test_likelihood_equals_its_formula_up_to_level_and_scale(size: int, d: float) -> None:
    rng = np.random.default_rng(size)
    x = np.cumsum(rng.normal(size=size)) + 10.0
    sample = sample_for(size)
    n = take(x, sample)
    expected = plain.hurst_objective(x, d) - n * math.log(np.ptp(x))
    assert likelihood(d, n, sample) == pytest.approx(expected, rel=1e-10)


def test_hurst_exponent_is_likelier_than_a_grid_of_d() -> None:
    x = np.cumsum(np.random.default_rng(3).normal(size=120)) * 0.1
    x += np.random.default_rng(4).normal(size=120)
    d = hurst_of(x) - 0.5
    grid = [plain.hurst_objective(x, g) for g in np.linspace(0.01, 0.49, 49)]
    assert 0.0 < d < 0.5
    assert plain.hurst_objective(x, d) <= min(grid)


@given(finite, finite)
@example([1e300], [-1e300])
@example([1.7976931348623157e308, -1.7976931348623157e308] * 15, [1.0])
@example([1e300, 1e300 * (1 + 1e-10)] * 15, [1e300])
@example([5e-324, 0.0], [1e-323])
@SETTINGS
def test_finite_input_has_finite_characteristics_within_their_limits(
    pre: list[float], after: list[float]
) -> None:
    for name, value in characteristics(pre, after).items():
        size = len(pre if name.startswith("pre") else after)
        assert math.isfinite(value), name
        if name.endswith(("entropy", "serial_correlation")):
            assert 0.0 <= value <= 1.0, name
        elif name.endswith("hurst"):
            assert 0.5 <= value <= 1.0
        elif name.endswith("crossing_points"):
            assert value in range(max(size, 4))
        elif not name.endswith("norm_mean"):
            assert value >= 0.0, name


@given(tame, tame, st.integers(-60, 300))
@SETTINGS
def test_scaling_by_a_power_of_two_changes_only_max_level_shift(
    pre: list[float], after: list[float], exponent_of_two: int
) -> None:
    unit = 2.0**exponent_of_two
    before = characteristics(pre, after)
    scaled = characteristics(np.array(pre) * unit, np.array(after) * unit)
    constant = len({*pre, *after}) == 1
    for name, value in before.items():
        if name.endswith(("lumpiness", "stability")) and unit < 1.0:
            continue  # the near-constant rule has an absolute part at small magnitudes
        factor = unit if name.endswith("level_shift") or ("norm" in name and constant) else 1.0
        assert scaled[name] == pytest.approx(value * factor, rel=1e-9, abs=1e-12), name


@given(tame, tame, st.integers(-1000, 1000))
@SETTINGS
def test_characteristics_do_not_depend_on_the_level(
    pre: list[float], after: list[float], level: int
) -> None:
    before = characteristics(pre, after)
    moved = characteristics(np.array(pre) + level, np.array(after) + level)
    constant = len({*pre, *after}) == 1
    for name, value in before.items():
        if name.endswith(("hurst", "entropy")) or ("norm" in name and constant):
            continue  # the best order or d may depend on rounding
        assert moved[name] == pytest.approx(value, rel=1e-8, abs=1e-8), name


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4), st.sampled_from([1, 2]))
@SETTINGS
def test_short_sides_have_the_defined_values(pre: list[float], size: int) -> None:
    numbers = characteristics(pre, [3.0, 7.0][:size])
    zero = [f"after_{name}" for name in ("lumpiness", "stability", "max_level_shift")]
    if len(pre) < 4:
        zero += [name.replace("after", "pre") for name in zero]
    assert [numbers[name] for name in zero] == [0.0] * len(zero)
    assert numbers["after_entropy"] == 1.0
    assert numbers["after_crossing_points"] == [0.0, 3.0][size - 1]
    assert numbers["after_serial_correlation"] == [1.0, 13 / 32][size - 1]


def test_alternating_values_cross_at_every_step() -> None:
    numbers = characteristics([1.0, 2.0] * 20, [1.0] * 5)
    assert numbers["pre_crossing_points"] == 39.0
    assert numbers["pre_entropy"] < 0.1 or numbers["pre_entropy"] == 1.0
    assert numbers["pre_max_level_shift"] == 0.0
    assert numbers["pre_norm_mean"] == 0.5


def test_values_that_print_alike_are_not_scaled() -> None:
    alike = characteristics([0.1, 0.1 + 2e-17], [0.1])
    assert alike["pre_norm_mean"] == pytest.approx(0.1)
    apart = characteristics([0.1, 0.1 + 2e-15], [0.1])
    assert apart["pre_norm_mean"] == pytest.approx(0.5)


def test_max_level_shift_of_overflowing_sides_keeps_its_unit() -> None:
    x = np.repeat([1e307, -1e307], 10)
    numbers = characteristics(x, [0.0])
    assert numbers["pre_max_level_shift"] == pytest.approx(2e307)
    assert numbers["pre_norm_mean"] == pytest.approx(0.5)
    beyond = characteristics(np.repeat([1.7e308, -1.7e308], 10), [0.0])
    assert beyond["pre_max_level_shift"] == np.finfo(np.float64).max


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_reciprocal_condition_matches_numpy(size: int) -> None:
    c: Floats = 0.9 ** np.arange(size) * np.cos(np.arange(float(size)))
    matrix = np.array([[c[abs(i - j)] for j in range(size)] for i in range(size)])
    assert 1.0 / reciprocal_condition(c) == pytest.approx(np.linalg.cond(matrix, 1), rel=1e-9)


def test_reciprocal_condition_of_a_singular_matrix_is_zero() -> None:
    assert reciprocal_condition(np.ones(3)) == 0.0


def test_long_sides_keep_their_accuracy() -> None:
    rng = np.random.default_rng(5)
    x: Floats = rng.normal(1e6, 1.0, 20_000)
    x[0] = 2e6
    numbers = characteristics(x, [1e6])
    for name in SIDE_NAMES:
        assert numbers[f"pre_{name}"] == pytest.approx(getattr(plain, name)(x), rel=1e-9), name


def test_bauer8_is_bauer9_without_hurst() -> None:
    assert len(FEATURE_SETS["bauer8"]) == 2 * len(EIGHT) == 16
    rest = [name for name in FEATURE_SETS["bauer9"] if not name.endswith("hurst")]
    assert tuple(rest) == FEATURE_SETS["bauer8"]
    row = feature_matrix([1.0, 2.0, 3.0], [0], [2], [3], "bauer8")[0]
    assert row.tolist() == [characteristics([1.0, 2.0], [3.0])[name] for name in rest]

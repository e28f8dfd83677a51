"""The contrasts: their formulas, their invariances and their limits."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from barograph.features import contrast_context, contrasts, feature_matrix
from barograph.features.contrast import CONTEXT_NAMES, NAMES
from barograph.results.series import Floats
from tests.features.plain_contrasts import plain_contrasts

LINES = Path(__file__).resolve().parents[2] / "docs" / "features-contrasts.md"
OF_SIDES = NAMES[: -len(CONTEXT_NAMES)]
LEVEL_BOUND = {"step_relative", "noise_relative"}

anything = hnp.arrays(
    np.float64,
    st.integers(1, 40),
    elements=st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 1e300, -1e300, 1.7e308, -1.7e308, 1.0, 3.0]),
    ),
)
noises = st.integers(0, 2**32 - 1).map(np.random.default_rng)
properties = settings(deadline=None, derandomize=True, max_examples=60)


def stepped(rng: np.random.Generator, sizes: tuple[int, ...] = (70, 40, 60, 55)) -> Floats:
    """Return four regimes; the tested candidate starts the third."""
    levels = rng.permutation(np.array([10.0, 11.0, 13.0, 16.0]))
    parts = [level + rng.normal(0, 0.4, size) for level, size in zip(levels, sizes, strict=True)]
    return np.concatenate(parts)


def judged(series: Floats, start: int = 70, split: int = 110, end: int = 170) -> Floats:
    context = contrast_context(series, [start], [split], [end], [0], [series.size])
    row: Floats = feature_matrix(series, [start], [split], [end], "contrast", context=context)[0]
    return row


@properties
@given(noises)
def test_contrasts_equal_the_plain_implementation(rng: np.random.Generator) -> None:
    series = stepped(rng)
    if np.median(series[70:110]) > np.median(series[110:170]):
        series = 30.0 - series
    plain = plain_contrasts(series, 70, 110, 170)
    for name, number in zip(NAMES, judged(series), strict=True):
        assert number == pytest.approx(plain[name], rel=1e-6, abs=1e-9), name


@pytest.mark.parametrize("sizes", [(1, 1), (1, 9), (2, 3), (30, 1), (13, 200)])
def test_without_context_both_sides_are_the_series(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    series = np.concatenate((rng.normal(5.0, 0.3, sizes[0]), rng.normal(9.0, 0.5, sizes[1])))
    context = contrast_context(series, [0], [sizes[0]], [series.size], [0], [series.size])[0]
    pre, after = np.split(series, [sizes[0]])
    assert contrasts(pre, after) == contrasts(pre, after, context)
    plain = plain_contrasts(series, 0, sizes[0], series.size) if min(sizes) > 1 else {}
    for name in plain.keys() & OF_SIDES:
        assert contrasts(pre, after)[name] == pytest.approx(plain[name], rel=1e-6, abs=1e-9), name


@properties
@given(noises, st.floats(1e-300, 1e300))
def test_contrasts_do_not_depend_on_the_unit(rng: np.random.Generator, unit: float) -> None:
    series = stepped(rng)
    assert judged(series * unit) == pytest.approx(judged(series), rel=1e-6, abs=1e-6)


@properties
@given(noises, st.floats(-1e4, 1e4))
def test_only_relative_contrasts_depend_on_the_level(rng: np.random.Generator, by: float) -> None:
    series = stepped(rng)
    free = np.array([name not in LEVEL_BOUND for name in NAMES])
    moved, stayed = judged(series + by)[free], judged(series)[free]
    assert moved == pytest.approx(stayed, rel=1e-6, abs=1e-6)


@properties
@given(anything, anything)
def test_contrasts_do_not_depend_on_the_direction(pre: Floats, after: Floats) -> None:
    assert contrasts(pre, after) == pytest.approx(contrasts(-pre, -after), rel=1e-12, abs=1e-12)


@properties
@given(anything, anything)
def test_contrasts_of_finite_values_are_finite(pre: Floats, after: Floats) -> None:
    numbers = contrasts(pre, after)
    assert tuple(numbers) == NAMES
    assert np.isfinite(list(numbers.values())).all()
    assert abs(np.array(list(numbers.values()))).max() < 100


@pytest.mark.parametrize("level", [0.0, 7.0, -1e300, 5e-324])
def test_constant_series_has_no_step(level: float) -> None:
    numbers = contrasts([level] * 5, [level] * 3)
    for name in ("step_over_noise", "cohen_d", "rank_separation", "wide_step_6", "hold_share"):
        assert numbers[name] == 0.0


def test_contrasts_rise_with_the_step_and_fall_with_the_noise() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=100)
    small, large, calm = (
        contrasts(scale * noise[:50], scale * noise[50:] + step)
        for scale, step in ((1.0, 1.0), (1.0, 4.0), (0.1, 1.0))
    )
    for name in ("step_over_noise", "cohen_d", "rank_separation", "wide_step_25", "hold_step"):
        assert small[name] < large[name]
        assert small[name] < calm[name]


def test_hold_measures_how_long_a_level_lasts() -> None:
    series = np.array([1.0] * 30 + [5.0] * 8 + [1.0] * 30)
    row = dict(zip(NAMES, judged(series, 0, 30, 38), strict=True))
    assert np.expm1(row["hold_after"]) == pytest.approx(8)
    assert np.expm1(row["hold_before"]) == pytest.approx(30)


def test_context_does_not_read_after_the_known_part() -> None:
    series = stepped(np.random.default_rng(11))
    other = np.concatenate((series[:170], 1e6 * np.arange(55.0)))
    bounds = [0, 70], [70, 110], [110, 170]
    seen = contrast_context(series, *bounds, [0, 0], bounds[2])
    assert (contrast_context(other, *bounds, [0, 0], bounds[2]) == seen).all()
    cut = contrast_context(series[:170], *bounds, [0, 0], bounds[2])
    assert (cut == seen).all()


def test_rows_do_not_depend_on_their_neighbours() -> None:
    series = stepped(np.random.default_rng(2))
    data = np.concatenate((series, 1e-3 * series[::-1], series))
    firsts = np.repeat([0, 225, 450], 2)
    starts, splits, ends = (firsts + np.tile(b, 3) for b in ([0, 70], [70, 110], [110, 170]))
    lasts = firsts + 225
    together = contrast_context(data, starts, splits, ends, firsts, lasts)
    for k in range(6):
        i = slice(k, k + 1)
        alone = contrast_context(data, starts[i], splits[i], ends[i], firsts[i], lasts[i])
        assert (alone == together[k]).all()
    assert (together[:2] == together[4:]).all()


def test_batch_rows_equal_single_pairs_to_the_bit() -> None:
    series = stepped(np.random.default_rng(8))
    starts = np.arange(200)
    matrix = feature_matrix(series, starts, starts + 9, starts + 25, "contrast", threads=3)
    for start in starts:
        single = contrasts(series[start : start + 9], series[start + 9 : start + 25])
        assert matrix[start].tolist() == list(single.values())


def test_every_contrast_is_documented() -> None:
    text = LINES.read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", text))
    for name in NAMES:
        assert name in named or re.sub(r"_\d+$", "_", name) in {
            re.sub(r"_\d+$", "_", n) for n in named
        }, name


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([0, 5, 9, 1, 9], "candidate 0 has Pre and After from 0 to 9, outside its series, 1 to 9"),
        ([2, 5, 9, 0, 8], "outside its series, 0 to 8"),
        ([2, 2, 9, 0, 10], "0 <= start < split < end <= 10"),
    ],
)
def test_bounds_that_do_not_fit_are_named(bounds: list[int], message: str) -> None:
    start, split, end, first, last = ([b] for b in bounds)
    with pytest.raises(ValueError, match=re.escape(message)):
        contrast_context(np.arange(10.0), start, split, end, first, last)


def test_bad_values_and_context_are_named() -> None:
    with pytest.raises(ValueError, match=re.escape("after[1] is nan")):
        contrasts([1.0], [2.0, np.nan])
    with pytest.raises(ValueError, match="pre is empty"):
        contrasts([], [1.0])
    with pytest.raises(ValueError, match="context has 2 columns; the contrasts need the 27"):
        contrasts([1.0], [2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=re.escape("values[9] is inf")):
        contrast_context([*range(9), np.inf], [0], [3], [6], [0], [10])

"""The five deltas and the distance of Leznik et al. 2022."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.features import FEATURE_SETS, characteristics, feature_matrix
from barograph.features.families import one_pair
from barograph.features.leznik import (
    NAMES,
    PUBLISHED_RANGES,
    SIDES,
    deltas,
    distance,
    distances,
)
from barograph.results.series import Floats
from tests.features.vectors import holt_of, hurst_of
from tests.shared import SHARED, needs_shared

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SIDE = st.lists(FINITE, min_size=1, max_size=15)
EVEN = dict.fromkeys(NAMES, 0.5)


def features_of(side: Floats) -> tuple[float, float, float]:
    """Hurst exponent, alpha and beta of one side, repeated to four values if it is short."""
    long = np.resize(side, 4) if side.size <= 2 else side
    return hurst_of(long), *holt_of(long)


@pytest.mark.parametrize(("before", "since"), [(32, 18), (32, 2), (32, 1), (2, 30), (1, 1)])
def test_deltas_compare_pre_with_two_points(before: int, since: int) -> None:
    values = np.random.default_rng(4).normal(10.0, 1.0, before + since)
    pre, after = values[:before], values[before:] + 5.0
    two = after[:2]
    sides = characteristics(pre, two)
    gaps = [abs(b - a) for a, b in zip(features_of(pre), features_of(two), strict=True)]
    assert deltas(pre, after) == {
        "delta_mean": abs(sides["after_norm_mean"] - sides["pre_norm_mean"]),
        "delta_sd": abs(sides["after_norm_sd"] - sides["pre_norm_sd"]),
    } | dict(zip(NAMES[2:], gaps, strict=True))


@pytest.mark.parametrize(
    ("pre", "after", "alpha", "beta"),
    [
        ([7.0] * 4, [101.0, 100.0], 0.30000048, 0.98),  # constant, alternating
        ([100.0, 101.0], [7.0], 0.30000048, 0.98),
        ([100.0, 101.0], [3.0, 1.0, 1.5], 0.0, 0.0),
        ([5.0], [6.0], 0.0, 0.0),
    ],
)
def test_short_sides_have_the_published_alpha_and_beta(
    pre: list[float], after: list[float], alpha: float, beta: float
) -> None:
    result = deltas(pre, after)
    assert result["delta_alpha"] == pytest.approx(alpha, abs=1e-8)
    assert result["delta_beta"] == pytest.approx(beta, abs=1e-8)


@needs_shared
def test_alphas_of_published_rows_are_those_of_two_points_after() -> None:
    rows = pd.read_csv(SHARED / "data" / "mongodb" / "triaged_points.csv")
    (alternating, _), (constant, _) = holt_of([1.0, 2.0] * 2), holt_of([1.0] * 4)
    alpha = rows["delta_alpha"]
    assert alpha.max() == pytest.approx(1.0 - constant, abs=1e-12)
    # Alpha is at most 1, so no side of two different values is farther from it than this.
    assert (alpha <= max(alternating, 1.0 - alternating) + 1e-6).mean() > 0.99
    assert ((alpha - (alternating - constant)).abs() < 1e-7).sum() > 100


@needs_shared
def test_real_pre_agrees_with_r() -> None:
    inputs = json.loads((SHARED / "golden" / "inputs_real.json").read_text())
    with (SHARED / "golden" / "holt.csv").open() as file:
        golden = {row["id"]: row for row in csv.DictReader(file)}
    compared = 0
    for case in sorted(inputs.keys() & golden.keys())[::5]:
        pre = np.array(inputs[case]["pre"])
        if pre.size < 3:
            continue  # repeated to four values here, undefined or not repeated in R
        compared += 1
        numbers = one_pair(SIDES, pre, np.array(inputs[case]["after"]))
        for name in ("hurst", "alpha", "beta"):
            expected = float(golden[case][f"pre_{name}"])
            assert numbers[f"leznik_pre_{name}"] == pytest.approx(expected, abs=1e-6), (case, name)
    assert compared > 100


@needs_shared
def test_published_distances_are_reproduced() -> None:
    rows = pd.read_csv(SHARED / "data" / "mongodb" / "triaged_points.csv")
    result = distances(rows[list(NAMES)].to_numpy())
    np.testing.assert_allclose(result, rows["distance"], rtol=0.0, atol=1e-12)


def test_distance_sums_deltas_over_ranges() -> None:
    ranges = dict(zip(NAMES, (1.0, 2.0, 0.5, 0.25, 0.0), strict=True))
    assert distance(EVEN, ranges) == 0.5 + 0.25 + 1.0 + 2.0
    assert distance(EVEN) == pytest.approx(1.5 + 0.5 * np.sqrt(2.0) + 0.5 / 0.49990455, rel=1e-8)


@pytest.mark.parametrize(
    ("change", "ranges", "message"),
    [
        ({"delta_sd": np.nan}, {}, "deltas['delta_sd'] is nan; it must be finite"),
        ({}, {"delta_beta": np.inf}, "ranges['delta_beta'] is inf; it must be finite"),
        ({}, {"delta_beta": -1.0}, "ranges['delta_beta'] is -1.0; it must be 0 or more"),
    ],
)
def test_bad_entries_are_named(
    change: dict[str, float], ranges: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        distance(EVEN | change, {**PUBLISHED_RANGES, **ranges})


def test_missing_deltas_are_named() -> None:
    with pytest.raises(ValueError, match="deltas has no 'delta_sd'; it must have delta_mean"):
        distance({"delta_mean": 1.0})


def test_batch_rows_equal_single_pairs_to_the_bit() -> None:
    values = np.random.default_rng(8).normal(size=80).cumsum()
    values[70:] = 3.0
    starts = np.array([0, 0, 0, 20, 30, 70])  # the third shares the Pre of the second
    splits, ends = np.array([9, 30, 30, 21, 60, 75]), [40, 60, 31, 30, 80, 80]
    matrix = feature_matrix(values, starts, splits, ends, "leznik")
    assert FEATURE_SETS["leznik"] == (*NAMES, "distance")
    for row, start, split, end in zip(matrix, starts, splits, ends, strict=True):
        single = deltas(values[start:split], values[split:end])
        assert row.tolist() == [*single.values(), distance(single)]


@settings(deadline=None, derandomize=True, max_examples=150)
@given(SIDE, SIDE)
def test_finite_sides_have_deltas_within_their_limits(pre: list[float], after: list[float]) -> None:
    result = deltas(pre, after)
    assert all(np.isfinite(value) and value >= 0.0 for value in result.values())
    assert max(result["delta_alpha"], result["delta_beta"]) <= 1.0
    assert result["delta_hurst"] <= 0.5
    assert result == deltas(pre, after[:2])


@pytest.mark.parametrize(
    ("pre", "after", "message"),
    [([], [1.0], "pre is empty"), ([1.0], [1.0, np.inf], r"after\[1\] is inf")],
)
def test_bad_sides_are_named(pre: list[float], after: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deltas(pre, after)

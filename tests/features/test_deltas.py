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
from barograph.features.holt import holt
from barograph.features.leznik import (
    NAMES,
    PUBLISHED_RANGES,
    SOURCES,
    deltas,
    distance,
    distances,
    ranges_of,
)
from tests.shared import SHARED, needs_shared

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SIDE = st.lists(FINITE, min_size=1, max_size=15)
EVEN = dict.fromkeys(NAMES, 0.5)


def test_deltas_are_the_differences_of_the_features_of_both_sides() -> None:
    values = np.random.default_rng(4).normal(10.0, 1.0, 50)
    pre, after = values[:32], values[32:] + 5.0
    sides = characteristics(pre, after)
    (pre_alpha, pre_beta), (after_alpha, after_beta) = holt(pre), holt(after)
    assert deltas(pre, after) == {
        "delta_mean": abs(sides["after_norm_mean"] - sides["pre_norm_mean"]),
        "delta_sd": abs(sides["after_norm_sd"] - sides["pre_norm_sd"]),
        "delta_hurst": abs(sides["after_hurst"] - sides["pre_hurst"]),
        "delta_alpha": abs(after_alpha - pre_alpha),
        "delta_beta": abs(after_beta - pre_beta),
    }


def test_deltas_of_single_values_are_defined() -> None:
    result = deltas([1.0], [2.0])
    expected = {"delta_mean": 1.0} | dict.fromkeys(NAMES[1:], 0.0)
    assert result == expected
    result = deltas([1.0, 3.0, 2.0], [2.5])
    alpha, beta = holt([1.0, 3.0, 2.0])
    assert result["delta_alpha"] == abs(0.2 - alpha)
    assert result["delta_beta"] == beta
    assert result["delta_sd"] == pytest.approx(0.5)


@needs_shared
def test_real_pairs_agree_with_r() -> None:
    inputs = json.loads((SHARED / "golden" / "inputs_real.json").read_text())
    with (SHARED / "golden" / "holt.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    compared = 0
    for case in sorted(inputs.keys() & rows.keys())[::5]:
        row, sides = rows[case], inputs[case]
        if min(map(len, sides.values())) < 3:
            continue  # undefined in R, or repeated to four values by the authors' code
        compared += 1
        result = deltas(sides["pre"], sides["after"])
        columns = ("n{}_mean", "n{}_sd", "{}_hurst", "{}_alpha", "{}_beta")
        for name, column in zip(NAMES, columns, strict=True):
            gap = float(row[column.format("after")]) - float(row[column.format("pre")])
            assert result[name] == pytest.approx(abs(gap), abs=1e-6), (case, name)
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


def test_ranges_of_covers_both_sides_of_all_rows() -> None:
    rows = np.zeros((2, len(SOURCES)))
    rows[:, 0] = 0.2, 0.4  # pre_norm_mean
    rows[:, 5] = 0.9, 0.5  # after_norm_mean
    rows[1, 9] = 1.0  # after_beta
    result = ranges_of(rows)
    assert result == pytest.approx(
        {"delta_mean": 0.7, "delta_sd": 0, "delta_hurst": 0, "delta_alpha": 0, "delta_beta": 1}
    )


@pytest.mark.parametrize("shape", [(0, 10), (3, 5), (10,)])
def test_ranges_of_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"the matrix has the shape {shape}")):
        ranges_of(np.zeros(shape))


def test_batch_rows_equal_single_pairs_to_the_bit() -> None:
    values = np.random.default_rng(8).normal(size=80).cumsum()
    starts, splits, ends = np.array([0, 0, 20, 30]), np.array([9, 30, 21, 60]), [40, 60, 30, 80]
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
    assert result == deltas(after, pre)


@pytest.mark.parametrize(
    ("pre", "after", "message"),
    [([], [1.0], "pre is empty"), ([1.0], [1.0, np.inf], r"after\[1\] is inf")],
)
def test_bad_sides_are_named(pre: list[float], after: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deltas(pre, after)

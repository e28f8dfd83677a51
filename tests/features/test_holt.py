"""Holt's alpha and beta: agreement with R, and values for every side."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.features import holt_ets
from barograph.features.holt_winters import cubic_minimum, secant_minimum
from tests.features.vectors import holt_of
from tests.shared import SHARED, needs_shared

SYNTHETIC = json.loads((Path(__file__).parent / "holt_synthetic.json").read_text())
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ORDINARY = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("case", SYNTHETIC, ids=[case["case"] for case in SYNTHETIC])
def test_synthetic_sides_agree_with_r(case: dict[str, Any]) -> None:
    # The fit of a straight line leaves only rounding noise, which the search then follows.
    tolerance = 1e-5 if "syn_lin" in case["case"] else 1e-8
    assert holt_of(case["values"]) == pytest.approx((case["alpha"], case["beta"]), abs=tolerance)


@needs_shared
def test_real_sides_agree_with_r() -> None:
    inputs = json.loads((SHARED / "golden" / "inputs_real.json").read_text())
    with (SHARED / "golden" / "holt.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    errors: dict[bool, list[float]] = {True: [], False: []}
    for case in inputs.keys() & rows.keys():
        for name in ("pre", "after"):
            values, row = inputs[case][name], rows[case]
            if len(values) < 2:
                assert holt_of(values) == (float(row[f"{name}_alpha"]), 0.0)
                continue
            alpha, beta = holt_of(values)
            gaps = alpha - float(row[f"{name}_alpha"]), beta - float(row[f"{name}_beta"])
            errors[len(values) >= 9].append(max(map(abs, gaps)))
    assert len(errors[True]) == 1532
    assert max(errors[True]) < 1e-9
    assert len(errors[False]) == 504
    assert max(errors[False]) < 1e-6


def badness(values: list[float], point: list[float]) -> float:
    """Return the objective of the model with these parameters, from its equations."""
    alpha, beta, *rest = point
    level, trend = point[-2:]
    phi = rest[0] if len(point) == 5 else 1.0
    allowed = 1e-4 <= alpha <= 0.9999 and 1e-4 <= beta <= alpha
    if not allowed or (len(point) == 5 and not 0.8 <= phi <= 0.98):
        return 1e35
    total = 0.0
    for value in values:
        forecast = level + phi * trend
        risen = forecast + alpha * (value - forecast)
        trend = phi * trend + beta / alpha * (risen - level - phi * trend)
        level = risen
        total += (value - forecast) ** 2
    return len(values) * math.log(total)


def starting_simplex(values: list[float], parameters: int) -> list[list[float]]:
    level, trend = holt_ets.starting_line(np.array(values))
    alpha = 1e-4 + 0.2 * 0.9998
    start = [alpha, 1e-4 + 0.1 * (alpha - 1e-4), 0.8 + 0.99 * 0.18, level, trend]
    if parameters == 4:
        del start[2]
    corners = [list(start) for _ in range(parameters + 1)]
    for i in range(parameters):
        corners[i + 1][i] += 0.1 * max(map(abs, start))
    return corners


def blend(a: list[float], b: list[float], weight: float) -> list[float]:
    return [weight * p + (1.0 - weight) * q for p, q in zip(a, b, strict=True)]


def plain_fit(values: list[float], parameters: int) -> tuple[float, list[float]]:
    """Minimise by a plain implementation of Nelder and Mead."""
    points = starting_simplex(values, parameters)
    heights = [badness(values, point) for point in points]
    tolerance = 2.0**-26 * (abs(heights[0]) + 2.0**-26)
    best = 0
    while True:
        if heights[best] != min(heights):
            best = heights.index(min(heights))
        low, high = heights[best], max(heights)
        worst = best if high == low else heights.index(high)
        if high <= low + tolerance:
            return low, points[best]
        middle = [
            (sum(column) - column[worst]) / parameters for column in zip(*points, strict=True)
        ]
        turned = blend(middle, points[worst], 2.0)
        value = badness(values, turned)
        if value < low:
            further = blend(turned, middle, 2.0)
            reach = badness(values, further)
            points[worst], heights[worst] = (further, reach) if reach < value else (turned, value)
            continue
        if value < high:
            points[worst], heights[worst] = turned, value
        inner = blend(points[worst], middle, 0.5)
        if badness(values, inner) < heights[worst]:
            points[worst], heights[worst] = inner, badness(values, inner)
        elif value >= high:
            points = [blend(point, points[best], 0.5) for point in points]
            heights = [badness(values, point) for point in points]


@pytest.mark.parametrize("count", [9, 10, 30, 120])
def test_kernel_agrees_with_the_plain_search(count: int) -> None:
    rng = np.random.default_rng(count)
    values = 100.0 + np.cumsum(rng.normal(size=count)) + rng.normal(size=count)
    damped, plain = plain_fit(list(values), 5), plain_fit(list(values), 4)
    k = [2 * p + 2 * p * (p + 1) / (count - p - 1) for p in (6, 5)]
    _, point = plain if plain[0] + k[1] < damped[0] + k[0] else damped
    assert holt_of(values) == pytest.approx(point[:2], abs=1e-10)


def test_starting_line_is_the_least_squares_line_of_the_first_ten() -> None:
    values = np.random.default_rng(3).normal(5.0, 2.0, 40)
    slope, level = np.polyfit(np.arange(1, 11), values[:10], 1)
    assert holt_ets.starting_line(values) == pytest.approx((level, slope), rel=1e-12)


def test_starting_line_through_zero_is_moved_slightly() -> None:
    level, slope = holt_ets.starting_line(np.arange(9.0))
    assert (level, slope) == pytest.approx((-1.001, 0.999), rel=1e-12)


def test_single_value_has_no_trend() -> None:
    assert holt_of([437.9]) == (0.2, 0.0)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1e15, 1e300, 5e-324])
def test_equal_values_return_the_start_of_the_search(level: float) -> None:
    assert holt_of([level] * 5) == (0.2, 0.02)
    assert holt_of([level] * 9) == (holt_ets.START_ALPHA, holt_ets.START_BETA)


@pytest.mark.parametrize("count", [2, 5, 9, 30])
def test_very_large_values_do_not_depend_on_the_unit(count: int) -> None:
    values = np.random.default_rng(count).normal(1.0, 0.1, count)
    assert holt_of(values * 2.0**1000) == holt_of(values * 2.0**700)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(FINITE, min_size=1, max_size=24))
def test_every_finite_side_has_an_alpha_and_a_beta(values: list[float]) -> None:
    alpha, beta = holt_of(values)
    assert 0.0 <= alpha <= 1.0
    assert 0.0 <= beta <= 1.0


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(ORDINARY, min_size=2, max_size=8))
def test_fit_of_short_sides_improves_on_the_start(values: list[float]) -> None:
    alpha, beta = holt_of(values)
    start, actual = short_errors(values, 0.2, 0.02), short_errors(values, alpha, beta)
    assert actual <= start * (1.0 + 1e-12)


def short_errors(values: list[float], alpha: float, beta: float) -> float:
    level, trend, total = values[0], values[1] - values[0], 0.0
    for value in values:
        forecast = level + trend
        risen = alpha * value + (1 - alpha) * forecast
        trend = beta * (risen - level) + (1 - beta) * trend
        level, total = risen, total + (value - forecast) ** 2
    return total


def test_line_search_finds_the_minimum_of_a_cubic_and_of_a_square() -> None:
    # (t - 1)^2 (t + 2) has its minimum at 1; its slope is 3 (t - 1)(t + 1).
    ends = [(t, (t - 1) ** 2 * (t + 2), 3 * (t - 1) * (t + 1)) for t in (0.5, 3.0)]
    assert cubic_minimum(ends[0], ends[1], False) == pytest.approx(1.0)
    assert secant_minimum((0.0, 4.0, -4.0), (3.0, 1.0, 2.0)) == pytest.approx(2.0)

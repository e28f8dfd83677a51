"""The common part of the runs of many series."""

import numpy as np
import pytest

from barograph.detection.online.machine import (
    CommonPart,
    common_part,
    logarithms,
    softened,
    takes_part,
)
from barograph.results.series import Direction, Floats, Series, SeriesId


def hosts(seed: int, runs: int = 120, size: int = 40) -> Floats:
    """Return the logarithms of series with gaps, on a host with changes and slow runs."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, 0.01, (runs, size)) + rng.normal(0.0, 3.0, size)
    logs[70:] += 0.08
    logs[50] += 0.15
    logs[90:, :10] += 0.3
    logs[rng.random(logs.shape) < 0.1] = np.nan
    logs[:60, 3] = np.nan  # a new series
    return logs


def assert_equal(part: CommonPart, other: CommonPart, runs: int, tolerance: float = 0.0) -> None:
    for name in ("level", "excess"):
        one, two = (getattr(p, name)[:runs] for p in (part, other))
        np.testing.assert_allclose(one, two, rtol=0.0, atol=tolerance)
    for name in ("along", "able", "moved"):
        np.testing.assert_array_equal(getattr(part, name)[:runs], getattr(other, name)[:runs])


@pytest.mark.parametrize("seed", range(3))
def test_row_depends_on_earlier_rows_alone_and_not_on_order_or_unit(seed: int) -> None:
    logs = hosts(seed)
    part = common_part(logs)
    for runs in (1, 30, 71, 119):
        assert_equal(part, common_part(logs[:runs]), runs)
    order = np.random.default_rng(seed).permutation(logs.shape[1])
    permuted = common_part(logs[:, order])
    assert_equal(part, permuted, len(logs))
    np.testing.assert_array_equal(part.voters[:, order], permuted.voters)
    factors = np.log(np.random.default_rng(seed).uniform(0.001, 1000.0, logs.shape[1]))
    assert_equal(part, common_part(logs + factors), len(logs), 1e-12)


def test_common_part_is_what_all_series_share() -> None:
    part = common_part(hosts(1))
    assert part.excess[50] == pytest.approx(0.15, abs=0.01)
    assert part.level[-20:].mean() == pytest.approx(0.08, abs=0.01)  # it keeps a lasting change
    assert part.is_shared[[50, 70, 71]].all()
    # Ten series of forty that change are not the machine: the others say what it did.
    assert not part.is_shared[90]
    assert abs(part.excess[90] - part.excess[89]) < 0.02
    assert not part.is_known[:12].any()


@pytest.mark.parametrize(
    "logs",
    [
        np.full((1, 0), np.nan),
        np.zeros((1, 40)),
        np.zeros((80, 40)),  # all values equal
        np.full((80, 40), np.nan),
        np.random.default_rng(0).normal(0.0, 0.1, (80, 7)),  # too few voters
        np.random.default_rng(0).normal(0.0, 0.0005, (80, 40)),  # sizes and counts
    ],
)
def test_without_enough_voters_there_is_no_common_part(logs: Floats) -> None:
    part = common_part(logs)
    assert not part.excess.any()
    assert not part.level.any()
    assert not np.any([part.is_known, part.is_shared])


def test_softened_value_of_a_rate_is_that_of_a_time() -> None:
    values = np.append(np.full(30, 50.0), [75.0, 52.0, 40.0])
    excess = np.log([1.2, 1.2, 1.2])
    times = softened(values, Direction.LOWER_IS_BETTER, excess)
    np.testing.assert_allclose(times, [62.5, 50.0, 40.0])
    rates = softened(1.0 / values, Direction.HIGHER_IS_BETTER, excess)
    np.testing.assert_allclose(rates, 1.0 / times)
    np.testing.assert_allclose(softened(values, Direction.UNKNOWN, -excess)[:2], [75.0, 52.0])


def test_softened_values_go_to_the_level_since_the_last_change() -> None:
    values, excess = np.array([50.0] * 24 + [40.0] * 6 + [46.0]), np.log([1.15])
    lower = Direction.LOWER_IS_BETTER
    np.testing.assert_allclose(softened(values, lower, excess), [46.0])
    np.testing.assert_allclose(softened(values, lower, excess, 24), [40.0])


@pytest.mark.parametrize("before", [0.0, -1.0])
def test_values_without_a_level_stay(before: float) -> None:
    values = np.append(np.full(30, before), [5.0])
    assert softened(values, Direction.LOWER_IS_BETTER, np.log([1.2])).tolist() == [5.0]
    assert softened(values[-1:], Direction.UNKNOWN, np.log([1.2])).tolist() == [5.0]


def test_values_without_a_logarithm_are_missing() -> None:
    logs = logarithms(np.array([0.0, -1.0, 1.0, np.e]), Direction.UNKNOWN)
    np.testing.assert_array_equal(logs, [np.nan, np.nan, 0.0, 1.0])


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        *(("ms", True), ("ns/iter", True), ("ops/s", True), ("GFLOPS", True), ("kittens", True)),
        *(("B/op", False), ("allocs/op", False), ("instructions", False), (" % ", False)),
        *(("count", False), ("MB/s", True)),
    ],
)
def test_machine_moves_times_and_rates_alone(unit: str, expected: bool) -> None:
    one = np.ones(1)
    series = Series(SeriesId("", "", "", "a", ""), one.astype(np.int64), one, unit=unit)
    assert takes_part(series) == expected

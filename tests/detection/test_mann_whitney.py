"""The Mann-Whitney test against SciPy, with and without ties, and as the test of Hunter."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barograph.detection import Hunter
from barograph.detection.mann_whitney import mann_whitney
from barograph.errors import ConfigError
from tests.detection.hunter_reference import hunter

SAMPLES = st.lists(st.integers(-40, 40), min_size=1, max_size=24)


def plain(left: Any, right: Any, method: Any = "auto") -> float:
    return float(stats.mannwhitneyu(left, right, method=method).pvalue)


@settings(deadline=None, max_examples=200)
@given(SAMPLES, SAMPLES, st.booleans())
def test_pvalue_is_that_of_scipy_with_ties_or_without(
    left: list[int], right: list[int], has_ties: bool
) -> None:
    values = np.array(left + right, dtype=np.float64)
    if not has_ties:
        values += np.arange(values.size) / 1000
    a, b = np.split(values, [len(left)])
    if np.unique(values).size > 1:  # SciPy divides by 0 for equal values
        result = mann_whitney(values, 0, len(left), values.size)
        assert result == pytest.approx(plain(a, b), rel=1e-10)


@pytest.mark.parametrize(("left", "right"), [(8, 792), (8, 793), (9, 40), (1, 60), (400, 400)])
def test_pvalue_is_that_of_scipy_at_the_limits_of_the_exact_distribution(
    left: int, right: int
) -> None:
    values = np.random.default_rng(left).normal(size=left + right)
    values[:left] += 0.7
    method = "exact" if left <= 8 and left + right <= 800 else "asymptotic"
    expected = plain(values[:left], values[left:], method)
    assert mann_whitney(values, 0, left, values.size) == pytest.approx(expected, rel=1e-9)


def test_equal_values_have_no_change() -> None:
    assert mann_whitney(np.full(9, 3.0), 0, 4, 9) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_hunter_by_ranks_is_the_plain_reference(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = np.repeat(random.normal(100, 4, 7), 8) + random.normal(0, 1, 56)
    indices = Hunter(20, 0.01, test="mann_whitney").fit_predict(values)
    assert indices.tolist() == hunter(values, 20, 0.01, 0.0, plain)
    assert indices.size


def test_hunter_refuses_an_unknown_test_and_ranks_with_parity() -> None:
    with pytest.raises(ConfigError, match="test is 'median'"):
        Hunter(test="median")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="parity with Apache Otava"):
        Hunter(test="mann_whitney", parity=True)

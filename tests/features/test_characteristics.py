"""The eighteen characteristics, compared with R."""

import re

import numpy as np
import numpy.typing as npt
import pytest

from barograph.features import characteristics
from barograph.features.bauer import NAMES_OF_NINE as NAMES
from tests.features.vectors import REAL, SYNTHETIC, Case, cases, comparable, error_of
from tests.shared import needs_shared

# R accepts this NaN; here it is refused.
PASSED_BY_R = "sp_nan_pre"


def worst(case: Case) -> float:
    """Return the largest error of a case, with a tenth of the weight for Hurst exponents."""
    numbers = characteristics(case.pre, case.after)
    assert tuple(numbers) == NAMES
    return max(
        error_of(numbers[name], expected) * (0.1 if name.endswith("hurst") else 1.0)
        for name, expected in case.expected.items()
        if comparable(case, name)
    )


def sound(case: Case) -> bool:
    return not case.error and case.name != PASSED_BY_R


def test_synthetic_cases_agree_with_r() -> None:
    errors = {c.name: worst(c) for c in cases(SYNTHETIC, "inputs_synthetic.json") if sound(c)}
    assert len(errors) == 318
    assert {name: error for name, error in errors.items() if not error <= 1e-9} == {}


@needs_shared
def test_real_cases_agree_with_r() -> None:
    errors = {c.name: worst(c) for c in cases(REAL, "inputs_real.json") if sound(c)}
    assert len(errors) == 1205
    assert {name: error for name, error in errors.items() if not error <= 1e-9} == {}


@pytest.mark.parametrize(
    "case",
    [c for c in cases(SYNTHETIC, "inputs_synthetic.json") if not sound(c)],
    ids=lambda c: c[0],
)
def test_values_that_are_not_finite_are_refused(case: Case) -> None:
    with pytest.raises(ValueError, match=r"(pre|after)(\[\d+\] is (nan|-?inf)| is empty)"):
        characteristics(case.pre, case.after)


@pytest.mark.parametrize(
    ("pre", "after", "message"),
    [
        ([1.0], [1.0, np.nan], "after[1] is nan"),
        ([np.inf], [1.0], "pre[0] is inf"),
        ([], [1.0], "pre is empty"),
        ([1.0], [[1.0]], "after must be one-dimensional, but has the shape (1, 1)"),
        (["one"], [1.0], "pre[0] is 'one'"),
    ],
)
def test_bad_sides_are_named(pre: npt.ArrayLike, after: npt.ArrayLike, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        characteristics(pre, after)


def test_constant_sides_have_the_fixed_values() -> None:
    numbers = characteristics([7.0] * 30, [7.0])
    fixed = {"norm_mean": 7.0, "entropy": 1.0, "hurst": 0.5, "serial_correlation": 1.0}
    for name, value in numbers.items():
        assert value == fixed.get(name.split("_", 1)[1], 0.0), name

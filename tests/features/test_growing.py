"""A Pre that grows says what the batch call says of the same values."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.features import FEATURE_SETS, GrowingPre, feature_matrix
from barograph.series import Floats

RNG = np.random.default_rng(7)
HISTORIES = {
    "noise": RNG.normal(100.0, 1.0, 260),
    "walk": np.cumsum(RNG.normal(size=260)),
    "noise on a high level": 1e6 + 1e-3 * RNG.normal(size=320),
    "around zero": RNG.normal(size=150),
    "steps": np.repeat(RNG.integers(0, 3, 15), 10).astype(float),
    "constant": np.full(40, 5.0),
    "nearly constant": 1.0 + RNG.integers(0, 9, 60) * 2.0**-52,
    "first is far off": np.concatenate(([1e6], RNG.normal(size=150))),
    "zero sums": np.tile([1.0, -1.0], 120),
    "large": RNG.normal(size=60) * 1e305,
    "tiny": RNG.normal(size=60) * 1e-310,
}
ENTROPY = [name.endswith("entropy") for name in FEATURE_SETS["bauer8"]]


@pytest.mark.parametrize("name", HISTORIES)
def test_every_length_says_what_the_batch_says(name: str) -> None:
    values = HISTORIES[name]
    splits = np.arange(1, values.size - 1)
    pre = GrowingPre()
    rows = []
    for value, newest in itertools.pairwise(values[:-1]):
        pre.append(value)
        rows.append(pre.describe([newest]))
    batch = feature_matrix(values, np.zeros_like(splits), splits, splits + 1)
    got = np.array(rows)
    exact = ~np.array(ENTROPY)
    assert (got[:, exact] == batch[:, exact]).all()
    assert np.allclose(got, batch, rtol=0, atol=1e-9, equal_nan=False)


@pytest.mark.parametrize("name", HISTORIES)
def test_hurst_exponents_agree_at_every_length(name: str) -> None:
    values = HISTORIES[name]
    splits = np.arange(1, values.size - 1)
    pre = GrowingPre(hurst=True)
    rows = []
    for value, newest in itertools.pairwise(values[:-1]):
        pre.append(value)
        rows.append(pre.describe([newest]))
    batch = feature_matrix(values, np.zeros_like(splits), splits, splits + 1, "bauer9")
    column = FEATURE_SETS["bauer9"].index("pre_hurst")
    difference = np.abs(np.array(rows) - batch)
    assert difference.max() < 1e-9, (name, int(difference[:, column].argmax()))


sides = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 2)), min_size=1, max_size=45)


@given(sides, sides, sides)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_after_and_any_restart(
    first: list[float], pre: list[float], after: list[float]
) -> None:
    growing = GrowingPre()
    for value in first:
        growing.append(value)
    growing.clear()
    for value in pre:
        growing.append(value)
    assert len(growing) == len(pre)
    assert growing.values.tolist() == pre
    row = growing.describe(after)
    expected = feature_matrix(pre + after, [0], [len(pre)], [len(pre) + len(after)])[0]
    exact = ~np.array(ENTROPY)
    assert (row[exact] == expected[exact]).all()
    assert np.allclose(row, expected, rtol=0, atol=1e-9)


def test_a_row_is_the_callers_to_keep() -> None:
    growing = GrowingPre()
    growing.append(1.0)
    first = growing.describe([2.0])
    kept: Floats = first.copy()
    growing.append(5.0)
    growing.describe([9.0])
    assert (first == kept).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_and_forgotten(value: float) -> None:
    growing = GrowingPre()
    growing.append(1.0)
    with pytest.raises(ValueError, match=re.escape(f"pre[1] is {value}")):
        growing.append(value)
    with pytest.raises(ValueError, match=re.escape(f"after[0] is {value}")):
        growing.describe([value])
    assert growing.values.tolist() == [1.0]


def test_an_empty_pre_has_no_description() -> None:
    with pytest.raises(ValueError, match="pre is empty"):
        GrowingPre().describe([1.0])

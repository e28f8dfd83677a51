"""Two pairs are compared on the same points at the same rate of false alarms."""

import numpy as np
import pytest

from barograph.errors import NotEnoughDataError
from barograph.evaluation.annotators import Marked
from barograph.series import Floats
from barograph.training.online.pair_comparison import Surprises, compare_pairs
from barograph.training.online.rows import WINDOWS
from barograph.training.online.truth import Truth

LENGTH, SERIES, CHANGE = 200, 20, 120
TRUTH = Truth.of(
    Marked(
        np.tile(np.arange(LENGTH) >= CHANGE, SERIES).astype(float),
        np.arange(SERIES + 1) * LENGTH,
        (((CHANGE,), (CHANGE,), (CHANGE,)),) * SERIES,
        np.arange(SERIES) // 2,
    )
)


def surprises(hits: int) -> Surprises:
    """Return quiet noise in all windows, and a high surprise at the changes of some series."""
    rng = np.random.default_rng(1)
    result: dict[int, Floats] = {}
    for window in WINDOWS:
        score = rng.exponential(size=TRUTH.values.size)
        score[TRUTH.changes[:hits] + window] = 20.0
        result[window] = score
    return result


def test_pair_that_reports_more_is_better() -> None:
    compared = compare_pairs(TRUTH, "hindsight", surprises(16), surprises(4))
    assert compared.new == pytest.approx((0.8, 0.8, 0.8), abs=0.06)
    assert compared.other == pytest.approx((0.2, 0.2, 0.2), abs=0.06)
    assert compared.is_better
    assert (compared.changes, compared.groups) == (SERIES, SERIES // 2)
    assert compared.to_card()["labels"] == "hindsight"
    reverse = compare_pairs(TRUTH, "hindsight", surprises(4), surprises(16))
    assert not reverse.is_better
    assert reverse.not_worse < 0.05


def test_equal_pair_is_neither_better_nor_worse() -> None:
    compared = compare_pairs(TRUTH, "verdicts", surprises(10), surprises(10))
    assert not compared.is_better
    assert compared.not_worse == 1.0


def test_pair_that_is_better_in_one_group_is_not_better_beyond_chance() -> None:
    assert not compare_pairs(TRUTH, "hindsight", surprises(12), surprises(10)).is_better


def test_comparison_needs_a_change() -> None:
    nothing = TRUTH.without(np.ones(TRUTH.values.size, dtype=np.bool_))
    with pytest.raises(NotEnoughDataError, match="no change by hindsight"):
        compare_pairs(nothing, "hindsight", surprises(1), surprises(1))

"""The set of candidates with the greatest expected F1."""

from itertools import chain, combinations

import numpy as np
import pytest
from expected_f1 import best_set, expected_f1, strongest_apart
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from barograph.series import Floats

shares = hnp.arrays(np.float64, st.integers(0, 8), elements=st.floats(0.0, 1.0))
crowds = st.floats(1.0, 20.0)


def of_set(q: Floats, chosen: tuple[int, ...], crowd: float) -> float:
    """Return the expected F1 of any set by its formula."""
    precision = (1 + sum(1 - (1 - q[i]) ** crowd for i in chosen)) / (1 + len(chosen))
    recall = (1 + sum(q[i] for i in chosen)) / (1 + q.sum())
    return float(2 * precision * recall / (precision + recall))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(shares, crowds)
def test_best_set_has_the_greatest_expected_f1(q: Floats, crowd: float) -> None:
    every = chain.from_iterable(combinations(range(q.size), n) for n in range(q.size + 1))
    best = max(of_set(q, chosen, crowd) for chosen in every)
    chosen = tuple(best_set(q, crowd).tolist())
    assert of_set(q, chosen, crowd) == pytest.approx(best, rel=1e-12)
    assert expected_f1(q, crowd).max() == pytest.approx(best, rel=1e-12)


def test_best_set_includes_certain_and_excludes_impossible_points() -> None:
    assert best_set(np.array([1.0, 0.0, 1.0]), 2.0).tolist() == [0, 2]
    assert best_set(np.array([0.01, 0.02]), 2.0).size == 0
    assert best_set(np.array([]), 2.0).size == 0


def test_larger_crowd_reports_more_and_threshold_less() -> None:
    q = np.linspace(0.05, 0.95, 10)
    counts = [best_set(q, crowd).size for crowd in (1.0, 2.0, 5.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    assert q[best_set(q, 5.0, threshold=0.5)].min() >= 0.5


def test_strongest_apart_keeps_the_stronger_of_two_close_candidates() -> None:
    index = np.array([10, 14, 19, 40])
    q = np.array([0.3, 0.6, 0.5, 0.1])
    assert strongest_apart(index, q, 5).tolist() == [1, 3]
    assert strongest_apart(index, q, 4).tolist() == [1, 2, 3]

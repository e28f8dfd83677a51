from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.learning.metrics import Counts, count, pairs, rand_index

points = st.sets(st.integers(1, 39), max_size=8)


def most_pairs(reported: set[int], truth: set[int], margin: int) -> int:
    """Return the size of the largest matching, by augmenting paths in a bipartite graph."""
    owner: dict[int, int] = {}

    def place(point: int, seen: set[int]) -> bool:
        for known in truth:
            if abs(point - known) <= margin and known not in seen:
                seen.add(known)
                if known not in owner or place(owner[known], seen):
                    owner[known] = point
                    return True
        return False

    return sum(place(point, set()) for point in reported)


@settings(derandomize=True, deadline=None)
@given(points, points, st.integers(0, 6))
def test_pairs_are_the_largest_matching(reported: set[int], truth: set[int], margin: int) -> None:
    matched = pairs(reported, truth, margin)
    assert len(matched) == most_pairs(reported, truth, margin)
    assert all(abs(a - b) <= margin for a, b in matched)
    assert len({b for _, b in matched}) == len({a for a, _ in matched}) == len(matched)


@settings(derandomize=True, deadline=None)
@given(points, points, st.integers(0, 6))
def test_f1_is_symmetric(reported: set[int], truth: set[int], margin: int) -> None:
    assert count(reported, truth, margin).f1 == count(truth, reported, margin).f1


@settings(derandomize=True, deadline=None)
@given(points, points)
def test_rand_index_equals_that_of_the_segment_labels(reported: set[int], truth: set[int]) -> None:
    labels = [
        np.searchsorted(sorted(side), np.arange(40), side="right") for side in (reported, truth)
    ]
    pairs_of_points = list(combinations(range(40), 2))
    agree = sum(
        (labels[0][i] == labels[0][j]) == (labels[1][i] == labels[1][j]) for i, j in pairs_of_points
    )
    assert rand_index(reported, truth, 40) == pytest.approx(agree / len(pairs_of_points), abs=1e-12)


def test_two_points_near_one_change_count_once() -> None:
    assert count([10, 12], [11], margin=2) == Counts(tp=1, fp=1, fn=0)


def test_printed_rand_matches_the_paper() -> None:
    # Table 3, one of the values of Dynp: F1 2/7 and "Rand" 1/6, one right of six.
    one_of_six = Counts(tp=1, fp=5, fn=0)
    assert one_of_six.f1 == pytest.approx(0.285714, abs=1e-6)
    assert one_of_six.printed_rand == pytest.approx(0.166667, abs=1e-6)


def test_empty_result_without_changes_is_perfect() -> None:
    empty = count([], [], margin=5)
    assert (empty.f1, empty.printed_rand) == (1.0, 1.0)


def test_empty_result_with_changes_scores_zero() -> None:
    missed = count([], [5], margin=5)
    assert (missed.f1, missed.printed_rand) == (0.0, 0.0)

"""E-Divisive over a growing series: what stays, what moves, and what is looked at again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import EDivisive, IncrementalEDivisive
from barograph.detection.edivisive.incremental import compare
from barograph.errors import ConfigError, DataError

LEVELS = np.repeat([0.0, 10.0, 3.0, 14.0, 5.0], 20)
VALUES = LEVELS + np.random.default_rng(31).normal(0, 1, LEVELS.size)


def test_a_history_replayed_result_by_result_ends_at_its_steps() -> None:
    detector = IncrementalEDivisive()
    present: list[int] = []
    for value in VALUES:
        update = detector.update(value)
        # The report is complete: applied to what was known, it gives what is known.
        gone = set(update.vanished) | {old for old, _ in update.moved}
        come = set(update.appeared) | {new for _, new in update.moved}
        present = sorted((set(present) - gone) | come)
        assert present == [point.index for point in detector.change_points]
        assert update.is_change == bool(gone or come)
    assert present == [20, 40, 60, 80]
    points = detector.change_points
    assert [point.before.count for point in points] == [20, 20, 20, 20]
    orders = [point.order for point in points if point.order is not None]
    assert orders == sorted(orders)


def test_only_the_last_two_regimes_are_divided_again() -> None:
    detector = IncrementalEDivisive()
    detector.update(VALUES)
    assert [point.index for point in detector.change_points] == [20, 40, 60, 80]
    early = detector.change_points[:2]
    update = detector.update([5.0, 6.0])
    assert update.examined == VALUES.size + 2 - 60
    assert detector.change_points[:2] == early


def test_a_result_may_move_a_change_point() -> None:
    # The first of the new results looks like a step; those behind it say that it came later.
    random = np.random.default_rng(2)
    values = [*random.normal(0, 1, 30), 4.0, 4.5, 4.0, *random.normal(12, 1, 30)]
    detector = IncrementalEDivisive()
    moves = [pair for value in values for pair in detector.update(value).moved]
    assert (30, 33) in moves
    assert 33 in [point.index for point in detector.change_points]


def test_a_long_regime_is_cut_to_recent_points_back_to_a_known_change_point() -> None:
    random = np.random.default_rng(6)
    detector = IncrementalEDivisive(recent=50)
    assert detector.update(random.normal(0, 1, 120)).examined == 50
    assert detector.change_points == []
    detector.update(random.normal(9, 1, 40))
    assert [point.index for point in detector.change_points] == [120]
    assert detector.update(random.normal(9, 1, 30)).examined == 70
    assert [point.index for point in detector.change_points] == [120]


def test_it_starts_from_a_history_that_is_known() -> None:
    known = EDivisive().detect(VALUES)
    detector = IncrementalEDivisive()
    detector.remember(VALUES, known)
    assert detector.change_points == known
    assert not detector.update(5.0).is_change
    detector.update(np.random.default_rng(1).normal(25, 1, 12))
    newest = detector.change_points[-1]
    assert (newest.index, newest.order) == (101, 4)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    before=st.sets(st.integers(0, 40)), after=st.sets(st.integers(0, 40)), reach=st.integers(0, 6)
)
def test_a_comparison_accounts_for_every_change_point_once(
    before: set[int], after: set[int], reach: int
) -> None:
    update = compare(sorted(before), sorted(after), reach, 1)
    old, new = [a for a, _ in update.moved], [b for _, b in update.moved]
    assert sorted([*update.vanished, *old]) == sorted(before - after)
    assert sorted([*update.appeared, *new]) == sorted(after - before)
    assert all(abs(a - b) <= reach for a, b in update.moved)
    assert not any(abs(a - b) <= reach for a in update.vanished for b in update.appeared)


def test_input_is_checked() -> None:
    detector = IncrementalEDivisive()
    with pytest.raises(DataError, match=r"values\[1\] is nan"):
        detector.update([1.0, float("nan")])
    with pytest.raises(ConfigError, match="recent is 3: it must be 6 or more"):
        IncrementalEDivisive(recent=3)
    with pytest.raises(ConfigError, match="change_points is"):
        detector.remember(VALUES[:30], EDivisive().detect(VALUES))


@pytest.mark.parametrize("missing", ["drop", "fill"])
def test_missing_results_are_left_out_or_filled_and_keep_their_indices(missing: str) -> None:
    holes = np.insert(VALUES, [5, 30, 30, 70], np.nan)
    detector = IncrementalEDivisive(EDivisive(missing=missing))  # type: ignore[arg-type]
    for value in holes:
        detector.update(value)
    assert [point.index for point in detector.change_points] == [21, 43, 63, 84]
    again = IncrementalEDivisive(EDivisive(missing=missing))  # type: ignore[arg-type]
    again.remember(holes, detector.change_points)
    assert again.change_points == detector.change_points


def test_a_missing_result_is_refused_by_its_place_and_changes_nothing() -> None:
    detector = IncrementalEDivisive()
    detector.update(VALUES)
    before = detector.change_points
    with pytest.raises(DataError, match=r"values\[101\] is nan"):
        detector.update([1.0, np.nan])
    assert detector.change_points == before
    assert detector.update(5.0).examined == VALUES.size + 1 - 60

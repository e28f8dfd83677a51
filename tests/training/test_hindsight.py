"""What hindsight labels, and that a person's verdict comes first."""

import numpy as np
import pytest

from barograph.learning.online import hindsight
from barograph.learning.online.hindsight import look_back, truth_in_hindsight
from barograph.learning.online.truth import Truth
from barograph.results.series import Floats, Ints

NONE = np.empty(0, dtype=np.int64)
LENGTH = 160
OFFSETS = np.array([0, LENGTH, 2 * LENGTH, 3 * LENGTH])
STEP, SPIKE = 100, LENGTH + 80  # the third series is quiet


@pytest.fixture(scope="module")
def values() -> Floats:
    """A series with a step, one with a spike, and a quiet one."""
    noise = np.random.default_rng(4).normal(100.0, 1.0, 3 * LENGTH)
    noise[STEP:LENGTH] += 8.0
    noise[SPIKE] += 40.0
    return noise


def truth(values: Floats, true: Ints = NONE, false: Ints = NONE, undecided: Ints = NONE) -> Truth:
    groups = np.arange(3)
    return truth_in_hindsight(values, OFFSETS, groups, true=true, false=false, undecided=undecided)


def test_hindsight_labels_a_step_and_not_a_spike(values: Floats) -> None:
    likely, doubtful = look_back(values, OFFSETS)
    assert likely.tolist() == [STEP]
    assert not np.any(np.abs(doubtful - SPIKE) <= 1)
    learned = truth(values)
    assert learned.changes.tolist() == [STEP]
    assert learned.quiet[SPIKE]
    assert learned.quiet[2 * LENGTH + 5 :].all()


def test_verdict_within_five_points_replaces_hindsight(values: Floats) -> None:
    noise = truth(values, false=np.array([STEP + 5]))
    assert noise.changes.size == 0
    assert noise.quiet[STEP]
    moved = truth(values, true=np.array([STEP - 3]))
    assert moved.changes.tolist() == [STEP - 3]
    open_ = truth(values, undecided=np.array([STEP + 2]))
    assert open_.changes.size == 0
    assert not open_.quiet[STEP - 3 : STEP + 8].any()


def test_verdict_elsewhere_keeps_hindsight(values: Floats) -> None:
    far = truth(values, false=np.array([STEP + 6]), true=np.array([SPIKE]))
    assert far.changes.tolist() == [STEP, SPIKE]


def test_verdict_says_nothing_about_the_next_series(
    values: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = np.array([LENGTH + 2])
    monkeypatch.setattr(hindsight, "look_back", lambda *_: (begin, NONE))
    assert truth(values, false=np.array([LENGTH - 2])).changes.tolist() == begin.tolist()
    assert truth(values, false=np.array([LENGTH + 6])).changes.size == 0


def test_hindsight_does_not_depend_on_other_series(
    values: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = look_back(values[:LENGTH], OFFSETS[:2])[0]
    monkeypatch.setattr("barograph.detection.batch.PIECE", LENGTH)
    assert look_back(values, OFFSETS)[0].tolist() == alone.tolist()


def test_history_without_points_has_no_labels() -> None:
    likely, doubtful = look_back(np.empty(0), np.array([0]))
    assert likely.size == doubtful.size == 0

"""Two pairs are compared on the same points at the same rate of false alarms."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from barograph.learning.annotators import Marked
from barograph.learning.comparison import is_better
from barograph.learning.online import pair
from barograph.learning.online.histories import Histories
from barograph.learning.online.pair import Lesson
from barograph.learning.online.pair_comparison import Surprises, compare_pairs
from barograph.learning.online.rows import WINDOWS
from barograph.learning.online.truth import Truth
from barograph.results.series import Floats
from barograph.runtime.errors import DataError, NotEnoughDataError

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
    assert compared.gain.difference == pytest.approx(0.6, abs=0.06)
    assert is_better(compared.gain, "it", "changes")[0]
    assert compared.changes == SERIES
    assert compared.gain.groups == 6  # of two series each, of which the pairs differ in twelve
    assert compared.to_card()["labels"] == "hindsight"
    reverse = compare_pairs(TRUTH, "hindsight", surprises(4), surprises(16))
    assert reverse.gain.high < 0
    assert reverse.gain.p_worse < 0.05


def test_equal_pair_is_neither_better_nor_worse() -> None:
    compared = compare_pairs(TRUTH, "verdicts", surprises(10), surprises(10))
    assert compared.gain[:4] == (0.0, 0.0, 0.0, 1.0)
    assert not is_better(compared.gain, "it", "changes")[0]


def test_pair_that_is_better_in_one_group_is_not_better_beyond_chance() -> None:
    gain = compare_pairs(TRUTH, "hindsight", surprises(12), surprises(10)).gain
    assert gain.difference > 0
    assert not is_better(gain, "it", "changes")[0]


def test_interval_is_that_of_groups_of_different_sizes() -> None:
    groups = replace(TRUTH, groups=np.minimum(np.arange(SERIES), 9))  # the last has 11 series
    gain = compare_pairs(groups, "verdicts", surprises(4), surprises(0)).gain
    assert not is_better(gain, "it", "changes")[0]  # four groups may gain by chance
    assert gain.difference == pytest.approx(4 / SERIES, abs=0.06)
    assert gain.low < 0.1 < 0.3 < gain.high  # the large group is drawn several times, or not at all


def test_comparison_needs_a_change() -> None:
    nothing = TRUTH.without(np.ones(TRUTH.values.size, dtype=np.bool_))
    with pytest.raises(NotEnoughDataError, match="no change by hindsight"):
        compare_pairs(nothing, "hindsight", surprises(1), surprises(1))


def pair_of(seed: int, feature_set: str = "online") -> dict[str, Any]:
    """Return what is read of the twins of a pair that held out the points of a seed."""
    card = {"held_out_seed": seed}
    return {
        "online": SimpleNamespace(feature_set=feature_set, card=card),
        "confirm": SimpleNamespace(feature_set="confirm", card=card),
    }


def test_champion_of_another_seed_is_compared_on_what_both_held_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commits = np.array([f"c{point}" for point in range(TRUTH.values.size)], dtype=object)
    known = Histories(TRUTH, TRUTH.series, commits)
    lesson = Lesson(known, "verdicts and hindsight", 1, 0.0, TRUTH, "verdicts")
    judged: list[Truth] = []

    def surprises_of(_online: Any, _confirm: Any, truth: Truth) -> Surprises:
        judged.append(truth)
        return surprises(16 if len(judged) == 1 else 4)

    monkeypatch.setattr(pair, "surprises_of", surprises_of)
    compared = pair.compare_with_champion(lesson, pair_of(1), pair_of(2))
    unseen = known.held_out(1) & known.held_out(2)
    assert 0 < compared.changes == unseen[TRUTH.changes].sum() < TRUTH.changes.size
    for truth in judged:
        assert not truth.judged[~unseen].any()
    with pytest.raises(DataError, match="its model online has the features 'bauer8'"):
        pair.compare_with_champion(lesson, pair_of(1), pair_of(1, "bauer8"))

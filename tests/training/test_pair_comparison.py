"""Two pairs are compared on the same points at the same rate of false alarms."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from barograph.learning.comparison import is_better
from barograph.learning.online import pair
from barograph.learning.online.alarms import SecondLookAlarms
from barograph.learning.online.histories import Histories
from barograph.learning.online.pair import Lesson, Surprises, compare_pairs
from barograph.learning.online.rows import WINDOWS
from barograph.learning.online.truth import Marked, Truth
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


def alarms(hits: int, truth: Truth = TRUTH) -> SecondLookAlarms:
    return SecondLookAlarms(truth, surprises(hits))


def test_pair_that_reports_more_is_better() -> None:
    entry, gain = compare_pairs("hindsight", alarms(16), alarms(4))
    assert entry["reported"] == pytest.approx((0.8, 0.8, 0.8), abs=0.06)
    assert entry["reported_by_other"] == pytest.approx((0.2, 0.2, 0.2), abs=0.06)
    assert entry["difference"] == gain.difference == pytest.approx(0.6, abs=0.06)
    assert is_better(gain, "it", "changes")[0]
    assert entry["changes"] == SERIES
    assert gain.groups == 6  # of two series each, of which the pairs differ in twelve
    assert entry["labels"] == "hindsight"
    _, reverse = compare_pairs("hindsight", alarms(4), alarms(16))
    assert reverse.high < 0
    assert reverse.p_worse < 0.05


def test_equal_pair_is_neither_better_nor_worse() -> None:
    _, gain = compare_pairs("verdicts", alarms(10), alarms(10))
    assert gain[:4] == (0.0, 0.0, 0.0, 1.0)
    assert not is_better(gain, "it", "changes")[0]


def test_pair_that_is_better_in_one_group_is_not_better_beyond_chance() -> None:
    _, gain = compare_pairs("hindsight", alarms(12), alarms(10))
    assert gain.difference > 0
    assert not is_better(gain, "it", "changes")[0]


def test_interval_is_that_of_groups_of_different_sizes() -> None:
    groups = replace(TRUTH, groups=np.minimum(np.arange(SERIES), 9))  # the last has 11 series
    _, gain = compare_pairs("verdicts", alarms(4, groups), alarms(0, groups))
    assert not is_better(gain, "it", "changes")[0]  # four groups may gain by chance
    assert gain.difference == pytest.approx(4 / SERIES, abs=0.06)
    assert gain.low < 0.1 < 0.3 < gain.high  # the large group is drawn several times, or not at all


def test_comparison_needs_a_change() -> None:
    nothing = TRUTH.without(np.ones(TRUTH.values.size, dtype=np.bool_))
    with pytest.raises(NotEnoughDataError, match="no change by hindsight"):
        compare_pairs("hindsight", alarms(1, nothing), alarms(1, nothing))


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
    lesson = Lesson(known, "verdicts and hindsight", 1, TRUTH, "verdicts")
    judged: list[Truth] = []

    def surprises_of(_online: Any, _confirm: Any, truth: Truth) -> Surprises:
        judged.append(truth)
        return surprises(16 if len(judged) == 1 else 4)

    monkeypatch.setattr(pair, "surprises_of", surprises_of)
    entry, _ = pair.beside_champion(lesson, pair_of(1), pair_of(2))
    unseen = known.held_out(1) & known.held_out(2)
    assert 0 < entry["changes"] == unseen[TRUTH.changes].sum() < TRUTH.changes.size
    for truth in judged:
        assert not truth.judged[~unseen].any()
    with pytest.raises(DataError, match="its model online has the features 'bauer8'"):
        pair.beside_champion(lesson, pair_of(1), pair_of(1, "bauer8"))

"""Marks become changes, quiet points and models; what is measured is what the detector does."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from alarm_counts import called
from algorithm_1 import Algorithm1
from operating_points import measure, point_at_rate

from barograph.detection.online import Answer, PendingSeries, make_judge
from barograph.detection.online.second_look import (
    FIRST_SCORED,
    SECOND_LOOK_WINDOWS,
    SecondLook,
    WindowScore,
    requests,
)
from barograph.features import feature_matrix
from barograph.learning.online.alarms import Raised, SecondLookAlarms, are_real, every_alarm
from barograph.learning.online.learn import Prior, learn, surprises_of
from barograph.learning.online.rows import ENOUGH, NAMES, WEIGHT, ExtraPositives, rows_of, sample
from barograph.learning.online.truth import Marked, Truth
from barograph.models import OnlineModels
from barograph.results.series import Floats
from barograph.runtime.errors import NotEnoughDataError
from tests.detection.online.models import sides_of
from tests.training.online_histories import forest, histories, learned


def flat(marks: tuple[tuple[int, ...], ...], length: int = 40) -> Truth:
    return Truth.of(Marked(np.zeros(length), np.array([0, length]), (marks,), np.array([0])))


def raised(*points: int, size: int = 40) -> Raised:
    return Raised.of(np.isin(np.arange(size), points))


def test_truth_excludes_points_near_marks_and_first_five_points() -> None:
    truth = flat(((20,), (20,), (30,)))
    assert truth.changes.tolist() == [20]
    assert np.flatnonzero(~truth.quiet).tolist() == [*range(5), *range(15, 36)]


def test_truth_disputes_marks_without_a_majority() -> None:
    truth = flat(((20,), (20,), (30,)))
    assert truth.disputed.tolist() == [30]
    assert truth.share[[19, 20, 30]].tolist() == [0.0, 1.0, 1 / 3]
    half = flat(((20,), ()))
    assert half.changes.size == 0
    assert half.share[20] == 0.5
    rest = truth.without(np.arange(40) == 30)
    assert rest.disputed.size == 0
    assert rest.share[30] == 0.0
    assert rest.changes.tolist() == [20]


def test_measure_counts_recall_and_false_alarms_by_time() -> None:
    truth = flat(((20,), (20,), (30,)))
    point = measure(truth, raised(3, 10, 15, 22, 32), 0.5)
    assert point.false_by_time == pytest.approx(1000 / 35)  # the alarm at 10
    assert point.recall == (0.0, 1.0, 1.0)
    assert measure(truth, raised(3, 10, 15, 32), 0.5).recall == (0.0, 0.0, 0.0)


def test_measure_counts_alarms_far_from_marks_and_twins_as_false_by_place() -> None:
    truth = flat(((20,), (20,), (30,)))
    late = Raised(np.array([21, 27, 31, 39]), np.array([19, 22, 31, 36]), np.zeros(4))
    point = measure(truth, late, 0.5)
    assert point.false_by_place == pytest.approx(2000 / 35)  # 22 is the second at 20; 36 is none
    assert point.false_by_time == pytest.approx(1000 / 35)
    assert measure(truth, raised(10, 15, 22), 0.5).false_by_place == pytest.approx(2000 / 35)


def test_change_is_known_from_an_alarm_that_points_near_it() -> None:
    truth = flat(((20,), (20,), (30,)))
    assert measure(truth, raised(16), 0.5).known == (1.0, 1.0, 1.0)
    assert measure(truth, Raised(np.array([22]), np.array([20]), np.zeros(1)), 0.5).known == (
        0.0,
        1.0,
        1.0,
    )
    assert measure(truth, Raised(np.array([25]), np.array([14]), np.zeros(1)), 0.5).known == (
        0.0,
        0.0,
        0.0,
    )


def test_measure_ignores_alarms_in_the_next_series() -> None:
    marks: tuple[tuple[tuple[int, ...], ...], ...] = (((38,),), ((2,),))
    truth = Truth.of(Marked(np.zeros(80), np.array([0, 40, 80]), marks, np.array([0, 1])))
    point = measure(truth, raised(46, size=80), 0.5)
    assert point.recall == (0.0, 0.0, 0.5)
    assert point.known == (0.0, 0.0, 0.5)
    assert measure(truth, raised(38, 46, size=80), 0.5).false_by_place == 0.0


def test_at_rate_never_exceeds_the_rate() -> None:
    rng = np.random.default_rng(0)
    truth = flat(((1000,),), 2000)
    score = rng.normal(size=2000)
    for rate in (1.0, 3.0, 10.0):
        point = point_at_rate(truth, every_alarm(score), rate, -9.0, 9.0)
        assert rate - 0.6 < point.false_by_place <= rate


def test_sample_holds_changes_and_weighted_quiet_rows() -> None:
    truth = Truth.of(histories())
    part = rows_of(truth, 2)
    assert part.y.sum() == truth.changes.size
    assert part.X[:, NAMES.index("window")].tolist() == [2.0] * part.splits.size
    quiet = ~truth.marked[part.splits] & ~truth.marked[part.newest]
    half = np.arange(truth.values.size) < truth.values.size // 2
    X, y, weights = sample([part], half, "confirm", np.random.default_rng(0))
    assert y.sum() == (truth.changes < truth.values.size // 2).sum()
    assert weights.sum() == pytest.approx(y.sum() + (quiet & half[part.splits]).sum())
    assert len(X) == len(y)


def disputed() -> Truth:
    """A step in the middle of noise that one of four people saw, and one that all saw."""
    values = np.random.default_rng(3).normal(size=120)
    values[60:] += 9.0
    values[100:] += 9.0
    marks = (((60, 100), (100,), (100,), (100,)), ((),))
    both = np.concatenate([values, values[::-1]])
    return Truth.of(Marked(both, np.array([0, 120, 240]), marks, np.array([0, 1])))


def test_extra_positives_put_each_following_point_in_place_of_the_change() -> None:
    truth = disputed()
    extra = ExtraPositives.of(truth)
    assert extra.changes.tolist() == [60] * 5 + [100] * 4
    assert extra.points.tolist() == [60, 61, 62, 63, 64, 101, 102, 103, 104]
    for row, change, point in zip(extra.X, extra.changes, extra.points, strict=True):
        alone = np.append(truth.values[:change], truth.values[point])
        expected = feature_matrix(alone, [0], [change], [change + 1], "online", threads=1)[0]
        assert row.tolist() == expected.astype(np.float32).tolist()


def test_extra_positives_weigh_classes_by_share_and_later_points_less() -> None:
    truth = disputed()
    extra = ExtraPositives.of(truth)
    _, y, weights = extra.sample(np.arange(truth.values.size) < 100)
    assert weights[y == 1].tolist() == [0.25] + [0.25 * WEIGHT] * 4
    assert weights[y == 0].tolist() == [0.75] + [0.75 * WEIGHT] * 4
    allowed = np.ones(truth.values.size, dtype=np.bool_)
    allowed[[60, 103]] = False
    X, y, weights = extra.sample(allowed)
    assert X.tolist() == extra.X[[5, 6, 8]].tolist()
    assert y.tolist() == [1, 1, 1]
    assert weights.tolist() == [WEIGHT] * 3


def test_extra_positives_end_with_the_series_and_at_the_next_change() -> None:
    offsets, groups = np.array([0, 40, 80]), np.array([0, 1])
    true = np.array([3, 20, 22, 38, 50])
    truth = Truth.of_verdicts(np.arange(80.0), offsets, groups, true=true, undecided=np.array([52]))
    extra = ExtraPositives.of(truth)
    assert extra.points.tolist() == [21, 23, 24, 25, 26, 39, 51, 52, 53, 54]
    assert extra.share.tolist() == [1.0] * 10


@pytest.mark.parametrize(("changes", "rows"), [(ENOUGH - 1, 4 * (ENOUGH - 1)), (ENOUGH, 0)])
def test_extra_positives_are_empty_with_enough_changes(changes: int, rows: int) -> None:
    offsets = np.arange(0, 10 * changes + 1, 10)
    one_each, nowhere = offsets[:-1] + 5, np.array([], dtype=np.int64)
    truth = Truth.of_verdicts(
        np.zeros(offsets[-1]), offsets, np.zeros_like(one_each), true=one_each, undecided=nowhere
    )
    extra = ExtraPositives.of(truth)
    assert extra.points.size == rows
    assert len(extra.sample(np.ones(offsets[-1], dtype=np.bool_))[0]) == rows


@pytest.mark.parametrize(
    ("group", "reason"), [(0, "1 group of series: nothing"), (1, "quiet points: 200 are needed")]
)
def test_histories_too_short_to_learn_from_are_refused_before_the_prior_is_read(
    group: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: tuple[tuple[tuple[int, ...], ...], ...] = (((20,),), ((20,),))
    values = np.random.default_rng(0).normal(size=80)
    truth = Truth.of(Marked(values, np.array([0, 40, 80]), marks, np.array([0, group])))
    monkeypatch.setattr(Prior, "samples", lambda *_: pytest.fail("the prior was read"))
    with pytest.raises(NotEnoughDataError, match=reason):
        learn(truth, prior=Prior(truth, 0.3))


def test_learned_models_find_unseen_steps() -> None:
    truth, models = learned()
    alarms = SecondLookAlarms(truth, models.surprises)
    assert point_at_rate(truth, alarms, 10.0, 0.0, 40.0).recall[1] > 0.7
    assert models.online.feature_set == "online"
    assert set(models.confirm.card["tails"]) == {"1", "2", "3", "5", "7", "10"}
    assert set(models.confirm.card["alarm_thresholds"]) == {"steady"}


def test_card_has_the_weights_of_the_windows() -> None:
    truth, _ = learned()
    weights = {0: 0.25, 2: 1.0, 5: 4.0}
    again = learn(truth, weights=weights)
    assert again.confirm.card["alarm_weights"] == {"0": 0.25, "2": 1.0, "5": 4.0}
    assert make_judge(OnlineModels(again.online, again.confirm)).budget.weights == weights


def test_alarms_near_doubtful_points_are_neither_real_nor_false() -> None:
    truth = flat(((10,), (10,), (25,)), 60)
    found = Raised(np.arange(4), np.array([11, 12, 26, 45]), np.zeros(4))
    real, known = are_real(truth, found)
    assert real.tolist() == [True, False, False, False]  # the second one is about the same change
    assert known.tolist() == [True, True, False, True]


def test_detector_raises_the_measured_alarms() -> None:
    _, models = learned()
    fresh = Truth.of(histories(1))
    surprises = surprises_of(models.online, models.confirm, fresh)
    judge = make_judge(OnlineModels(models.online, models.confirm), 10)
    expected = SecondLookAlarms(fresh, surprises)(judge.threshold)
    parts = np.split(fresh.values, fresh.offsets[1:-1])
    logs = judge.judge([PendingSeries(values, 0) for values in parts]).logs
    alarms = called(fresh, [log.steps for log in logs])
    assert alarms.points.tolist() == expected.points.tolist() != []
    assert alarms.places.tolist() == expected.places.tolist()


def test_alarms_at_any_threshold_are_those_of_the_second_look() -> None:
    rng = np.random.default_rng(4)
    offsets = np.array([0, 300, 301, 900])
    nowhere = np.array([], dtype=np.int64)
    truth = Truth.of_verdicts(
        rng.normal(size=900), offsets, np.arange(3), true=nowhere, undecided=nowhere
    )
    surprises = {w: 2.0 * rng.exponential(size=900) for w in (0, *SECOND_LOOK_WINDOWS)}
    for window, values in surprises.items():
        for first in offsets[:-1]:
            values[first : first + FIRST_SCORED + window] = -np.inf
    for threshold in (1.0, 4.0, 8.0):
        expected = second_look(truth, surprises, threshold)
        alarms, places, _ = SecondLookAlarms(truth, surprises)(threshold)
        assert list(zip(alarms.tolist(), places.tolist(), strict=True)) == expected
        assert expected


def second_look(
    truth: Truth, surprises: dict[int, Floats], threshold: float
) -> list[tuple[int, int]]:
    """Return the point and the place of each alarm, from the rule that the detector uses."""
    alarms = []
    for first, end in pairwise(truth.offsets.tolist()):
        rule, values = SecondLook(threshold), truth.values[first:end].tolist()
        for index in range(end - first):
            scores = [
                WindowScore(window, split, 0.5, float(surprises[window][first + index]))
                for window, split in requests(rule.state, index)
            ]
            answer, step = rule.advance(index, scores, partial(sides_of, values[: index + 1]))
            if answer is Answer.CHANGE and step is not None:
                alarms.append((first + index, first + step.index))
    return alarms


def test_truth_of_verdicts_excludes_undecided_and_left_out_points() -> None:
    offsets, groups = np.array([0, 40, 80]), np.array([0, 1])
    true, undecided = np.array([20]), np.array([38, 60])
    truth = Truth.of_verdicts(np.zeros(80), offsets, groups, true=true, undecided=undecided)
    assert truth.changes.tolist() == [20]
    assert np.flatnonzero(truth.marked).tolist() == [*range(15, 26), *range(33, 40), *range(55, 66)]
    rest = truth.without(np.arange(80) < 30)
    assert rest.changes.size == 0
    assert np.flatnonzero(rest.quiet).tolist() == [30, 31, 32, *range(45, 55), *range(66, 80)]


def test_twin_does_not_learn_from_held_out_points() -> None:
    _, whole = learned()
    histories_ = histories()
    held_out = np.arange(histories_.values.size) >= histories_.values.size // 2
    first = histories_.part(np.arange(len(histories_) // 2))
    both = learn(Truth.of(histories_), held_out=held_out, make=forest)
    alone = learn(Truth.of(first), make=forest)
    X = rows_of(Truth.of(histories(1)), 0).X[:, : len(alone.online.columns)].astype(np.float64)
    probability = [
        item.classifier.predict_proba(X)
        for item in (both.twins["online"], alone.online, both.online)
    ]
    np.testing.assert_array_equal(probability[0], probability[1])
    np.testing.assert_array_equal(probability[2], whole.online.classifier.predict_proba(X))
    assert both.confirm.card == both.twins["confirm"].card
    assert both.confirm.card["changes"] == alone.confirm.card["changes"]


def test_prior_adds_weighted_changes() -> None:
    fresh = Truth.of(histories(1))
    X, y, weights = Prior(fresh, 0.5).samples(0)["online"]
    assert (y == 1).sum() == fresh.changes.size
    assert weights[y == 1].tolist() == [0.5] * fresh.changes.size
    assert len(X) == len(y) > fresh.changes.size
    newest = Prior(fresh, 0.5, 3.0).samples(0)
    assert newest["online"][2].tolist() == (6.0 * weights).tolist()
    assert newest["confirm"][2].tolist() == Prior(fresh, 0.5).samples(0)["confirm"][2].tolist()


def test_algorithm_1_raises_fewer_alarms_at_a_higher_threshold() -> None:
    alarms = Algorithm1.learn(Truth.of(histories())).on(Truth.of(histories(1)))
    assert alarms(0.1).points.size > alarms(0.75).points.size
    assert alarms(0.95).points.size == 0


def test_learn_refuses_one_group_or_no_change() -> None:
    result = histories()
    alone = Marked(result.values, result.offsets, result.marks, np.zeros_like(result.groups))
    with pytest.raises(NotEnoughDataError, match="1 group"):
        learn(Truth.of(alone), make=forest)
    unmarked = Marked(result.values, result.offsets, (((), ()),) * len(result), result.groups)
    with pytest.raises(NotEnoughDataError, match="0 changes"):
        learn(Truth.of(unmarked), make=forest)

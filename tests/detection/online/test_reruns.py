"""The newest commit: a suspect, its reruns, and the same decisions one by one and in batches."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import (
    ANSWERS,
    Answer,
    BatchDecisions,
    Budget,
    Decision,
    OnlineJudge,
    PendingSeries,
    TailRates,
    make_judge,
    settle,
)
from barograph.models import OnlineModels
from barograph.results.series import Floats
from barograph.runtime.errors import DataError
from tests.detection.online.models import edge_pair, noise, quiet

FIRST, SECOND, BUDGET = edge_pair()
# The newest point may be a suspect, but is no alarm by itself: its score is at most 6.4 + ln 0.5.
NEWEST = TailRates(
    np.append(BUDGET.tails[0].logits, 25.0), np.append(BUDGET.tails[0].surprises, 6.4).clip(0, 6.4)
)
LATE = Budget({**BUDGET.tails, 0: NEWEST}, 6.0)
SHIPPED = OnlineModels.default()
Course = tuple[Floats, dict[int, Floats]]  # values, and the runs of some commits


def late_detector(values: Floats) -> OnlineDetector:
    """Return a detector that has seen some values, and raises no alarm without later ones."""
    detector = OnlineDetector(FIRST, SECOND, budget=LATE)
    for value in values:
        detector.update(float(value))
    return detector


def test_suspect_that_a_rerun_confirms_is_a_change() -> None:
    detector = late_detector(quiet(100))
    suspect = detector.update(112.0)
    assert (suspect.answer, suspect.index, suspect.reruns) == (Answer.SUSPECT, 100, 1)
    assert "beyond the last 80 results; none of 85 earlier" in str(suspect.departure)
    change = detector.repeat(111.0)
    assert (change.answer, change.index, change.reruns) == (Answer.CHANGE, 100, 0)
    assert change.probability > 0.9
    assert [point.index for point in detector.change_points] == [100]
    known = detector.update(111.5)
    assert (known.answer, known.known_since) == (Answer.QUIET, 100)


def test_suspect_that_a_rerun_refutes_is_a_spike() -> None:
    detector = late_detector(quiet(100))
    detector.update(112.0)
    settled = detector.repeat(100.0)
    assert (settled.answer, settled.surprise, settled.reruns) == (Answer.QUIET, 0.0, 0)
    assert detector.change_points == []
    assert len(detector) == 101
    assert detector.update(112.0).answer is Answer.SUSPECT  # the spike counts with 100


def test_two_more_runs_are_advised_if_the_first_rerun_lies_in_between() -> None:
    detector = late_detector(quiet(100))
    detector.update(112.0)
    between = detector.repeat(104.0)
    assert (between.answer, between.reruns) == (Answer.CHANGE, 2)
    detector.repeat(100.0)
    settled = detector.repeat(100.0)
    assert (settled.answer, settled.reruns, detector.steps) == (Answer.QUIET, 0, [])


def test_points_of_a_known_change_are_no_suspects() -> None:
    values = quiet(100)
    detector = late_detector(values)
    assert detector.update(112.0).answer is Answer.SUSPECT
    assert detector.repeat(112.0).is_change
    assert detector.update(113.0).answer is Answer.QUIET  # beyond all, but no farther
    assert detector.update(140.0).answer is Answer.SUSPECT


def test_repeat_needs_a_commit_and_a_number() -> None:
    detector, other = (late_detector(quiet(0)) for _ in range(2))
    with pytest.raises(DataError, match="no commit to repeat"):
        detector.repeat(1.0)
    for value in quiet(20):
        assert detector.update(value) == other.update(value)
    with pytest.raises(DataError, match=r"values\[0\] is nan"):
        detector.repeat(np.nan)
    assert detector.repeat(130.0) == other.repeat(130.0)


def restless(seed: int) -> Course:
    """Return noise with steps and spikes, and the runs of a third of its commits."""
    rng = np.random.default_rng(seed)
    values = noise(260, seed)
    for place in rng.integers(20, 250, 3):
        values[place:] += rng.choice([-9.0, 9.0])
    runs: dict[int, Floats] = {}
    for place in rng.choice(260, 90, replace=False).tolist():
        runs[place] = values[place] + rng.normal(size=rng.choice([2, 2, 2, 3, 4]))
    for place in rng.integers(12, 260, 8).tolist():
        values[place] += 12.0
    for place in rng.choice(list(runs), 20, replace=False).tolist():  # its reruns may come back
        ways = rng.choice([0.0, 0.5, 0.5, 1.0], runs[place].size)
        ways[0] = 1.0
        runs[place] += rng.choice([12.0, 40.0, 60.0]) * ways
    for place, results in runs.items():
        values[place] = results[0]
    return values, runs


def with_former_level(values: Floats, runs: Mapping[int, Floats], factor: float) -> Course:
    """Multiply the first and some later results, so that the history begins again twice."""
    scales = np.ones(values.size)
    scales[:70] = scales[150:158] = factor
    return values * scales, {place: results * scales[place] for place, results in runs.items()}


def one_by_one(values: Floats, runs: Mapping[int, Floats], **options: Any) -> list[Decision]:
    detector = OnlineDetector(FIRST, SECOND, **options)
    decisions = []
    for index, value in enumerate(values.tolist()):
        decision = detector.update(value)
        for result in runs.get(index, values[:0])[1:]:
            decision = detector.repeat(float(result))
        decisions.append(decision)
    return decisions


def in_chunks(
    values: Floats, runs: Mapping[int, Floats], cuts: list[int], judge: OnlineJudge
) -> list[BatchDecisions]:
    """Decide chunk by chunk; each starts from the settled values and the state before it."""
    known, state, logs = values[:0], None, []
    for begin, end in zip([0, *cuts], [*cuts, values.size], strict=True):
        fresh = {place: point_runs for place, point_runs in runs.items() if begin <= place < end}
        result = np.concatenate([known, values[begin:end]])
        pending = PendingSeries(result, begin, state=state, runs=fresh)
        log = judge.judge([pending])
        known, state = np.concatenate([known, log.settled]), log.logs[0].state
        logs.append(log)
    return logs


@pytest.mark.parametrize(
    ("seed", "history", "factor"), [(1, 64, 1.0), (2, 500, 1.0), (3, 128, 0.05), (2, 500, 3.0)]
)
@pytest.mark.parametrize("budget", [BUDGET, LATE], ids=["newest", "later"])
def test_batches_with_runs_equal_repeat_to_the_bit(
    seed: int, history: int, factor: float, budget: Budget
) -> None:
    values, runs = with_former_level(*restless(seed), factor)
    expected = one_by_one(values, runs, budget=budget, history=history)
    cuts = sorted(np.random.default_rng(seed).choice(range(1, 260), 6, replace=False).tolist())
    for chunks in ([], cuts):
        logs = in_chunks(values, runs, chunks, OnlineJudge(FIRST, SECOND, budget, history))
        for name in ("surprise", "probability", "reruns"):
            whole = np.concatenate([getattr(log, name) for log in logs])
            assert whole.tolist() == [getattr(d, name) for d in expected]
        assert [ANSWERS[k] for log in logs for k in log.answer] == [d.answer for d in expected]
        assert [since for log in logs for since in log.known_since] == [
            -1 if d.known_since is None else d.known_since for d in expected
        ]
        steps = [step for log in logs for step in log.logs[0].steps]
        assert steps == [step for d in expected for step in d.steps]
    assert {d.answer for d in expected} >= {Answer.CHANGE, Answer.QUIET}
    assert budget is BUDGET or Answer.SUSPECT in {d.answer for d in expected}
    assert {d.reruns for d in expected} >= {0, 2}


def test_batch_settles_each_commit_by_the_settled_ones_before_it() -> None:
    values, runs = restless(4)
    pending = PendingSeries(values, 0, runs=runs)
    settled = OnlineJudge(FIRST, SECOND, BUDGET).judge([pending]).settled
    for index, value in enumerate(settled.tolist()):
        result = settle(settled[:index], runs.get(index, values[index : index + 1]))
        assert value == result.value
    assert pending.values is values  # the caller's array is unchanged
    assert (settled != values).any()


@pytest.mark.parametrize(("size", "least"), [(8.0, 0.95), (12.0, 1.0), (20.0, 1.0)])
def test_jump_after_80_gaussian_points_is_a_change_or_suspect(size: float, least: float) -> None:
    rng = np.random.default_rng(80)
    histories = [rng.normal(100.0, 1.0, 81) for _ in range(60)]
    for k, values in enumerate(histories):
        values[80] = 100.0 + size * (-1) ** k
    assert share_detected(histories) >= least


def test_doubled_newest_value_is_a_change_or_suspect() -> None:
    rng = np.random.default_rng(5)
    histories = []
    for _ in range(40):  # a noisy runner: lognormal noise, two modes, spikes, a step long ago
        values = 50.0 * np.exp(0.04 * rng.standard_normal(250))
        values[rng.random(250) < 0.3] *= 1.08
        values[rng.random(250) < 0.01] *= rng.uniform(1.2, 1.6)
        values[60:] *= 0.9
        histories.append(np.append(values, 2.0 * values[-30:].mean()))
    assert share_detected(histories) >= 0.95


def share_detected(histories: list[Floats]) -> float:
    """Return the share of histories whose newest point the shipped pair does not call quiet."""
    pending = [PendingSeries(values, values.size - 1) for values in histories]
    log = make_judge(SHIPPED).judge(pending)
    return float((log.answer != ANSWERS.index(Answer.QUIET)).mean())


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([100.0, 112.0], Answer.QUIET),  # the runs contradict each other
        ([106.0, 106.5], Answer.CHANGE),
        ([100.0, 112.0, 100.5], Answer.QUIET),
        ([105.9, 106.0, 106.2, 130.0], Answer.CHANGE),  # one of them is a spike
    ],
)
def test_runs_that_differ_as_much_as_from_the_level_are_no_change(
    runs: list[float], expected: Answer
) -> None:
    detector = late_detector(quiet(100))
    decision = detector.update(runs[0])
    for value in runs[1:]:
        decision = detector.repeat(value)
    assert decision.answer is expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("points", [2, 5, 7])
def test_step_back_that_reruns_confirm_is_a_change_beside_the_one_it_ends(
    points: int, seed: int
) -> None:
    values = 100 + np.random.default_rng(seed).standard_normal(60 + points)
    values[60:] += 10
    detector = OnlineDetector()
    detector.update_many(values)
    decisions = [detector.update(60.0), detector.repeat(60.0), detector.repeat(60.0)]
    assert (decisions[-1].answer, decisions[-1].index) == (Answer.CHANGE, values.size)

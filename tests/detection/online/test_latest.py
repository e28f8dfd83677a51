"""The newest decisions from a short stretch of each history are those of the whole history."""

import numpy as np
import pytest

from barograph.detection.online import (
    Answer,
    OnlineDetector,
    PendingSeries,
    latest,
    make_judge,
)
from barograph.detection.online.decision import changes_of
from barograph.detection.online.latest import judge_latest
from barograph.models import OnlineModels
from barograph.results.series import Floats

JUDGE = make_judge(OnlineModels.default())


def busy(seed: int, length: int = 150) -> Floats:
    """Return noise with a step about every 12 points, so that alarms follow each other closely.

    With an odd seed, the first points are ten times as high.
    """
    rng = np.random.default_rng(seed)
    steps = rng.choice([0.0, 6.0, -6.0, 10.0], length) * (rng.random(length) < 0.08)
    scales = np.where(np.arange(length) < 40, 1.0 + 9.0 * (seed % 2), 1.0)
    return scales * (100 + np.cumsum(steps) + rng.standard_normal(length))


def cuts() -> list[Floats]:
    return [busy(seed)[:end] for seed in range(5) for end in range(6, 151, 3)]


@pytest.mark.parametrize("look_back", [latest.FORGOTTEN, latest.LOOK_BACK])
def test_decision_is_that_of_a_replay_of_the_whole_history(
    look_back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest, "LOOK_BACK", look_back)
    result = judge_latest(JUDGE, [(values, {}) for values in cuts()], [1] * len(cuts()))
    whole = JUDGE.judge([PendingSeries(values, 0) for values in cuts()])
    end = 0
    for point, values, log in zip(result, cuts(), whole.logs, strict=True):
        end += values.size
        assert point.probability == whole.probability[end - 1]
        assert (point.answer is Answer.CHANGE) == (values.size - 1 in log.alarms)
        known = int(whole.known_since[end - 1])
        assert point.known_since == (None if known < 0 else known)
        since = values.size - 1 - max(0, look_back - latest.FORGOTTEN - 3)
        recent = [step for step in log.steps if step.newest >= since]
        steps = [step for step in point.steps if step.newest >= since]
        assert [(step.kind, step.index, step.newest, step.moved_from) for step in steps] == [
            (step.kind, step.index, step.newest, step.moved_from) for step in recent
        ]
        assert point.baseline_size == whole.baseline_size[end - 1]
    assert {point.answer for point in result} >= {Answer.CHANGE, Answer.QUIET}
    assert any(point.known_since is not None for point in result)


def test_change_stands_until_it_is_withdrawn() -> None:
    values = 100 + np.random.default_rng(3).standard_normal(63)
    values[57:] += 20
    [actual] = judge_latest(JUDGE, [(values, {})], [6])
    [change] = changes_of(actual.steps)
    assert (actual.answer, actual.known_since, change.index) == (Answer.QUIET, 57, 57)
    assert change.stands
    assert change.steps[0].newest <= 59
    spike = values.copy()
    spike[59:] -= 20
    [actual] = judge_latest(JUDGE, [(np.append(spike, [100.0] * 8), {})], [12])
    assert not any(change.stands for change in changes_of(actual.steps))


@pytest.mark.parametrize("former", [100.0, 3000.0])
def test_runs_are_settled_as_the_detector_settles_them(former: float) -> None:
    rng = np.random.default_rng(5)
    level = np.repeat([former, 100.0, 108.0], [20, 40, 30])
    draws = level[:, None] + rng.standard_normal((90, 3))
    spikes = rng.random(90) < 0.1
    draws[spikes, 0] *= 1.3
    counts = rng.integers(1, 4, 90)
    series = [row[:count] for row, count in zip(draws, counts.tolist(), strict=True)]
    detector = OnlineDetector(JUDGE.model, confirm=JUDGE.confirm, budget=JUDGE.budget)
    for end, results in enumerate(series, 1):
        decision = detector.update(float(results[0]))
        for result in results[1:].tolist():
            decision = detector.repeat(result)
        if end < 15:
            continue
        values = np.array([np.median(item) for item in series[:end]])
        runs = {place: item for place, item in enumerate(series[:end]) if item.size > 1}
        [actual] = judge_latest(JUDGE, [(values, runs)], [1])
        assert (actual.answer, actual.reruns) == (decision.answer, decision.reruns)
        assert actual.probability == pytest.approx(decision.probability, abs=1e-12)
        assert actual.known_since == decision.known_since
        if actual.answer is Answer.CHANGE:
            assert actual.steps[-1].index == decision.index


def test_every_change_among_the_newest_points_is_returned() -> None:
    levels = np.repeat([100.0, 70.0, 80.0], [120, 10, 12])
    values = levels + np.random.default_rng(0).standard_normal(levels.size)
    [actual] = judge_latest(JUDGE, [(values, {})], [25])
    standing = [change.index for change in changes_of(actual.steps) if change.stands]
    assert standing == [120, 130]


def test_number_of_judged_points_may_differ_between_histories() -> None:
    together = judge_latest(JUDGE, [(busy(0), {}), (busy(1), {})], [1, 90])
    alone = [
        judge_latest(JUDGE, [(busy(0), {})], [1])[0],
        judge_latest(JUDGE, [(busy(1), {})], [90])[0],
    ]
    assert [item.steps for item in together] == [item.steps for item in alone]
    assert len(together[1].steps) > len(together[0].steps)

"""The newest decisions from a short stretch of each history are those of the whole history."""

import numpy as np
import pytest

from barograph.detection.online import (
    Answer,
    OnlineDetector,
    PendingSeries,
    SecondLookConfig,
    latest,
    make_judge,
)
from barograph.detection.online.batch import advance_all
from barograph.detection.online.latest import JudgedHistory, judge_latest
from barograph.models import OnlineModels
from barograph.series import Floats

JUDGE, _ = make_judge(OnlineModels.default(), SecondLookConfig())


def busy(seed: int, length: int = 150) -> Floats:
    """Return noise with a step about every 12 points, so that alarms follow each other closely."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0.0, 6.0, -6.0, 10.0], length) * (rng.random(length) < 0.08)
    return 100 + np.cumsum(steps) + rng.standard_normal(length)


def cuts() -> list[Floats]:
    return [busy(seed)[:end] for seed in range(5) for end in range(6, 151, 3)]


@pytest.mark.parametrize("look_back", [latest.FORGOTTEN, latest.LOOK_BACK])
def test_decision_is_that_of_a_replay_of_the_whole_history(
    look_back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest, "LOOK_BACK", look_back)
    found = judge_latest(JUDGE, [JudgedHistory(values) for values in cuts()])
    pending = [PendingSeries(values, 0, 0) for values in cuts()]
    whole = advance_all(pending, JUDGE.model, JUDGE.confirm, JUDGE.budget, history=JUDGE.history)
    end = 0
    for one, values, log in zip(found, cuts(), whole.logs, strict=True):
        end += values.size
        assert one.probability == whole.probability[end - 1]
        assert (one.answer is Answer.CHANGE) == (values.size - 1 in log.alarms)
        assert one.is_known == (whole.known_since[end - 1] >= 0)
        if one.is_known:
            assert one.change == whole.known_since[end - 1]
        assert one.baseline_size == whole.baseline_size[end - 1]
    assert {one.answer for one in found} >= {Answer.CHANGE, Answer.QUIET}
    assert any(one.is_known for one in found)


def test_changes_found_at_any_of_the_newest_points_count_while_they_stand() -> None:
    values = 100 + np.random.default_rng(3).standard_normal(63)
    values[57:] += 20
    one, three, many = (
        judge_latest(JUDGE, [JudgedHistory(values)], count)[0] for count in (1, 3, 6)
    )
    assert (one.answer, one.is_known, one.change) == (Answer.QUIET, True, 57)
    assert (three.answer, three.is_known) == (Answer.QUIET, True)
    assert (many.answer, many.is_known, many.change) == (Answer.CHANGE, False, 57)
    spike = values.copy()
    spike[59:] -= 20
    withdrawn = judge_latest(JUDGE, [JudgedHistory(np.append(spike, [100.0] * 8))], 12)[0]
    assert withdrawn.answer is Answer.QUIET


def test_judge_without_a_second_look_reads_the_whole_history() -> None:
    judge, _ = make_judge(OnlineModels.default(), None)
    found = judge_latest(judge, [JudgedHistory(busy(0)[:end]) for end in range(100, 150)])
    assert {one.answer for one in found} == {Answer.CHANGE, Answer.QUIET}
    assert all(not one.is_known for one in found)


def test_runs_are_settled_as_the_detector_settles_them() -> None:
    rng = np.random.default_rng(5)
    level = 100 + 8.0 * (np.arange(90) >= 60)
    draws = level[:, None] + rng.standard_normal((90, 3))
    spikes = rng.random(90) < 0.1
    draws[spikes, 0] *= 1.3
    counts = rng.integers(1, 4, 90)
    series = [row[:count] for row, count in zip(draws, counts.tolist(), strict=True)]
    assert JUDGE.confirm is not None
    detector = OnlineDetector(JUDGE.model, confirm=JUDGE.confirm, budget=JUDGE.budget)
    for end, results in enumerate(series, 1):
        decision = detector.update(float(results[0]))
        for result in results[1:].tolist():
            decision = detector.repeat(result)
        if end < 15:
            continue
        values = np.array([np.median(one) for one in series[:end]])
        runs = {place: one for place, one in enumerate(series[:end]) if one.size > 1}
        [found] = judge_latest(JUDGE, [JudgedHistory(values, runs)])
        assert (found.answer, found.reruns) == (decision.answer, decision.reruns)
        assert found.probability == pytest.approx(decision.probability, abs=1e-12)
        assert found.is_known == (decision.known_since is not None)
        if found.answer is not Answer.SUSPECT:
            assert found.change == decision.index


def test_every_change_that_the_newest_points_reported_and_that_stands_is_returned() -> None:
    levels = np.repeat([100.0, 70.0, 80.0], [120, 10, 12])
    values = levels + np.random.default_rng(0).standard_normal(levels.size)
    found = judge_latest(JUDGE, [JudgedHistory(values)], 25)[0]
    assert found.answer is Answer.CHANGE
    assert [*(step.index for step in found.earlier), found.change] == [120, 130]

"""The newest decisions from a short stretch of each history are those of the whole history."""

import numpy as np
import pytest

from barograph.detection.online import Answer, PendingSeries, SecondLookConfig, latest, make_judge
from barograph.detection.online.batch import advance_all
from barograph.detection.online.latest import judge_latest
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
    found = judge_latest(JUDGE, cuts())
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
    one, three, many = (judge_latest(JUDGE, [values], count)[0] for count in (1, 3, 6))
    assert (one.answer, one.is_known, one.change) == (Answer.QUIET, True, 57)
    assert (three.answer, three.is_known) == (Answer.QUIET, True)
    assert (many.answer, many.is_known, many.change) == (Answer.CHANGE, False, 57)
    spike = values.copy()
    spike[59:] -= 20
    withdrawn = judge_latest(JUDGE, [np.append(spike, [100.0] * 8)], 12)[0]
    assert withdrawn.answer is Answer.QUIET


def test_judge_without_a_second_look_reads_the_whole_history() -> None:
    judge, _ = make_judge(OnlineModels.default(), None)
    found = judge_latest(judge, [busy(0)[:end] for end in range(100, 150)])
    assert {one.answer for one in found} == {Answer.CHANGE, Answer.QUIET}
    assert all(not one.is_known for one in found)

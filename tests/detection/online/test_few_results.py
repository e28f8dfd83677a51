"""With fewer than 15 earlier results, a single unusual result is a suspect and not a change."""

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import (
    ANSWERS,
    Answer,
    BatchDecisions,
    PendingSeries,
    make_judge,
    second_look,
)
from barograph.models import OnlineModels
from barograph.results.series import Ints

JUDGE = make_judge(OnlineModels.default())
DRAWS, AFTER = 40, 6
EARLIER = [*range(5, 13)]


def judged(factor: float, lasting: int) -> BatchDecisions:
    """Judge series whose results are 1 % noise, times a factor for some after the earlier ones."""
    pending = []
    for earlier in EARLIER:
        rng = np.random.default_rng(earlier)
        values = 100.0 + rng.standard_normal((DRAWS, earlier + AFTER))
        values[:, earlier : earlier + lasting] *= factor
        pending += [PendingSeries(row, 0) for row in values]
    return JUDGE.judge(pending)


def answers_from_the_result(batch: BatchDecisions, number: int) -> Ints:
    """Return the answers on the result after the earlier ones and those that follow it."""
    sizes = np.repeat([earlier + AFTER for earlier in EARLIER], DRAWS)
    assert sizes.sum() == batch.answer.size
    ends = np.cumsum(sizes)
    return np.stack([batch.answer[end - AFTER : end][:number] for end in ends]).astype(np.int64)


SUSPECT, CHANGE = ANSWERS.index(Answer.SUSPECT), ANSWERS.index(Answer.CHANGE)


@pytest.mark.parametrize(
    ("factor", "earlier", "least"), [(1.1, 5, 0.05), (1.3, 8, 0.9), (2.0, 5, 0.95), (0.5, 5, 0.95)]
)
def test_spike_is_a_suspect_and_what_follows_it_is_quiet(
    factor: float, earlier: int, least: float
) -> None:
    batch = judged(factor, lasting=1)
    answers = answers_from_the_result(batch, AFTER)
    known = np.repeat(EARLIER, DRAWS) >= earlier
    assert (answers[known, 0] == SUSPECT).mean() >= least
    assert (answers[:, 0] == CHANGE).mean() <= 0.02
    assert (answers[:, 1] != 0).mean() <= 0.02
    assert np.mean([bool(log.change_points) for log in batch.logs]) <= 0.05


@pytest.mark.parametrize("factor", [1.1, 1.3, 2.0])
def test_step_that_stays_is_a_change_once_two_results_follow(factor: float) -> None:
    batch = judged(factor, lasting=AFTER)
    answers = answers_from_the_result(batch, 4)
    assert (answers[:, :2] == CHANGE).mean() <= 0.02
    assert (answers[:, 2:] == CHANGE).any(axis=1).mean() >= 0.95
    places = np.repeat(EARLIER, DRAWS).tolist()
    found = [log.change_points[-1:] for log in batch.logs]
    near = [
        points != [] and abs(points[0] - at) <= 1 for points, at in zip(found, places, strict=True)
    ]
    assert np.mean(near) >= 0.95


def test_further_runs_settle_a_suspect() -> None:
    values = 100.0 + np.random.default_rng(3).standard_normal(8)
    for reruns, answer in (([150.5, 149.4], Answer.CHANGE), ([100.2, 99.9], Answer.QUIET)):
        detector = OnlineDetector()
        detector.update_many(values)
        decision = detector.update(150.0)
        assert (decision.answer, decision.reruns, decision.steps) == (Answer.SUSPECT, 1, ())
        for run in reruns:
            decision = detector.repeat(run)
        assert decision.answer is answer


def test_result_back_at_the_level_before_a_change_is_no_suspect() -> None:
    rng = np.random.default_rng(4)
    values = 100.0 + 0.5 * rng.standard_normal(16)
    values[8:11] += 40.0
    detector = OnlineDetector()
    decisions = detector.update_many(values[:12])
    answers = [d.answer for d in decisions[8:]]
    assert (answers[0], *answers[2:]) == ("suspect", "change", "quiet")


def test_state_with_a_change_after_few_results_can_be_continued() -> None:
    values = 100.0 + np.random.default_rng(5).standard_normal(30)
    values[8:] *= 1.3
    detector = OnlineDetector()
    detector.update_many(values[:11])
    again = OnlineDetector.from_state(detector.state())
    assert again.update_many(values[11:]) == detector.update_many(values[11:])


def test_results_with_at_least_fifteen_before_them_are_judged_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(6)
    pending = []
    for place in rng.integers(15, 40, size=60):
        values = 100.0 + rng.standard_normal(60)
        values[place:] *= 1.2
        values[rng.integers(15, 60)] *= 1.4
        pending.append(PendingSeries(values, 15))
    actual = JUDGE.judge(pending)
    monkeypatch.setattr(second_look, "FEW", 0)
    expected = JUDGE.judge(pending)
    for mine, theirs in zip(actual[:-1], expected[:-1], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert actual.logs == expected.logs
    assert actual.is_change.sum() > 60

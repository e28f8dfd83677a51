"""The judge of the store decides on many series as the detector does on each."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.detection.online import (
    Answer,
    OnlineDetector,
    OnlineJudge,
    PendingSeries,
    decide,
    make_judge,
)
from barograph.models import OnlineModels
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, DataError
from tests.detection.online.models import edge_judge, edge_model, edge_pair, paper_model


def walks(seed: int, count: int, length: int) -> list[Floats]:
    random = np.random.default_rng(seed)
    steps = random.choice([0.0, 18.0, -15.0], size=(count, length), p=[0.94, 0.03, 0.03])
    sizes = random.integers(1, length + 1, size=count)
    return [
        random.normal(size=size) + row[:size].cumsum()
        for row, size in zip(steps, sizes, strict=True)
    ]


def test_judge_equals_the_detector_on_each_series() -> None:
    series = walks(0, 40, 120)
    judged = edge_judge().judge([PendingSeries(values, 0) for values in series])
    first, answers = 0, set()
    for values, log in zip(series, judged.logs, strict=True):
        detector = OnlineDetector(*edge_pair()[:2], budget=edge_pair()[2])
        decisions = detector.update_many(values)
        part = slice(first, first + values.size)
        assert judged.probability[part].tolist() == [d.probability for d in decisions]
        assert judged.is_change[part].tolist() == [d.is_change for d in decisions]
        assert judged.reruns[part].tolist() == [d.reruns for d in decisions]
        known = [-1 if d.known_since is None else d.known_since for d in decisions]
        assert judged.known_since[part].tolist() == known
        assert log.alarms == [d.newest for d in decisions if d.is_change]
        assert log.steps == detector.steps
        answers |= {decision.answer for decision in decisions}
        first += values.size
    assert answers == set(Answer)


@given(seed=st.integers(0, 2**32), cut=st.integers(1, 79), history=st.integers(64, 70))
def test_two_calls_equal_one_call(seed: int, cut: int, history: int) -> None:
    [values] = walks(seed, 1, 80)
    judge = edge_judge(history)
    whole = judge.judge([PendingSeries(values, 0)])
    first = judge.judge([PendingSeries(values[:cut], 0)])
    if cut < values.size:
        then = judge.judge([PendingSeries(values, cut, state=first.logs[0].state)])
        for name in ("probability", "known_since", "answer", "baseline_size"):
            parts = np.concatenate([getattr(first, name), getattr(then, name)])
            assert parts.tolist() == getattr(whole, name).tolist()
        assert first.logs[0].steps + then.logs[0].steps == whole.logs[0].steps
        assert first.logs[0].alarms + then.logs[0].alarms == whole.logs[0].alarms
    assert whole.baseline_size.max() <= history


def test_decisions_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "ROWS_PER_THREAD", 7)
    stretches = [PendingSeries(values, values.size // 2) for values in walks(3, 60, 50)]
    alone, several = (replace(edge_judge(), threads=threads) for threads in (1, 3))
    item, other = alone.judge(stretches), several.judge(stretches)
    for mine, theirs in zip(item, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert item.is_change.any()


def test_judge_accepts_no_series_and_a_single_point() -> None:
    assert edge_judge().judge([]).probability.size == 0
    only = edge_judge().judge([PendingSeries(np.array([4.0]), 0)])
    assert only.probability.tolist() == [0.0]
    assert only.baseline_size.tolist() == [0]


def test_judge_takes_version_and_threshold_from_both_models() -> None:
    models = OnlineModels.default()
    assert models.confirm is not None
    judge = make_judge(models)
    assert judge.version == f"{models.newest.version}+{models.confirm.version}"
    assert judge.threshold == models.confirm.card["alarm_thresholds"]["steady"]["3"]
    assert make_judge(models, 10).threshold < judge.threshold < make_judge(models, 1).threshold


def test_models_that_cannot_judge_are_refused() -> None:
    with pytest.raises(DataError, match="holds no confirming model: train both models again with"):
        make_judge(OnlineModels(OnlineModels.default().newest))
    _, confirm, budget = edge_pair()
    with pytest.raises(ConfigError, match="'bauer8' depends on earlier alarms"):
        OnlineJudge(paper_model(), confirm, budget)
    with pytest.raises(ConfigError, match="need one of online, confirm"):
        OnlineJudge(edge_model(), paper_model(), budget)

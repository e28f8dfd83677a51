"""The judge of the store decides on many series as the detector does on each."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from barograph.detection.online import (
    OnlineDetector,
    OnlineJudge,
    PendingSeries,
    batch,
    pending,
    replay_many,
)
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import TriageModel
from barograph.models.catalogue import classifier
from barograph.models.kinds import from_fitted
from barograph.models.trees import Forest
from barograph.results.series import Floats, Ints
from tests.detection.online.models import HandMade, hand_made


class Distance(HandMade):
    """How far After is from the mean of Pre."""

    def real(self, matrix: Floats) -> Floats:
        return np.tanh(np.abs(matrix[:, 0]))


MODEL = hand_made(Distance(), "step", 0.99)


def step(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, feature_set: str, threads: int
) -> Floats:
    assert feature_set == "step"
    assert (ends == splits + 1).all()
    rows = zip(starts, splits, strict=True)
    return np.array([[values[split] - values[start:split].mean()] for start, split in rows])


@pytest.fixture(autouse=True, scope="module")
def quick_features() -> Iterator[None]:
    """The real ones take long to compile, and add nothing to what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "feature_matrix", step)
        yield


def walks(seed: int, count: int, length: int) -> list[Floats]:
    random = np.random.default_rng(seed)
    steps = random.choice([0.0, 8.0, -5.0], size=(count, length), p=[0.94, 0.03, 0.03])
    sizes = random.integers(1, length + 1, size=count)
    return [
        random.normal(size=size) + row[:size].cumsum()
        for row, size in zip(steps, sizes, strict=True)
    ]


@pytest.mark.parametrize("together", [300, pending.VALUES_PER_BATCH])
def test_judge_equals_replay_of_each_series(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "VALUES_PER_BATCH", together)
    series = walks(0, 40, 120)
    judged = OnlineJudge(MODEL).judge([PendingSeries(values, 0, 0) for values in series])
    first = 0
    for values, log in zip(series, judged.logs, strict=True):
        [replayed] = replay_many(MODEL, [values])
        probability, actual = replayed.probability, replayed.change_points
        part = slice(first, first + values.size)
        assert judged.probability[part].tolist() == probability.tolist()
        assert np.flatnonzero(judged.is_change[part]).tolist() == actual.tolist()
        assert log.alarms == actual.tolist()
        first += values.size
    assert judged.is_change.any()


@given(seed=st.integers(0, 2**32), cut=st.integers(1, 79), history=st.integers(2, 60))
def test_two_calls_equal_one_call(seed: int, cut: int, history: int) -> None:
    [values] = walks(seed, 1, 80)
    judge = OnlineJudge(MODEL, history)
    whole = judge.judge([PendingSeries(values, 0, 0)])
    first = judge.judge([PendingSeries(values[:cut], 0, 0)])
    if cut < values.size:
        start = first.logs[0].alarms[-1] if first.logs[0].alarms else 0
        then = judge.judge([PendingSeries(values, cut, start)])
        assert [*first.probability, *then.probability] == whole.probability.tolist()
        assert [*first.baseline_size, *then.baseline_size] == whole.baseline_size.tolist()
        assert first.logs[0].alarms + then.logs[0].alarms == whole.logs[0].alarms
    assert whole.baseline_size.max() <= history


@pytest.mark.parametrize("feature_set", ["bauer8", "online"])
def test_decisions_do_not_depend_on_the_number_of_threads(
    feature_set: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "feature_matrix", feature_matrix)
    monkeypatch.setattr(batch, "ROWS_PER_THREAD", 7)
    random = np.random.default_rng(0)
    columns = FEATURE_SETS[feature_set]
    rows = random.normal(size=(200, len(columns)))
    fitted = classifier("logistic", seed=0, trees=1).fit(rows, (rows[:, 0] > 0).astype(int))
    model = TriageModel("online", feature_set, columns, 0.7, from_fitted(fitted))
    stretches = [PendingSeries(values, values.size // 2, 0) for values in walks(3, 60, 50)]
    alone, several = (OnlineJudge(model, threads=threads) for threads in (1, 3))
    item, other = alone.judge(stretches), several.judge(stretches)
    for mine, theirs in zip(item, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert item.is_change.any()


def test_judge_accepts_no_series_and_a_single_point() -> None:
    assert OnlineJudge(MODEL).judge([]).probability.size == 0
    only = OnlineJudge(MODEL).judge([PendingSeries(np.array([4.0]), 0, 0)])
    assert only.probability.tolist() == [0.0]
    assert only.baseline_size.tolist() == [0]


def test_judge_takes_version_and_threshold_from_the_model() -> None:
    random = np.random.default_rng(0)
    columns = FEATURE_SETS["leznik"]
    rows = random.normal(size=(50, len(columns)))
    forest = RandomForestClassifier(3, random_state=0).fit(rows, rows[:, 0] > 0)
    model = TriageModel("online", "leznik", columns, 0.7, Forest.of(forest))
    judge = OnlineJudge(model)
    assert (judge.version, judge.threshold) == (model.version, 0.7)


def test_judge_with_regime_features_equals_the_detector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "feature_matrix", feature_matrix)
    model = TriageModel.default("online")
    series = [values for values in walks(5, 12, 60) if values.size > 8]
    judged = OnlineJudge(model).judge([PendingSeries(values, 0, 0) for values in series])
    expected = []
    for values in series:
        detector = OnlineDetector(model)
        expected += [detector.update(value).probability for value in values.tolist()]
    assert judged.probability.tolist() == expected
    assert judged.is_change.any()

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from barograph.detection.online import OnlineDetector, judge, newest, replay
from barograph.detection.online.judge import OnlineJudge, Stretch
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import TriageModel
from barograph.models.flat import FlatForest
from barograph.models.flat_linear import FlatLinear
from barograph.series import Floats, Ints


@dataclass(frozen=True)
class Changed:
    """A model that looks at how far After lies from the mean of Pre."""

    feature_set: str = "step"
    threshold: float = 0.99

    def predict_proba(self, matrix: Floats) -> Floats:
        real = np.tanh(np.abs(matrix[:, 0]))
        return np.column_stack([1 - real, real])


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
        patch.setattr(newest, "feature_matrix", step)
        yield


def walks(seed: int, count: int, length: int) -> list[Floats]:
    random = np.random.default_rng(seed)
    steps = random.choice([0.0, 8.0, -5.0], size=(count, length), p=[0.94, 0.03, 0.03])
    sizes = random.integers(1, length + 1, size=count)
    return [
        random.normal(size=size) + row[:size].cumsum()
        for row, size in zip(steps, sizes, strict=True)
    ]


@pytest.mark.parametrize("together", [300, judge.TOGETHER])
def test_many_series_in_one_call_are_judged_as_each_alone(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "TOGETHER", together)
    series = walks(0, 40, 120)
    judged = OnlineJudge(Changed(), "v").judge([Stretch(values, 0, 0) for values in series])
    at = 0
    for values, start in zip(series, judged.starts, strict=True):
        replayed = replay(Changed(), values)
        probability, found = replayed.probability, replayed.change_points
        part = slice(at, at + values.size)
        assert judged.probability[part].tolist() == probability.tolist()
        assert np.flatnonzero(judged.change[part]).tolist() == found.tolist()
        assert start == (found[-1] if found.size else 0)
        at += values.size
    assert judged.change.any()


@given(seed=st.integers(0, 2**32), cut=st.integers(1, 79), history=st.integers(2, 60))
def test_going_on_says_what_one_go_says(seed: int, cut: int, history: int) -> None:
    [values] = walks(seed, 1, 80)
    judge = OnlineJudge(Changed(), "v", history)
    whole = judge.judge([Stretch(values, 0, 0)])
    first = judge.judge([Stretch(values[:cut], 0, 0)])
    if cut < values.size:
        then = judge.judge([Stretch(values, cut, first.starts[0])])
        assert [*first.probability, *then.probability] == whole.probability.tolist()
        assert [*first.pre, *then.pre] == whole.pre.tolist()
        assert then.starts == whole.starts
    assert whole.pre.max() <= history


@pytest.mark.parametrize("feature_set", ["bauer8", "online"])
def test_the_answers_do_not_depend_on_how_many_threads_judge(
    feature_set: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "feature_matrix", feature_matrix)
    monkeypatch.setattr(newest, "WORTH_A_THREAD", 7)
    random = np.random.default_rng(0)
    columns = FEATURE_SETS[feature_set]
    rows = random.normal(size=(200, len(columns)))
    fitted = LogisticRegression().fit(rows, rows[:, 0] > 0)
    model = TriageModel("online", feature_set, columns, 0.7, FlatLinear.of(fitted))
    stretches = [Stretch(values, values.size // 2, 0) for values in walks(3, 60, 50)]
    alone, several = (OnlineJudge(model, "v", threads=threads) for threads in (1, 3))
    one, other = alone.judge(stretches), several.judge(stretches)
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.change.any()


def test_nothing_to_judge_is_no_error() -> None:
    assert OnlineJudge(Changed(), "v").judge([]).probability.size == 0
    only = OnlineJudge(Changed(), "v").judge([Stretch(np.array([4.0]), 0, 0)])
    assert only.probability.tolist() == [0.0]
    assert only.pre.tolist() == [0]


def test_a_judge_signs_with_the_model_and_decides_by_its_threshold() -> None:
    random = np.random.default_rng(0)
    columns = FEATURE_SETS["leznik"]
    rows = random.normal(size=(50, len(columns)))
    forest = RandomForestClassifier(3, random_state=0).fit(rows, rows[:, 0] > 0)
    model = TriageModel("online", "leznik", columns, 0.7, FlatForest.of(forest))
    judge = OnlineJudge.of(model)
    assert (judge.version, judge.threshold) == (model.version, 0.7)


def test_a_model_of_the_regime_sees_what_the_detector_sees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(newest, "feature_matrix", feature_matrix)
    model = TriageModel.default("online")
    series = [values for values in walks(5, 12, 60) if values.size > 8]
    judged = OnlineJudge.of(model).judge([Stretch(values, 0, 0) for values in series])
    expected = []
    for values in series:
        detector = OnlineDetector(model)
        expected += [detector.update(value).probability for value in values.tolist()]
    assert judged.probability.tolist() == expected
    assert judged.change.any()

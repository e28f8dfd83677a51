"""Algorithm 1: one value at a time, bounded history, the same decisions in batches."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Decision, StepKind, replay_many
from barograph.detection.online.views import kept_from
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import TriageModel
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, DataError
from tests.detection.online.models import Edge, edge_model, hand_made, noise, paper_model

MODELS = pytest.mark.parametrize("model", [paper_model(), edge_model()], ids=["bauer8", "online"])


def stepped(size: int = 120) -> Floats:
    values = noise(size, 3)
    values[size // 2 :] += 40.0
    values[size // 2 + 20 :] -= 30.0
    return values


def run(detector: OnlineDetector, values: Floats) -> list[Decision]:
    return [detector.update(float(value)) for value in values]


def algorithm_1(values: Floats) -> list[int]:
    """Algorithm 1 as the paper writes it."""
    model = paper_model()
    places: list[int] = []
    for i in range(1, values.size):
        start = places[-1] if places else 0
        row = feature_matrix(values[: i + 1], [start], [i], [i + 1], "bauer8")
        if model.predict_proba(row)[0, 1] >= model.threshold:
            places.append(i)
    return places


def test_detector_follows_algorithm_1_of_the_paper() -> None:
    values = stepped()
    detector = OnlineDetector.algorithm_1(paper_model())
    decisions = run(detector, values)
    assert [point.index for point in detector.change_points] == algorithm_1(values) == [60, 80]
    assert [d.index for d in decisions if d.is_change] == [60, 80]
    assert decisions[0].probability == 0.0
    called = StepKind.CALLED
    assert [(s.kind, s.index) for s in detector.steps] == [(called, 60), (called, 80)]


@pytest.mark.parametrize("feature_set", ["online", "confirm"])
def test_algorithm_1_refuses_a_model_without_pre(feature_set: str) -> None:
    with pytest.raises(ConfigError, match=f"'{feature_set}' has none"):
        OnlineDetector.algorithm_1(edge_model(feature_set))
    with pytest.raises(ConfigError, match="model is None: it must be a TriageModel"):
        OnlineDetector.algorithm_1(None)  # type: ignore[arg-type]


@MODELS
@pytest.mark.parametrize("history", [64, 2000])
def test_replay_equals_update_to_the_bit(model: TriageModel, history: int) -> None:
    values = np.concatenate([stepped(), stepped() + 70.0, noise(150, 5)])
    detector = OnlineDetector(model, history=history)
    decisions = run(detector, values)
    [batch] = replay_many(model, [values], history=history)
    assert [d.probability for d in decisions] == batch.probability.tolist()
    result = list(detector._memory.change_points)
    assert result == batch.change_points.tolist() == batch.alarms.tolist()
    assert tuple(detector.steps) == batch.steps
    assert result


def test_dropped_values_do_not_influence_decisions() -> None:
    values = np.concatenate([1000.0 * noise(200, 1), noise(300, 2)])
    bounded = run(OnlineDetector(edge_model(), history=64), values)
    late = run(OnlineDetector(edge_model(), history=64), values[32 * 10 :])
    # After two halves both have seen nothing but the same values since.
    assert [d.probability for d in bounded[32 * 12 :]] == [d.probability for d in late[64:]]


def test_change_points_and_steps_are_bounded_by_history() -> None:
    values, model = noise(300, 4), paper_model(threshold=0.0)  # every point is an alarm
    detector = OnlineDetector(model, history=64)
    decisions = run(detector, values)
    [batch] = replay_many(model, [values], history=64)
    assert [d.probability for d in decisions] == batch.probability.tolist()
    result = list(detector._memory.change_points)
    assert result == batch.change_points[-64:].tolist() == list(range(236, 300))
    kept = kept_from(299, 64)
    assert [point.index for point in detector.change_points] == list(range(kept + 1, 300))
    assert tuple(detector.steps) == batch.steps[-64:]
    assert [step for d in decisions for step in d.steps] == list(batch.steps)


@pytest.mark.parametrize("history", [64, 65, 2000])
def test_kept_from_keeps_at_least_half_of_the_history(history: int) -> None:
    for index in range(5000):
        size = index - kept_from(index, history) + 1
        assert size <= history
        assert size > min(index, history // 2)


def test_reasons_are_computed_on_access() -> None:
    calls: list[int] = []

    class Explaining(Edge):
        def parts(self, matrix: Floats) -> tuple[float, Floats]:
            calls.append(len(matrix))
            parts = np.zeros(matrix.shape)
            parts[:, 3], parts[:, 0] = -0.2, 0.1
            return 0.5, parts

    model = hand_made(Explaining(FEATURE_SETS["online"].index("edge")))
    decision = run(OnlineDetector(model), stepped())[-1]
    assert not calls
    reasons = decision.reasons
    assert [(r.name, r.part) for r in reasons[:2]] == [
        (FEATURE_SETS["online"][3], -0.2),
        ("edge", 0.1),
    ]
    assert sorted(r.name for r in reasons) == sorted(FEATURE_SETS["online"])
    assert calls == [1]


HUGE = pytest.param(10**5000, id="huge")  # Python refuses to convert it to text
NO_NUMBERS = [True, False, np.True_, "7", b"7", None, 1j, [1.0], np.ones(2)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, HUGE, *NO_NUMBERS])
def test_update_refuses_values_that_are_no_finite_numbers(bad: Any) -> None:
    detector, other = OnlineDetector(edge_model()), OnlineDetector(edge_model())
    run(detector, noise(20))
    with pytest.raises(DataError, match=r"values\[20\] is .*; it must be a finite number"):
        detector.update(bad)
    run(other, noise(20))
    assert detector.update(130.0) == other.update(130.0)


@pytest.mark.parametrize("kind", [int, Decimal, Fraction, np.float32, np.int64, np.uint8])
def test_update_accepts_every_kind_of_number(kind: Callable[[int], Any]) -> None:
    detector, other = OnlineDetector(edge_model()), OnlineDetector(edge_model())
    for value in (100, 101, 100, 130, 131):
        assert detector.update(kind(value)) == other.update(float(value))


@pytest.mark.parametrize("wrong", [{"history": 10}, {"history": 99.5}, {"budget": 3}])
def test_detector_refuses_wrong_parameters(wrong: dict[str, Any]) -> None:
    [(name, value)] = wrong.items()
    rule = "a Budget" if name == "budget" else "a whole number, 64 or more"
    with pytest.raises(ConfigError, match=f"{name} is {value}: it must be {rule}"):
        OnlineDetector(edge_model(), **wrong)


@MODELS
def test_replay_of_many_equals_that_of_each(model: TriageModel) -> None:
    lengths = (0, 1, 2, 7, 120, 300, 90)
    series = [np.concatenate([stepped(), stepped(200)])[:size] + size for size in lengths]
    for values, many in zip(series, replay_many(model, series, history=64), strict=True):
        [alone] = replay_many(model, [values], history=64)
        assert many.probability.tolist() == alone.probability.tolist()
        assert many.alarms.tolist() == alone.alarms.tolist()


def test_replay_many_accepts_no_histories() -> None:
    assert replay_many(edge_model(), []) == []

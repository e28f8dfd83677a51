"""Algorithm 1: one value at a time, bounded history, the same decisions in batches."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Decision
from barograph.detection.online.decision import reasons_for_newest
from barograph.detection.online.views import kept_from
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, DataError
from tests.detection.online.models import (
    Edge,
    edge_model,
    edge_pair,
    hand_made,
    noise,
    paper_model,
)


def stepped(size: int = 120) -> Floats:
    values = noise(size, 3)
    values[size // 2 :] += 40.0
    values[size // 2 + 20 :] -= 30.0
    return values


def new_detector(history: int = 500) -> OnlineDetector:
    first, second, budget = edge_pair()
    return OnlineDetector(first, second, budget=budget, history=history)


def run(detector: OnlineDetector, values: Floats) -> list[Decision]:
    return [detector.update(float(value)) for value in values]


def places_of_the_paper(values: Floats) -> list[int]:
    """Algorithm 1 as the paper writes it."""
    model = paper_model()
    places: list[int] = []
    for i in range(1, values.size):
        start = places[-1] if places else 0
        row = feature_matrix(values[: i + 1], [start], [i], [i + 1], "bauer8")
        if model.predict_proba(row)[0, 1] >= model.threshold:
            places.append(i)
    return places


def test_algorithm_1_is_that_of_the_paper() -> None:
    values = stepped()
    decisions = OnlineDetector.algorithm_1(paper_model(), values)
    alarms = [d.index for d in decisions if d.is_change]
    assert alarms == places_of_the_paper(values) == [60, 80]
    assert decisions[0].probability == 0.0
    assert OnlineDetector.algorithm_1(paper_model(), []) == []


@pytest.mark.parametrize("feature_set", ["online", "confirm"])
def test_algorithm_1_refuses_a_model_without_pre(feature_set: str) -> None:
    with pytest.raises(ConfigError, match=f"'{feature_set}' has none"):
        OnlineDetector.algorithm_1(edge_model(feature_set), [1.0])
    with pytest.raises(ConfigError, match="model is None: it must be a TriageModel"):
        OnlineDetector.algorithm_1(None, [1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("history", [64, 2000])
@pytest.mark.parametrize("threshold", [0.0, 0.5])  # 0: every point is an alarm
def test_algorithm_1_reads_no_later_value(history: int, threshold: float) -> None:
    values = np.concatenate([stepped(), stepped() + 70.0, noise(150, 5)])
    model = paper_model(threshold)
    whole = OnlineDetector.algorithm_1(model, values, history=history)
    for size in (1, 61, 257, 300):
        part = OnlineDetector.algorithm_1(model, values[:size], history=history)
        assert part == whole[:size]
    alarms = [d.newest for d in whole if d.is_change]
    assert alarms
    assert threshold or alarms == list(range(1, values.size))


def test_dropped_values_do_not_influence_decisions() -> None:
    values = np.concatenate([1000.0 * noise(200, 1), noise(300, 2)])
    bounded = run(new_detector(64), values)
    late = run(new_detector(64), values[32 * 10 :])
    # After two halves both have seen nothing but the same values since.
    assert [d.probability for d in bounded[32 * 12 :]] == [d.probability for d in late[64:]]


@pytest.mark.parametrize("history", [64, 65, 2000])
def test_kept_from_keeps_at_least_half_of_the_history(history: int) -> None:
    for index in range(5000):
        size = index - kept_from(index, history) + 1
        assert size <= history
        assert size > min(index, history // 2)


def test_reasons_are_those_of_the_newest_point() -> None:
    class Explaining(Edge):
        def parts(self, matrix: Floats) -> tuple[float, Floats]:
            parts = np.zeros(matrix.shape)
            parts[:, 3], parts[:, 0] = -0.2, 0.1
            return 0.5, parts

    model = hand_made(Explaining(FEATURE_SETS["online"].index("edge")))
    values = stepped()
    reasons = reasons_for_newest(model, values)
    assert [(r.name, r.part) for r in reasons[:2]] == [
        (FEATURE_SETS["online"][3], -0.2),
        ("edge", 0.1),
    ]
    assert sorted(r.name for r in reasons) == sorted(FEATURE_SETS["online"])
    size = values.size
    row = feature_matrix(values, [0], [size - 1], [size], "online")[0]
    assert {r.name: r.value for r in reasons} == dict(zip(FEATURE_SETS["online"], row, strict=True))


HUGE = pytest.param(10**5000, id="huge")  # Python refuses to convert it to text
NO_NUMBERS = ["7", b"7", None, 1j, [1.0], np.ones(2)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, HUGE, *NO_NUMBERS])
def test_update_refuses_values_that_are_no_finite_numbers(bad: Any) -> None:
    detector, other = new_detector(), new_detector()
    run(detector, noise(20))
    with pytest.raises(DataError, match=r"values\[0\] is |values must be one-dimensional"):
        detector.update(bad)
    run(other, noise(20))
    assert detector.update(130.0) == other.update(130.0)


@pytest.mark.parametrize("kind", [int, Decimal, Fraction, np.float32, np.int64, np.uint8])
def test_update_accepts_every_kind_of_number(kind: Callable[[int], Any]) -> None:
    detector, other = new_detector(), new_detector()
    for value in (100, 101, 100, 130, 131):
        assert detector.update(kind(value)) == other.update(float(value))


@pytest.mark.parametrize("wrong", [{"history": 10}, {"history": 99.5}, {"budget": 3}])
def test_detector_refuses_wrong_parameters(wrong: dict[str, Any]) -> None:
    [(name, value)] = wrong.items()
    rule = "a Budget" if name == "budget" else "a whole number, 64 or more"
    with pytest.raises(ConfigError, match=f"{name} is {value}: it must be {rule}"):
        OnlineDetector(**wrong)

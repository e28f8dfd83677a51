"""Algorithm 1: one value at a time, bounded history, the same answers in batches."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Decision, Kind, replay, replay_many
from barograph.detection.online.recent import kept_from
from barograph.errors import ConfigError, DataError
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.series import Floats
from tests.detection.edge_scorer import EdgeScorer, noise


class Steps:
    """A model of the paper's features: After is far from the mean of Pre, in its deviations."""

    feature_set = "bauer8"
    threshold = 0.5

    def predict_proba(self, matrix: Floats) -> Floats:
        level, deviation, newest = (
            matrix[:, FEATURE_SETS["bauer8"].index(name)]
            for name in ("pre_norm_mean", "pre_norm_sd", "after_norm_mean")
        )
        clear = np.clip(np.abs(newest - level) - 6.0 * deviation, 0.0, 1.0)
        real = np.where(deviation > 0.0, clear, 0.0)
        return np.column_stack([1.0 - real, real])


def stepped(size: int = 120) -> Floats:
    values = noise(size, 3)
    values[size // 2 :] += 40.0
    values[size // 2 + 20 :] -= 30.0
    return values


def run(detector: OnlineDetector, values: Floats) -> list[Decision]:
    return [detector.update(float(value)) for value in values]


def plainly(values: Floats) -> list[int]:
    """Algorithm 1 as the paper writes it."""
    found: list[int] = []
    for i in range(1, values.size):
        start = found[-1] if found else 0
        row = feature_matrix(values[: i + 1], [start], [i], [i + 1], "bauer8")
        if Steps().predict_proba(row)[0, 1] >= Steps.threshold:
            found.append(i)
    return found


def test_algorithm_1_as_the_paper_writes_it() -> None:
    values = stepped()
    detector = OnlineDetector(Steps())
    decisions = run(detector, values)
    assert detector.change_points == plainly(values) == [60, 80]
    assert [d.index for d in decisions if d.is_change] == [60, 80]
    assert decisions[0].probability == 0.0
    assert [(s.kind, s.index) for s in detector.steps] == [(Kind.CALLED, 60), (Kind.CALLED, 80)]


@pytest.mark.parametrize("model", [Steps(), EdgeScorer()], ids=["bauer8", "online"])
@pytest.mark.parametrize("history", [64, 2000])
def test_batch_and_update_agree_to_the_bit(model: Steps | EdgeScorer, history: int) -> None:
    values = np.concatenate([stepped(), stepped() + 70.0, noise(150, 5)])
    detector = OnlineDetector(model, history=history)
    decisions = run(detector, values)
    batch = replay(model, values, history=history)
    assert [d.probability for d in decisions] == batch.probability.tolist()
    assert detector.change_points == batch.change_points.tolist() == batch.alarms.tolist()
    assert tuple(detector.steps) == batch.steps
    assert detector.change_points


def test_history_is_bounded_and_what_was_dropped_is_not_read() -> None:
    values = np.concatenate([1000.0 * noise(200, 1), noise(300, 2)])
    bounded = run(OnlineDetector(EdgeScorer(), history=64), values)
    late = run(OnlineDetector(EdgeScorer(), history=64), values[32 * 10 :])
    # After two halves both have seen nothing but the same values since.
    assert [d.probability for d in bounded[32 * 12 :]] == [d.probability for d in late[64:]]


class Restless(Steps):
    """Calls every point that it is asked about."""

    threshold = 0.0


def test_change_points_and_steps_are_bounded_and_no_decision_depends_on_the_dropped() -> None:
    values = noise(300, 4)
    detector = OnlineDetector(Restless(), history=64)
    decisions = run(detector, values)
    batch = replay(Restless(), values, history=64)
    assert [d.probability for d in decisions] == batch.probability.tolist()
    assert detector.change_points == batch.change_points[-64:].tolist() == list(range(236, 300))
    assert tuple(detector.steps) == batch.steps[-64:]
    assert [step for d in decisions for step in d.steps] == list(batch.steps)


@pytest.mark.parametrize("history", [64, 65, 2000])
def test_half_of_the_history_is_always_kept(history: int) -> None:
    for at in range(5000):
        size = at - kept_from(at, history) + 1
        assert size <= history
        assert size > min(at, history // 2)


def test_reasons_are_computed_when_read() -> None:
    asked: list[int] = []

    class Explaining(EdgeScorer):
        def reasons(self, matrix: Floats) -> tuple[float, Floats]:
            asked.append(len(matrix))
            parts = np.zeros(matrix.shape)
            parts[:, 3], parts[:, 0] = -0.2, 0.1
            return 0.5, parts

    decision = run(OnlineDetector(Explaining()), stepped())[-1]
    assert not asked
    first, second = decision.reasons[:2]
    assert (first.name, first.part) == (FEATURE_SETS["online"][3], -0.2)
    assert (second.name, second.part) == ("edge", 0.1)
    assert asked == [1]


def test_without_parts_the_reasons_are_the_features() -> None:
    decision = run(OnlineDetector(EdgeScorer()), stepped())[60]
    assert [r.name for r in decision.reasons] == list(FEATURE_SETS["online"])
    assert {r.part for r in decision.reasons} == {None}


HUGE = pytest.param(10**5000, id="huge")  # Python does not even write it out
NO_NUMBERS = [True, False, np.True_, "7", b"7", None, 1j, [1.0], np.ones(2)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, HUGE, *NO_NUMBERS])
def test_a_value_that_is_no_finite_number_changes_nothing(bad: Any) -> None:
    detector, other = OnlineDetector(EdgeScorer()), OnlineDetector(EdgeScorer())
    run(detector, noise(20))
    with pytest.raises(DataError, match=r"values\[20\] is .*; it must be a finite number"):
        detector.update(bad)
    run(other, noise(20))
    assert detector.update(130.0) == other.update(130.0)


@pytest.mark.parametrize("kind", [int, Decimal, Fraction, np.float32, np.int64, np.uint8])
def test_every_kind_of_number_is_taken(kind: Callable[[int], Any]) -> None:
    detector, other = OnlineDetector(EdgeScorer()), OnlineDetector(EdgeScorer())
    for value in (100, 101, 100, 130, 131):
        assert detector.update(kind(value)) == other.update(float(value))


def test_parameters_are_checked() -> None:
    with pytest.raises(ConfigError, match="history is 10"):
        OnlineDetector(EdgeScorer(), history=10)


@pytest.mark.parametrize("model", [Steps(), EdgeScorer()], ids=["bauer8", "online"])
def test_many_histories_at_once_are_answered_as_each_alone(model: Steps | EdgeScorer) -> None:
    lengths = (0, 1, 2, 7, 120, 300, 90)
    series = [np.concatenate([stepped(), stepped(200)])[:size] + size for size in lengths]
    for values, many in zip(series, replay_many(model, series, history=64), strict=True):
        alone = replay(model, values, history=64)
        assert many.probability.tolist() == alone.probability.tolist()
        assert many.alarms.tolist() == alone.alarms.tolist()

"""A detector that was saved and restored continues with the same decisions, to the bit."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Budget, Decision
from barograph.detection.online.second_look import AlarmState
from barograph.models import OnlineModels
from barograph.results.series import Floats, Region
from barograph.runtime.errors import ConfigError, DataError
from tests.detection.online.models import edge_pair, noise, quiet

FIRST, SECOND, BUDGET = edge_pair()


def course() -> Floats:
    """Steps, spikes and noise, longer than two short histories."""
    values = noise(220, 3)
    values[60:] += 14.0
    values[[30, 100, 101, 180]] += 40.0
    values[130:] -= 25.0
    values[:20] *= 30.0
    return values


KINDS: dict[str, Callable[[], OnlineDetector]] = {
    "pair": lambda: OnlineDetector(FIRST, SECOND, budget=BUDGET, history=64),
    "long": lambda: OnlineDetector(FIRST, SECOND, budget=BUDGET),
}


def restored(detector: OnlineDetector) -> OnlineDetector:
    """Save a detector as text and restore it."""
    state = json.loads(json.dumps(detector.state()))
    return OnlineDetector.from_state(state, FIRST, SECOND, budget=BUDGET)


def feed(detector: OnlineDetector, values: Floats) -> list[Decision]:
    """Feed values; every seventh commit has reruns."""
    decisions = []
    for number, value in enumerate(values.tolist()):
        decisions.append(detector.update(value))
        if number % 7 == 0:
            decisions += [detector.repeat(value + 0.5), detector.repeat(100.0)]
    return decisions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [0, 1, 64, 65, 97, 133])
def test_a_restored_detector_continues_to_the_bit(kind: str, cut: int) -> None:
    values = course()
    detector = KINDS[kind]()
    feed(detector, values[:cut])
    again = restored(detector)
    assert again.state() == detector.state()
    assert (len(again), again.steps) == (len(detector), detector.steps)
    assert again.change_points == detector.change_points
    assert feed(again, values[cut:]) == feed(detector, values[cut:])
    assert again.state() == detector.state()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_reruns_of_the_newest_commit_go_on_after_a_restore(kind: str, runs: int) -> None:
    detector = KINDS[kind]()
    feed(detector, course()[:64])
    detector.update(180.0)
    for _ in range(runs - 1):
        detector.repeat(182.0)
    again = restored(detector)
    assert again.repeat(110.0) == detector.repeat(110.0)
    assert feed(again, course()[64:100]) == feed(detector, course()[64:100])


def test_a_state_with_what_older_versions_wrote_besides_opens() -> None:
    detector = KINDS["pair"]()
    feed(detector, course()[:70])
    state = detector.state() | {"change_points": [[60, 0.9]], "reason": [0, [1.0, 2.0]]}
    again = OnlineDetector.from_state(state, FIRST, SECOND, budget=BUDGET)
    assert again.state() == detector.state()
    assert again.change_points == detector.change_points != []


def test_a_state_of_other_models_or_another_budget_is_refused() -> None:
    state = KINDS["pair"]().state()
    versions = rf"\['{FIRST.version}', '{SECOND.version}'\]"
    with pytest.raises(DataError, match=rf"saved with models {versions}; this detector has \['"):
        OnlineDetector.from_state(state)
    other = Budget(BUDGET.tails, BUDGET.threshold + 1.0)
    with pytest.raises(DataError, match="saved with the alarm budget"):
        OnlineDetector.from_state(state, FIRST, SECOND, budget=other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "csv"}, "not the state of an online detector"),
        ({"format_version": 2}, "format version 2; this program reads version 1"),
        ({"values": [1.0]}, "damaged: 1 values of 29 cannot be the kept ones"),
        ({"values": None}, r"damaged: Expected `array`, got `null` - at `\$.values`"),
        ({"runs": [float("nan")]}, r"damaged: runs\[0\] is nan"),
        ({"steps": [["begun", 1, 1, 0.5, None]]}, "damaged: Invalid enum value 'begun'"),
        ({"alarm": {"change": 3}}, "damaged: 'score'"),
        ({"history": 1}, "damaged: Expected `int` >= 2"),
        ({"history": 10**30}, "damaged"),
        ({"alarm": [40, 9.0, True, 1, 0.5]}, "damaged: a change at 40 is not within 29 values"),
        ({"alarm": [4, "x", True, 1, 0.5]}, "damaged: Expected `float`, got `str`"),
        ({"steps": [["called", 29, 28, 0.5, None]]}, "a change at 29 is not within 29 values"),
        ({"steps": [["called", -1, 1, 0.5, None]]}, "a change at -1 is not within 29 values"),
        ({"steps": [["called", "x", 1, 0.5, None]]}, "damaged: Expected `int`, got `str`"),
    ],
)
def test_a_damaged_state_is_refused(change: dict[str, Any], message: str) -> None:
    detector = KINDS["pair"]()
    feed(detector, course()[:30])
    state = detector.state()
    assert state["count"] == 29
    if isinstance(change.get("alarm"), list):
        change = {"alarm": dict(zip(AlarmState._fields, change["alarm"], strict=True))}
    with pytest.raises(DataError, match=message):
        OnlineDetector.from_state(state | change, FIRST, SECOND, budget=BUDGET)
    with pytest.raises(DataError, match=r"damaged: .* missing required field `steps`"):
        OnlineDetector.from_state({k: v for k, v in state.items() if k != "steps"})
    with pytest.raises(DataError, match="not the state"):
        OnlineDetector.from_state([1])  # type: ignore[arg-type]


def test_without_arguments_the_shipped_pair_decides() -> None:
    models = OnlineModels.default()
    ours, theirs = OnlineDetector(), OnlineDetector(models.newest, models.confirm)
    values = np.append(quiet(60), quiet(10) + 30.0)
    assert ours.update_many(values) == [theirs.update(value) for value in values.tolist()]
    with pytest.raises(ConfigError, match="model is missing: the detector needs both models"):
        OnlineDetector(confirm=models.confirm)
    with pytest.raises(ConfigError, match=r"confirm is missing: .* OnlineDetector.algorithm_1"):
        OnlineDetector(models.newest)


def test_change_points_have_probability_and_regions() -> None:
    values = quiet(100)
    values[60:] += 12.0
    detector = OnlineDetector(FIRST, SECOND, budget=BUDGET)
    detector.update_many(values)
    [point] = detector.change_points
    assert (point.index, point.pvalue) == (60, None)
    assert point.probability == detector.steps[-1].probability
    assert point.before.mean == pytest.approx(Region.of(values[:60]).mean)
    assert point.after.mean == pytest.approx(Region.of(values[60:]).mean)
    assert (point.before.count, point.after.count) == (60, 40)


def test_regions_of_change_points_cover_the_kept_values() -> None:
    values = noise(200, 1)
    values[180:] += 30.0
    detector = OnlineDetector(FIRST, SECOND, budget=BUDGET, history=64)
    detector.update_many(values)
    [point] = [point for point in detector.change_points if point.index == 180]
    assert point.before.count == 180 - detector._base
    assert point.after.count == 20


def test_update_many_changes_nothing_if_a_value_is_refused() -> None:
    detector = OnlineDetector(FIRST, SECOND, budget=BUDGET)
    detector.update_many(quiet(20))
    with pytest.raises(DataError, match=r"values\[1\] is nan"):
        detector.update_many([100.0, np.nan])
    assert len(detector) == 20


def test_repr_names_models_values_and_the_last_change_point() -> None:
    values = quiet(100)
    values[60:] += 12.0
    detector = OnlineDetector(FIRST, SECOND, budget=BUDGET)
    assert repr(detector).endswith("0 values, 0 change points)")
    detector.update_many(values)
    assert repr(detector) == (
        f"OnlineDetector(models {FIRST.version} and {SECOND.version}; 100 values, 1 change "
        "point, the last at 60)"
    )

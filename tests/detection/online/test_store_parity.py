"""The store decides as the detector does, however points are batched, delayed or repeated."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Budget, OnlineJudge
from barograph.errors import ConfigError
from barograph.models import TriageModel
from barograph.series import Floats
from barograph.store import Measurement, Store, reading
from barograph.store.reading import steps_between
from tests.detection.online.models import paper_model
from tests.store.digest import digest
from tests.store.samples import number_of, series
from tests.training.online_histories import histories, learned

NAMES = "abcd"
LENGTH = 220


def budget() -> Budget:
    _, models = learned()
    return Budget.released(models.online, models.confirm, "even", 10)


def judge_of(online: TriageModel, confirm: TriageModel, history: int = 500) -> OnlineJudge:
    return OnlineJudge.of(online, history).with_second_look(confirm, "even", 10)


def judge(history: int = 500) -> OnlineJudge:
    _, models = learned()
    return judge_of(models.online, models.confirm, history)


def test_version_depends_on_everything_that_decides() -> None:
    _, models = learned()
    tails = {**models.online.card["tails"], "0": models.confirm.card["tails"]["1"]}
    online = replace(models.online, card={**models.online.card, "tails": tails})
    confirm = replace(models.confirm, calibration=None)
    pairs = list(product((models.online, online), (models.confirm, confirm)))
    judges = [judge_of(online, confirm) for online, confirm in pairs]
    assert judges[0].version == judge().version
    assert len({judge.version for judge in judges}) == len(pairs)


def histories_by_name() -> dict[str, Floats]:
    values = histories(3).values
    return {name: values[k * LENGTH : (k + 1) * LENGTH] for k, name in enumerate(NAMES)}


def sent() -> list[Measurement]:
    """All points, the oldest first."""
    return [
        Measurement(series(name), float(values[index]), index, f"c{index}")
        for index in range(LENGTH)
        for name, values in histories_by_name().items()
    ]


def stored_decisions(
    store: Store, name: str
) -> tuple[list[int], list[tuple[object, ...]], list[float]]:
    """Alarms, steps and probabilities of a series."""
    with store.read() as connection:
        number = number_of(connection, series(name))
        assert number is not None
        points = reading.points_of(connection, number)
        noted = steps_between(connection, number, 0, LENGTH)
    steps: list[tuple[object, ...]] = [
        (point.kind, point.index, place, point.probability, point.moved_from)
        for place, (point, _) in sorted(noted.items())
    ]
    alarms = [point.order for point in points if point.decision.is_change]
    return alarms, steps, [point.decision.probability for point in points]


def detected(values: Floats) -> tuple[list[int], list[tuple[object, ...]], list[float]]:
    _, models = learned()
    detector = OnlineDetector(models.online, models.confirm, budget=budget())
    decisions = [detector.update(float(value)) for value in values]
    steps: list[tuple[object, ...]] = [
        (item.kind.value, item.index, item.newest, item.probability, item.moved_from)
        for item in detector.steps
    ]
    alarms = [item.newest for item in decisions if item.is_change]
    return alarms, steps, [item.probability for item in decisions]


def batches(points: Sequence[Measurement], size: int) -> list[Sequence[Measurement]]:
    return [points[first : first + size] for first in range(0, len(points), size)]


@pytest.mark.parametrize("size", [1, 7, 900])
def test_store_equals_the_detector_for_any_batch_size(
    new_url: Callable[[], str], size: int
) -> None:
    points = sent() if size > 1 else [item for item in sent() if item.series == series("b")]
    with Store(new_url(), judge()) as store:
        answers = [store.ingest(batch, "ci") for batch in batches(points, size)]
        steps = [step for answer in answers for item in answer.points for step in item.steps]
        kinds = set()
        expected_steps = 0
        for name, values in histories_by_name().items():
            if size == 1 and name != "b":
                continue
            expected = detected(values)
            assert stored_decisions(store, name) == expected
            kinds |= {str(step[0]) for step in expected[1]}
            expected_steps += len(expected[1])
        assert len(steps) == expected_steps
    assert kinds >= {"called", "confirmed"}


def test_late_and_repeated_points_are_decided_again(new_url: Callable[[], str]) -> None:
    rng = random.Random(1)
    with Store(new_url(), judge(), room=300) as store:
        for _ in range(2):
            points = sent()
            # Not wholly shuffled: a point comes up to forty places late.
            points.sort(key=lambda point: (point.order or 0) + rng.uniform(0, 40))
            for batch in batches(points, 60):
                store.ingest(batch, "ci")
        for name, values in histories_by_name().items():
            assert stored_decisions(store, name) == detected(values)
        again = store.ingest(sent(), "ci")
        assert again.counts["duplicate"] == len(sent())
        steps = [step for point in again.points for step in point.steps]
        assert len(steps) == sum(
            len(detected(values)[1]) for values in histories_by_name().values()
        )


def test_restart_between_any_two_points_changes_nothing(new_url: Callable[[], str]) -> None:
    url = new_url()
    values = histories_by_name()["a"]
    expected = detected(values)
    [first, *_] = expected[0]
    points = [item for item in sent() if item.series == series("a")]
    with Store(url, judge()) as store:
        store.ingest(points[: first - 2], "ci")
    for index in range(first - 2, first + 15):
        with Store(url, judge()) as store:
            store.ingest(points[index : index + 1], "ci")
    with Store(url, judge()) as store:
        store.ingest(points[first + 15 :], "ci")
        assert stored_decisions(store, "a") == expected


def test_bounded_history_gives_the_same_store_for_any_batch(
    new_url: Callable[[], str],
) -> None:
    result = set()
    for size in (50, 333):
        with Store(new_url(), judge(history=80)) as store:
            for batch in batches(sent(), size):
                store.ingest(batch, "ci")
            with store.read() as connection:
                result.add(digest(connection))
    assert len(result) == 1


def test_second_look_refuses_models_whose_rows_depend_on_alarms() -> None:
    _, models = learned()
    paper = replace(paper_model(), card=models.online.card)
    with pytest.raises(ConfigError, match="bauer8"):
        judge_of(paper, models.confirm)

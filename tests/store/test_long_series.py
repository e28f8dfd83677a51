"""However long a series is, the store answers as the detector with the same history, and replay."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import OnlineJudge, PendingSeries, make_judge
from barograph.detection.online.detector import SHORTEST_HISTORY
from barograph.models import OnlineModels
from barograph.results.series import Floats
from barograph.server.store import Measurement, Store, reading
from barograph.server.store.reading import steps_between
from tests.detection.online.models import edge_judge
from tests.store.digest import digest
from tests.store.samples import number_of, series
from tests.training.online_histories import learned

LENGTH = 1300
NAMES = "ab"
HISTORIES = (SHORTEST_HISTORY, 500)
KINDS = ("edge", "learned")
# Of each series: alarms, change points or steps, probabilities.
Said = tuple[list[int], list[tuple[object, ...]], list[float]]
Send = Callable[[Callable[[], Store]], None]


@cache
def judge(kind: str, history: int) -> OnlineJudge:
    """What judges, in the store and in the detector."""
    if kind == "edge":
        return edge_judge(history)
    pair = learned()[1]
    made = make_judge(OnlineModels(pair.online, pair.confirm), 10)
    return replace(made, history=history)


@cache
def course(name: str) -> Floats:
    """Long regimes and short ones, levels that return, spikes."""
    rng = np.random.default_rng(ord(name))
    shifts = rng.choice([0.0, 60.0, -60.0, 90.0], LENGTH, p=[0.985, 0.005, 0.005, 0.005])
    shifts[700:1200] = 0.0
    values: Floats = 500.0 + shifts.cumsum() + rng.normal(size=LENGTH)
    values[rng.integers(0, LENGTH, 12)] += 15.0
    return values


def steps_in(steps: Sequence[object]) -> list[tuple[object, ...]]:
    return [
        (s.kind.value, s.index, s.newest, s.probability, s.moved_from)  # type: ignore[attr-defined]
        for s in steps
    ]


@cache
def replayed(kind: str, name: str, history: int) -> Said:
    judged = judge(kind, history).judge([PendingSeries(course(name), 0)])
    [log] = judged.logs
    return log.alarms, steps_in(log.steps), judged.probability.tolist()


def sent(name: str) -> list[Measurement]:
    return [
        Measurement(series(name), value, order, f"c{order}")
        for order, value in enumerate(course(name).tolist())
    ]


def everything() -> list[Measurement]:
    return [measurement for pair in zip(*map(sent, NAMES), strict=True) for measurement in pair]


def said(store: Store, name: str) -> Said:
    with store.read() as connection:
        number = number_of(connection, series(name))
        assert number is not None
        points = reading.points_of(connection, number, limit=LENGTH)
        noted = sorted(steps_between(connection, number, 0, LENGTH).items())
    steps: list[tuple[object, ...]] = [
        (event.kind, event.index, place, event.probability, event.moved_from)
        for place, (event, _) in noted
    ]
    alarms = [point.order for point in points if point.decision.is_change]
    return alarms, steps, [point.decision.probability for point in points]


def mixed_sizes() -> Iterator[int]:
    while True:
        yield from (1, 2, 7, 1, 300, 33, 1, 64, 501, 5)


def cut(points: Sequence[Measurement], sizes: Iterator[int]) -> Iterator[Sequence[Measurement]]:
    first = 0
    while first < len(points):
        last = first + next(sizes)
        yield points[first:last]
        first = last


def in_mixed_batches(opened: Callable[[], Store]) -> None:
    with opened() as store:
        for batch in cut(everything(), mixed_sizes()):
            store.ingest(batch, "ci")


def singly_in_the_end(opened: Callable[[], Store]) -> None:
    with opened() as store:
        store.ingest(everything()[:1970], "ci")
        for point in everything()[1970:2140]:  # beyond a half-block's end, 1,000 points each
            store.ingest([point], "ci")
        store.ingest(everything()[2140:], "ci")


def with_restarts(opened: Callable[[], Store]) -> None:
    for batch in cut(everything(), mixed_sizes()):
        with opened() as store:
            store.ingest(batch, "ci")


def late_and_in_disorder_with_restarts(opened: Callable[[], Store]) -> None:
    points = everything()
    late = [points.pop(place) for place in (2310, 2001, 1994, 1111, 14)]
    for number, batch in enumerate(cut(points, mixed_sizes())):
        with opened() as store:
            store.ingest(batch[::-1], "ci")
            if number % 5 == 4 and late:  # some long after their place
                store.ingest([late.pop()], "ci")
    assert not late


@pytest.mark.parametrize(
    ("history", "send"),
    [
        (40, in_mixed_batches),
        (40, singly_in_the_end),
        (40, with_restarts),
        (40, late_and_in_disorder_with_restarts),
        (500, singly_in_the_end),
        (500, late_and_in_disorder_with_restarts),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_store_equals_replay(tmp_path: Path, kind: str, history: int, send: Send) -> None:
    url = str(tmp_path / "store.db")
    send(lambda: Store(url, judge(kind, history)))
    with Store(url, judge(kind, history)) as store:
        for name in NAMES:
            assert said(store, name) == replayed(kind, name, history)


def test_late_and_repeated_points_are_decided_again(new_url: Callable[[], str]) -> None:
    rng = random.Random(1)
    expected = {name: replayed("learned", name, 500) for name in NAMES}
    with Store(new_url(), judge("learned", 500)) as store:
        for _ in range(2):
            # Not wholly shuffled: a point comes up to forty places late.
            late = sorted(everything(), key=lambda point: (point.order or 0) + rng.uniform(0, 40))
            for batch in cut(late, repeat(60)):
                store.ingest(batch, "ci")
        store.finish()
        assert {name: said(store, name) for name in NAMES} == expected
        again = store.ingest(everything(), "ci")
    assert again.counts["duplicate"] == len(everything())
    steps = [step for point in again.points for step in point.steps]
    assert len(steps) == sum(len(steps) for _, steps, _ in expected.values())


def test_answers_and_the_store_are_the_same_for_any_batch(new_url: Callable[[], str]) -> None:
    expected = Counter(step[0] for name in NAMES for step in replayed("learned", name, 80)[1])
    digests = set()
    for size in (50, 333):
        with Store(new_url(), judge("learned", 80)) as store:
            answers = [store.ingest(batch, "ci") for batch in cut(everything(), repeat(size))]
            with store.read() as connection:
                digests.add(digest(connection))
        points = [point for answer in answers for point in answer.points]
        assert Counter(step.kind for point in points for step in point.steps) == expected
    assert len(digests) == 1
    assert expected.keys() >= {"called", "confirmed"}


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("kind", KINDS)
def test_replay_equals_the_detector(kind: str, history: int) -> None:
    these = judge(kind, history)
    models = these.model, these.confirm
    detector = OnlineDetector(*models, budget=these.budget, history=history)
    decisions = [detector.update(value) for value in course("a").tolist()]
    alarms = [decision.newest for decision in decisions if decision.is_change]
    steps = steps_in([step for decision in decisions for step in decision.steps])
    probability = [decision.probability for decision in decisions]
    assert (alarms, steps, probability) == replayed(kind, "a", history)
    assert len(alarms) > 3


def test_history_length_matters_in_these_series() -> None:
    for kind in KINDS:
        assert replayed(kind, "a", 64)[2] != replayed(kind, "a", 500)[2]

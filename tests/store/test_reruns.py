"""Several runs of one commit: all are kept, one value counts, and arrival plays no part."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from barograph.detection.online import Answer, Judge, OnlineDetector, OnlineJudge, make_judge
from barograph.detection.online.newest import settle
from barograph.models import OnlineModels
from barograph.results.history import History
from barograph.results.series import SeriesId
from barograph.server.store import Measurement, PointResult, Store, exchange, export, reading
from barograph.server.store.export import archive, restore
from barograph.server.store.reading import StoredPoint
from tests.store.digest import contents
from tests.store.judges import Rule
from tests.store.samples import number_of, point, series
from tests.training.online_histories import learned

QUIET, JUMP = 60, 40.0  # commits before the jump, and its size


@cache
def pair() -> Judge:
    _, models = learned()
    return make_judge(OnlineModels(models.online, models.confirm))


def level(count: int = QUIET, seed: int = 1) -> list[Measurement]:
    noise = np.random.default_rng(seed).normal(100.0, 1.0, count).tolist()
    return [point(order, value) for order, value in enumerate(noise)]


def stored(store: Store, name: SeriesId | None = None) -> list[StoredPoint]:
    with store.read() as connection:
        number = number_of(connection, name or series())
        assert number is not None
        return reading.points_of(connection, number, limit=10_000)


def answered(results: list[PointResult]) -> Answer:
    [decision] = {result.decision for result in results}
    assert decision is not None
    return decision.answer


def test_rerun_decides_between_a_spike_and_a_step(new_url: Callable[[], str]) -> None:
    for rerun, expected, settled in ((139.0, Answer.CHANGE, 139.0), (100.5, Answer.QUIET, 100.5)):
        with Store(new_url(), pair()) as store:
            store.ingest(level(), "ci")
            jump = point(QUIET, 100.0 + JUMP)
            [first] = store.ingest([jump], "ci").points
            assert first.decision is not None
            assert (first.decision.answer, first.decision.reruns) == (Answer.SUSPECT, 1)
            assert first.decision.surprise > 5
            [again] = store.ingest([jump._replace(run="2", value=rerun)], "ci").points
            assert answered([again]) is expected
            assert store.ingest([jump], "ci").points[0].decision == again.decision
            kept = stored(store)[-2:]
            assert [(run.run, run.value, run.settled) for run in kept] == [
                ("", 140.0, settled),
                ("2", rerun, None),
            ]
            assert {run.decision.answer for run in kept} == {expected}
            with store.read() as connection:
                assert reading.read_series(connection, [1])[1].values[-1] == settled


def test_rerun_between_both_levels_advises_two_more(store: Store) -> None:
    store.ingest([*level(), point(QUIET, 140.0)], "ci")
    [half] = store.ingest([point(QUIET, 120.0, run="2")], "ci").points
    assert half.decision is not None
    assert half.decision.reruns == 2
    more = [point(QUIET, 101.0, run="3"), point(QUIET, 100.0, run="4")]
    assert [
        result.decision.reruns for result in store.ingest(more, "ci").points if result.decision
    ] == [0] * 2


def test_equal_value_is_a_retry_and_another_one_a_correction(store: Store) -> None:
    store.ingest([*level(), point(QUIET, 140.0), point(QUIET, 139.0, run="2")], "ci")
    before = contents(store)
    assert store.ingest([point(QUIET, 139.0, run="2")], "ci").counts["duplicate"] == 1
    assert contents(store) == before
    correction = point(QUIET, 100.0, run="2")._replace(time=1)
    assert store.ingest([correction], "ci").counts["revised"] == 1
    assert stored(store)[-2].settled == 100.0


@pytest.mark.parametrize("kind", ["rule", "pair"])
def test_order_of_arrival_changes_nothing(new_url: Callable[[], str], kind: str) -> None:
    judge = pair() if kind == "pair" else Rule()
    rng = random.Random(kind)
    runs = {20: (140.0, 101.0), 40: (60.0, 61.0, 100.0), 69: (150.0, 149.0)}
    sent = [row for row in level(70) if row.order not in runs]
    for order, values in runs.items():
        sent += [point(order, value, run=str(run)) for run, value in enumerate(values)]
    sent += [point(order, 150.0 + order % 3) for order in range(70, 75)]
    actual = set()
    for size in (1, 5, len(sent)):
        url = new_url()
        shuffled = rng.sample(sent, len(sent))
        if size == 1:  # each late result rewinds: not all of them
            shuffled = [*sent[:60], *rng.sample(sent[60:], len(sent) - 60)]
        batches = [shuffled[k : k + size] for k in range(0, len(sent), size)]
        for part in (batches[: len(batches) // 2], batches[len(batches) // 2 :]):
            with Store(url, judge) as store:  # a restart between both parts
                for batch in part:
                    store.ingest(batch, "ci")
        with Store(url, judge) as store:
            actual.add(contents(store))
            assert sum(result.settled is not None for result in stored(store)) == 75
    assert len(actual) == 1


def test_settled_values_are_those_of_the_library(store: Store) -> None:
    store.judge = pair()
    sent = level(300)
    extra = [
        point(order, value, run=f"r{run}")
        for order in range(30, 300, 9)
        for run, value in enumerate(np.random.default_rng(order).normal(100, 8, 3).tolist())
    ]
    sent += extra
    store.ingest(sent, "ci")
    rows = stored(store)
    values: list[float] = []
    for order in range(300):
        runs = [row for row in rows if row.order == order]
        before = np.array(values)[max(0, (order // 250 - 1) * 250) :]
        measured = np.array([item.value for item in runs])
        settled = settle(before, measured)
        values.append(settled.value)
        assert runs[0].settled == values[-1]
        if len(runs) > 1:
            assert {item.decision.reruns for item in runs} == {settled.advised}


def test_decisions_equal_those_of_the_detector(store: Store) -> None:
    store.judge = judge = pair()
    assert isinstance(judge, OnlineJudge)
    detector = OnlineDetector(judge.model, judge.confirm, budget=judge.budget)
    rng = np.random.default_rng(5)
    expected = []
    for order in range(150):
        runs = rng.normal(100.0 + JUMP * (order >= 100), 1.0, 2 if order % 5 == 0 else 1)
        runs[0] += 50.0 * (order in (30, 62))  # spikes; the second has no rerun
        decision = detector.update(float(runs[0]))
        for value in runs[1:]:
            decision = detector.repeat(float(value))
        expected.append(decision)
        for run, value in enumerate(runs.tolist()):
            store.ingest([point(order, value, run=str(run))], "ci")
    answers = {Answer.CHANGE, Answer.SUSPECT, Answer.QUIET}
    assert {row.answer for row in expected} == answers
    kept = [result for result in stored(store) if result.settled is not None]
    for point_, decision in zip(kept, expected, strict=True):
        actual = point_.decision
        since = None if actual.known_since is None else actual.known_since.order
        assert (actual.answer, actual.probability, actual.surprise, actual.reruns, since) == (
            *(decision.answer, decision.probability, decision.surprise, decision.reruns),
            decision.known_since,
        )


def test_later_commits_name_the_commit_since_when_a_change_is_known(store: Store) -> None:
    store.judge = pair()
    answers = []
    for measurement in [*level(), *(point(QUIET + k, 139.0 + k % 2) for k in range(12))]:
        answers += store.ingest([measurement], "ci").points
    changes = [k for k, answer in enumerate(answers) if answer.is_change and k >= QUIET]
    assert len(changes) == 1
    for result in answers[changes[0] + 1 :]:
        assert result.decision is not None
        assert result.decision.answer is Answer.QUIET
        assert result.decision.known_since == (QUIET, f"c{QUIET}")
        assert result.decision.probability > 0.5
    assert [answer.decision for answer in answers] == [item.decision for item in stored(store)]
    again = store.ingest([point(QUIET + 11, 140.0)], "ci").points
    assert again[0].decision == answers[-1].decision


def test_export_and_archive_keep_every_run(
    store: Store, new_url: Callable[[], str], tmp_path: Path
) -> None:
    store.judge = pair()
    runs = [point(QUIET, 140.0, run="a"), point(QUIET, 101.0, run="b"), point(QUIET + 1, 99.0)]
    store.ingest([*level(), *(run._replace(time=k) for k, run in enumerate(runs))], "ci")
    with store.read() as connection:
        counts = export.export_tables(connection, tmp_path)
        archive(connection, tmp_path)
    assert (counts["points"], counts["runs"]) == (QUIET + 2, 2)
    with Store(new_url(), pair()) as imported:
        exchange.import_history(imported, History.read(tmp_path), "ann")
        assert contents(imported) == contents(store)
    with Store(new_url(), pair()) as restored:
        restore(restored, tmp_path)
        assert contents(restored) == contents(store)
        assert stored(restored) == stored(store)
        more = [point(QUIET + 1, 98.0, run="2"), point(QUIET + 2, 100.0)]
        assert restored.ingest(more, "ci").points == store.ingest(more, "ci").points

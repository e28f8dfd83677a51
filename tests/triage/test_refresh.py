from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from barograph.detection import Hunter, Triaged
from barograph.detection.base import Detector, RawChangePoint
from barograph.models import TriageModel
from barograph.results.candidates import Candidates
from barograph.results.history import History
from barograph.results.series import Floats, Ints, Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import (
    Measurement,
    Store,
    arrivals,
    audit,
    candidate_records,
    export,
    reading,
    schema,
)
from barograph.server.store.candidate_records import find_candidates, get_candidate, moves_of
from barograph.server.store.database import Row
from barograph.server.triage import record, refresh, tickets, verdicts
from barograph.server.triage.refresh import CandidateRefresher, RefreshResult
from barograph.server.web.background import RefreshLoop, WorkerConfig
from tests.service.models import small_model
from tests.store.samples import history, point, series


@dataclass(frozen=True)
class Scripted(Detector):
    """Reports change points at given places, and records the lengths of the series it gets."""

    places: Sequence[int] = ()
    lengths: list[int] = field(default_factory=list)

    @property
    def shortest(self) -> int:
        return 0

    def find(self, values: Floats) -> list[RawChangePoint]:
        self.lengths.append(values.size)
        return [RawChangePoint(place, 1.0, 0.01, k, q=2.0) for k, place in enumerate(self.places)]


def flat(store: Store, length: int = 60, name: str = "a") -> None:
    store.ingest([point(order, 1.0 + order % 2, name) for order in range(length)], "ci")


def search(store: Store, *places: int) -> RefreshResult:
    store.ingest([point(1000 + hash(places) % 1000, 1.0)], "ci")
    return CandidateRefresher(Scripted(places), "scripted").refresh(store)


def found(store: Store) -> list[tuple[int, int]]:
    with store.read() as connection:
        rows = find_candidates(connection)
    return [(row.id, row.order) for row in rows if row.present]


def judge(store: Store, candidate: int, verdict: Verdict, who: str = "ann") -> None:
    items = [(candidate, None)]
    store.write(lambda connection: verdicts.record_batch(connection, items, verdict, who, "why"))


def only_candidate(store: Store) -> int:
    """Store a flat series with one candidate; return its number."""
    flat(store)
    search(store, 20)
    [(candidate, _)] = found(store)
    return candidate


def test_refresh_stores_the_change_point_of_hunter_with_its_regions(store: Store) -> None:
    store.ingest([row._replace(direction=1) for row in history("a", 60)], "ci")  # type: ignore[arg-type]
    done = CandidateRefresher(Hunter(), "hunter").refresh(store)
    assert (done.series, done.added) == (1, 1)
    with store.read() as connection:
        [candidate] = find_candidates(connection)
    assert (candidate.order, candidate.commit, candidate.detector) == (30, "c30", "hunter")
    assert candidate.before is not None
    assert candidate.after is not None
    assert candidate.before.count == candidate.after.count == 30
    assert candidate.verdict is Verdict.NOT_TRIAGED


def test_refresh_searches_each_touched_series_once(store: Store) -> None:
    flat(store, 20, "a")
    flat(store, 30, "b")
    detector = Scripted()
    assert CandidateRefresher(detector, "d").refresh(store).series == 2
    store.ingest([point(20, 1.0, "a"), point(0, 1.0, "b")], "ci")
    assert CandidateRefresher(detector, "d").refresh(store).series == 1
    assert sorted(detector.lengths) == [20, 21, 30]
    assert CandidateRefresher(detector, "d").recompute(store).series == 2
    with store.read() as connection:
        assert candidate_records.count_stale(connection) == 0


def test_candidate_that_moves_a_few_commits_keeps_its_id(store: Store) -> None:
    flat(store)
    search(store, 20, 40)
    [(first, _), (other, _)] = found(store)
    done = search(store, 22, 40)
    assert (done.added, done.moved, done.withdrawn) == (0, 1, 0)
    assert found(store) == [(first, 22), (other, 40)]
    with store.read() as connection:
        assert [move[:3] for move in moves_of(connection, first)] == [("moved", 20, 22)]


def test_withdrawn_candidate_comes_back_with_its_id(store: Store) -> None:
    candidate = only_candidate(store)
    assert search(store).withdrawn == 1
    assert found(store) == []
    assert search(store, 21).added == 0
    assert found(store) == [(candidate, 21)]


def test_acknowledged_candidate_moves_to_the_commit_that_is_measured_later(
    store: Store, tmp_path: Path
) -> None:
    refresher = CandidateRefresher(Hunter(), "hunter")
    store.ingest([point(order, 1.0 + (order >= 320)) for order in range(200, 440, 10)], "ci")
    refresher.refresh(store)
    [(candidate, order)] = found(store)
    assert order == 320
    judge(store, candidate, Verdict.TRUE_POSITIVE)
    store.ingest([point(order, 1.0 + (order >= 313)) for order in range(311, 320)], "ci")
    done = refresher.refresh(store)
    assert (done.added, done.moved, done.processed_moved, done.withdrawn) == (0, 1, 1, 0)
    with store.read() as connection:
        [moved] = find_candidates(connection, withdrawn=True)
        assert (moved.id, moved.order, moved.commit) == (candidate, 313, "c313")
        assert (moved.verdict, moved.present) == (Verdict.TRUE_POSITIVE, True)
        assert [row[:3] for row in moves_of(connection, candidate)] == [("moved", 320, 313)]
        export.export_tables(connection, tmp_path)
    learned = History.read(tmp_path).candidates
    assert (learned.orders.tolist(), learned.verdict.tolist()) == ([313], ["true_positive"])
    assert learned.index.tolist() == [14]


def test_candidate_with_a_verdict_is_kept_when_it_is_no_longer_found(store: Store) -> None:
    candidate = only_candidate(store)
    judge(store, candidate, Verdict.FALSE_POSITIVE)
    done = search(store, 40)
    assert (done.withdrawn, done.processed_withdrawn) == (1, 1)
    with store.read() as connection:
        [kept, other] = find_candidates(connection)
    assert (kept.order, kept.present, kept.verdict) == (20, False, Verdict.FALSE_POSITIVE)
    assert kept.before is not None
    assert other.present
    judge(store, candidate, Verdict.TRUE_POSITIVE)
    assert found(store) == [(other.id, 40)]
    done = search(store, 22, 40)
    assert (done.added, done.returned, done.processed_returned, done.moved) == (0, 1, 1, 0)
    with store.read() as connection:
        kept = get_candidate(connection, candidate)
        events = [event[:3] for event in moves_of(connection, candidate)]
    assert (kept.order, kept.present, kept.verdict) == (22, True, Verdict.TRUE_POSITIVE)
    assert events == [("withdrawn", 20, 20), ("returned", 20, 22)]


def test_refresh_keeps_a_verdict_given_meanwhile(store: Store) -> None:
    candidate = only_candidate(store)

    class Slow(Scripted):
        def find(self, values: Floats) -> list[RawChangePoint]:
            judge(store, candidate, Verdict.TRUE_POSITIVE)
            return super().find(values)

    store.ingest([point(60, 1.0)], "ci")
    CandidateRefresher(Slow((23,)), "slow").refresh(store)
    assert found(store) == [(candidate, 23)]
    with store.read() as connection:
        assert get_candidate(connection, candidate).verdict is Verdict.TRUE_POSITIVE


def test_refresh_searches_again_after_points_arrived_meanwhile(store: Store) -> None:
    flat(store)

    class Slow(Scripted):
        def find(self, values: Floats) -> list[RawChangePoint]:
            if not self.lengths:
                store.ingest([point(60, 1.0)], "ci")
            return super().find(values)

    slow = Slow((20,))
    assert CandidateRefresher(slow, "slow").refresh(store).series == 0
    assert CandidateRefresher(slow, "slow").refresh(store).series == 1
    assert slow.lengths == [60, 61]


def test_verdicts_keep_their_history_and_the_latest_applies(store: Store) -> None:
    candidate = only_candidate(store)
    judge(store, candidate, Verdict.UNDER_INVESTIGATION, "ann")
    judge(store, candidate, Verdict.TRUE_POSITIVE, "bob")
    with store.read() as connection:
        entries = verdicts.history(connection, candidate=candidate)[::-1]
        assert [(entry.verdict.value, entry.who, entry.note) for entry in entries] == [
            ("under_investigation", "ann", "why"),
            ("true_positive", "bob", "why"),
        ]
        assert get_candidate(connection, candidate).verdict is Verdict.TRUE_POSITIVE
        assert [act.who for act in audit.trail(connection, 2)] == ["bob", "ann"]
    with pytest.raises(DataError, match="name of the person: 1 to 2000 characters"):
        judge(store, candidate, Verdict.TRUE_POSITIVE, "")


def test_refresh_scores_found_candidates_with_the_verdicts_around(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Candidates] = []

    def scored(model: object, values: Floats, offsets: Ints, around: Candidates) -> Floats:
        searched.append(around)
        return np.arange(around.index.size) / 10

    monkeypatch.setattr(refresh, "score_candidates", scored)
    candidate = only_candidate(store)
    judge(store, candidate, Verdict.FALSE_POSITIVE)
    store.ingest([point(60, 1.0)], "ci")
    model = small_model(use="label_free")
    refresher = CandidateRefresher(Scripted((20, 40, 50)), "scripted", model)
    assert refresher.refresh(store).added == 2
    [around] = searched
    assert sorted(zip(around.index.tolist(), around.verdict.tolist(), strict=True)) == [
        (20, "false_positive"),
        (40, "not_triaged"),
        (50, "not_triaged"),
    ]
    with store.read() as connection:
        rows = find_candidates(connection)
    assert [(row.order, row.probability, row.model) for row in rows] == [
        (20, 0.0, model.version),
        (40, 0.1, model.version),
        (50, 0.2, model.version),
    ]


def test_triaged_candidates_keep_the_probability_they_are_reported_with(store: Store) -> None:
    store.ingest(history("a", 60), "ci")
    model = TriageModel.default("label_free")
    assert CandidateRefresher(Triaged(), "Triaged", model).refresh(store).added == 1
    with store.read() as connection:
        [candidate] = find_candidates(connection)
        [values] = reading.read_series(connection, [candidate.series]).values()
    [point] = Triaged().detect(values)
    assert (candidate.order, candidate.probability, candidate.model) == (
        30,
        point.probability,
        model.version,
    )


def test_runs_of_a_commit_are_one_point_to_the_detector(store: Store) -> None:
    sent = [Measurement(series(), 1.0, order, run=str(r)) for order in range(20) for r in (0, 1)]
    store.ingest(sent, "ci")
    detector = Scripted((10,))
    CandidateRefresher(detector, "scripted").refresh(store)
    assert detector.lengths == [20]
    assert [order for _, order in found(store)] == [10]


def test_withdraw_of_many_candidates_fits_the_statements(store: Store) -> None:
    candidate = only_candidate(store)
    many = list(range(candidate, candidate + 70_000))

    def work(connection: sa.Connection) -> None:
        refresh.withdraw(connection, many)

    store.write(work)
    assert found(store) == []


def test_effectiveness_counts_commits_tickets_and_verdicts_that_do_not_fit(store: Store) -> None:
    flat(store)
    flat(store, name="b")
    search(store, 20, 40, 50)  # in both series
    first, second, third, *_ = (number for number, _ in found(store))
    judge(store, first, Verdict.TRUE_POSITIVE)
    judge(store, second, Verdict.FALSE_POSITIVE)
    judge(store, third, Verdict.TRUE_POSITIVE)
    about = [second, third]
    store.write(lambda connection: tickets.file(connection, "PERF-1", "", "", about, "ann"))
    search(store, 20, 50)  # of the first series
    with store.read() as connection:
        counted = record.effectiveness(connection)
        assert record.effectiveness(connection, project="other").change_points == 0
        later = record.effectiveness(connection, since=audit.now() + 1000)
    assert counted._asdict() == {
        "change_points": 6,
        "commits": 3,
        "commits_with_ticket": 2,
        "commits_processed": 3,
        "tickets": 1,
        "real": 2,
        "real_not_found": 0,
        "real_without_ticket": 1,
        "noise": 1,
        "noise_with_ticket": 1,
        "noise_not_found": 1,
    }
    assert not any(later)


def test_refresh_observes_arrivals_of_the_results_that_it_searched(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that comes after a series was observed is observed in the next round."""
    newest = [point(order)._replace(time=order * 1000) for order in range(30)]
    store.ingest(newest[:20], "ci")
    observe = arrivals.observe

    def observe_before(connection: sa.Connection, numbers: Iterable[int]) -> list[Row]:
        rows = observe(connection, numbers)
        store.ingest(newest[20:], "ci")
        return rows

    monkeypatch.setattr(arrivals, "observe", observe_before)
    loop = RefreshLoop(store, WorkerConfig("", Scripted((10,)), "scripted", None))
    loop.run_once(clusters=False)
    monkeypatch.undo()
    loop.run_once(clusters=False)
    with store.read() as connection:
        assert candidate_records.count_stale(connection) == 0
        assert connection.scalar(sa.select(schema.arrivals.c.last)) == 29_000

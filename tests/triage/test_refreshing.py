from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
import sqlalchemy as sa

from barograph.detection import Hunter
from barograph.detection.base import Found, describe, observe
from barograph.detection.scoring import Candidates
from barograph.errors import DataError
from barograph.series import ChangePoint, Floats, Ints, Verdict
from barograph.store import Measurement, Store, audit, queries, stale
from barograph.triage import candidates, refreshing, verdicts
from barograph.triage.candidates import Look, Plan, Refreshed, Stored
from tests.store.samples import history, point, series


@dataclass
class Scripted:
    """Finds change points where it is told to."""

    places: Sequence[int] = ()
    lengths: list[int] = field(default_factory=list)

    def detect(self, values: npt.ArrayLike) -> list[ChangePoint]:
        seen = observe(values)
        self.lengths.append(seen.values.size)
        return describe(seen, [Found(place, 1.0, 0.01) for place in self.places])


def flat(store: Store, length: int = 60, name: str = "a") -> None:
    store.ingest([point(order, 1.0 + order % 2, name) for order in range(length)], "ci")


def look(store: Store, *places: int) -> Refreshed:
    store.ingest([point(1000 + hash(places) % 1000, 1.0)], "ci")
    return refreshing.refresh(store, Look(Scripted(places), "scripted"))


def found(store: Store, *, present: bool | None = True) -> list[tuple[int, int]]:
    with store.read() as connection:
        rows = queries.find_candidates(connection, present=present)
    return [(one.id, one.order) for one in rows]


def judge(store: Store, candidate: int, verdict: Verdict, who: str = "ann") -> None:
    store.write(lambda connection: verdicts.give(connection, candidate, verdict, who, "why"))


def test_hunter_finds_the_step_and_says_what_lies_around_it(store: Store) -> None:
    store.ingest([one._replace(direction=1) for one in history("a", 60)], "ci")  # type: ignore[arg-type]
    done = refreshing.refresh(store, Look(Hunter(), "hunter"))
    assert (done.series, done.added) == (1, 1)
    with store.read() as connection:
        [one] = queries.find_candidates(connection)
    assert (one.order, one.commit, one.detector) == (30, "c30", "hunter")
    assert one.before is not None
    assert one.after is not None
    assert one.before.count == one.after.count == 30
    assert one.verdict is Verdict.NOT_TRIAGED


def test_only_touched_series_are_looked_at_and_each_once(store: Store) -> None:
    flat(store, 20, "a")
    flat(store, 30, "b")
    detector = Scripted()
    assert refreshing.refresh(store, Look(detector, "d")).series == 2
    store.ingest([point(20, 1.0, "a"), point(0, 1.0, "b")], "ci")
    assert refreshing.refresh(store, Look(detector, "d")).series == 1
    assert sorted(detector.lengths) == [20, 21, 30]
    assert refreshing.recompute(store, Look(detector, "d")).series == 2
    with store.read() as connection:
        assert stale.waiting(connection) == 0


def test_a_candidate_that_moves_by_a_few_commits_stays_the_same(store: Store) -> None:
    flat(store)
    look(store, 20, 40)
    [(one, _), (other, _)] = found(store)
    done = look(store, 22, 40)
    assert (done.added, done.moved, done.withdrawn) == (0, 1, 0)
    assert found(store) == [(one, 22), (other, 40)]
    with store.read() as connection:
        assert [move[:2] for move in queries.moves_of(connection, one)] == [(20, 22)]


def test_what_is_found_no_more_is_kept_aside_and_comes_back_as_itself(store: Store) -> None:
    flat(store)
    look(store, 20)
    [(one, _)] = found(store)
    assert look(store).withdrawn == 1
    assert found(store) == []
    assert look(store, 21).added == 0
    assert found(store) == [(one, 21)]


def test_a_judged_candidate_neither_moves_nor_goes_nor_comes_twice(store: Store) -> None:
    flat(store)
    look(store, 20)
    [(one, _)] = found(store)
    judge(store, one, Verdict.FALSE_POSITIVE)
    assert look(store, 22).added == 0
    look(store, 40)
    assert [order for _, order in found(store)] == [20, 40]


def test_a_verdict_given_while_the_detector_looks_is_not_overwritten(store: Store) -> None:
    flat(store)
    look(store, 20)
    [(one, _)] = found(store)

    class Slow(Scripted):
        def detect(self, values: npt.ArrayLike) -> list[ChangePoint]:
            judge(store, one, Verdict.TRUE_POSITIVE)
            return super().detect(values)

    store.ingest([point(60, 1.0)], "ci")
    refreshing.refresh(store, Look(Slow((23,)), "slow"))
    assert found(store) == [(one, 20)]


def test_points_that_land_while_the_detector_looks_are_looked_at_next(store: Store) -> None:
    flat(store)

    class Slow(Scripted):
        def detect(self, values: npt.ArrayLike) -> list[ChangePoint]:
            if not self.lengths:
                store.ingest([point(60, 1.0)], "ci")
            return super().detect(values)

    slow = Slow((20,))
    assert refreshing.refresh(store, Look(slow, "slow")).series == 0
    assert refreshing.refresh(store, Look(slow, "slow")).series == 1
    assert slow.lengths == [60, 61]


def test_verdicts_are_all_kept_and_the_latest_holds(store: Store) -> None:
    flat(store)
    look(store, 20)
    [(one, _)] = found(store)
    judge(store, one, Verdict.UNDER_INVESTIGATION, "ann")
    judge(store, one, Verdict.TRUE_POSITIVE, "bob")
    with store.read() as connection:
        said = verdicts.given(connection, one)
        assert [(given.verdict.value, given.who, given.note) for given in said] == [
            ("under_investigation", "ann", "why"),
            ("true_positive", "bob", "why"),
        ]
        assert queries.one_candidate(connection, one).verdict is Verdict.TRUE_POSITIVE
        assert [act.who for act in audit.trail(connection, 2)] == ["bob", "ann"]
        [waiting] = queries.placed(connection, verdict=Verdict.TRUE_POSITIVE)
        assert waiting.id == one
    with pytest.raises(DataError, match="no candidate 999"):
        judge(store, 999, Verdict.TRUE_POSITIVE)
    with pytest.raises(DataError, match="needs the name"):
        judge(store, one, Verdict.TRUE_POSITIVE, "")


@dataclass(frozen=True)
class Model:
    feature_set: str = "any"
    threshold: float = 0.5

    def predict_proba(self, matrix: Floats) -> Floats:
        raise NotImplementedError


def test_the_model_scores_fresh_candidates_and_knows_the_verdicts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Candidates] = []

    def scored(model: object, values: Floats, offsets: Ints, around: Candidates) -> Floats:
        asked.append(around)
        return np.arange(around.index.size) / 10

    monkeypatch.setattr(candidates, "score_candidates", scored)
    flat(store)
    look(store, 20)
    [(one, _)] = found(store)
    judge(store, one, Verdict.FALSE_POSITIVE)
    store.ingest([point(60, 1.0)], "ci")
    scripted = Look(Scripted((20, 40, 50)), "scripted", Model(), "v7")
    assert refreshing.refresh(store, scripted).added == 2
    [around] = asked
    assert sorted(zip(around.index.tolist(), around.verdict.tolist(), strict=True)) == [
        (20, "false_positive"),
        (40, "not_triaged"),
        (50, "not_triaged"),
    ]
    with store.read() as connection:
        rows = queries.find_candidates(connection)
    assert [(row.order, row.probability, row.model) for row in rows] == [
        (20, None, None),
        (40, 0.0, "v7"),
        (50, 0.1, "v7"),
    ]


def test_two_runs_of_a_commit_are_one_candidate(store: Store) -> None:
    sent = [Measurement(series(), 1.0, order, run=str(r)) for order in range(20) for r in (0, 1)]
    store.ingest(sent, "ci")
    refreshing.refresh(store, Look(Scripted((20, 21)), "scripted"))
    with store.read() as connection:
        orders = connection.scalars(sa.text('SELECT "order" FROM candidates')).all()
    assert orders == [10]


def test_more_candidates_vanish_at_once_than_a_statement_has_room_for(store: Store) -> None:
    flat(store)
    look(store, 20)
    gone = [Stored(number, number, Verdict.NOT_TRIAGED, 0, 0) for number in range(1, 300_000)]

    def work(connection: sa.Connection) -> Refreshed:
        [course] = candidates.courses(connection, [1])
        plans = [Plan(course, [], [], gone)]
        return candidates.write(connection, plans, [], Look(Scripted(), "scripted"), None, 0)

    assert store.write(work).withdrawn == 1
    assert found(store) == []

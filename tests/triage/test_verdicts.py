"""Verdicts in batches, undoing them, and their history."""

import json
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import Store, audit
from barograph.server.store.candidate_records import get_candidate
from barograph.server.store.schema import candidates, models
from barograph.server.triage import verdicts
from barograph.server.triage.verdicts import BatchResult, RefusedVerdict, SavedVerdict, Why
from tests.store.samples import point

REAL, NOISE, OPEN = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE, Verdict.NOT_TRIAGED
Give = Callable[..., BatchResult]


@pytest.fixture
def waiting(store: Store) -> Store:
    """A store with three candidates, the last of which was withdrawn."""
    store.ingest([point(order) for order in range(4)], "ci")
    rows = [
        {
            "series": 1,
            "order": number,
            "commit": f"c{number}",
            "verdict": OPEN,
            "present": number < 3,
            "probability": number / 10,
            "model": 1,
        }
        for number in (1, 2, 3)
    ]
    store.write(lambda connection: connection.execute(sa.insert(candidates), rows))
    return store


@pytest.fixture
def give(waiting: Store) -> Give:
    def record(
        *items: tuple[int, int | None], verdict: Verdict = REAL, **more: object
    ) -> BatchResult:
        who = str(more.pop("who", "ann"))
        return waiting.write(
            lambda connection: verdicts.record_batch(connection, items, verdict, who, **more)  # type: ignore[arg-type]
        )

    return record


def undo(store: Store, batch: int, request: str | None = None) -> BatchResult:
    return store.write(lambda connection: verdicts.undo(connection, batch, "ann", request=request))


def current(store: Store, number: int) -> tuple[Verdict, int, int | None]:
    with store.read() as connection:
        candidate = get_candidate(connection, number)
    return candidate.verdict, candidate.version, candidate.triaged_on


def test_batch_is_recorded_with_the_score_of_each_candidate(waiting: Store, give: Give) -> None:
    result = give((1, 0), (2, 0), note="two\nlines", reason="known host", timestamp=5)
    assert result == (1, [SavedVerdict(1, 1), SavedVerdict(2, 1)], [])
    assert current(waiting, 2) == (REAL, 1, 5)
    with waiting.read() as connection:
        second, first = verdicts.history(connection)
        assert (first.candidate, first.who, first.time, first.batch) == (1, "ann", 5, 1)
        assert (first.note, first.reason, first.undoes) == ("two\nlines", "known host", None)
        assert (first.probability, second.probability) == (0.1, 0.2)
        assert first.model == connection.scalar(sa.select(models.c.version))
        [entry] = audit.trail(connection, 1)
    assert (entry.who, entry.action, entry.subject) == ("ann", "verdict", "batch 1")
    assert entry.detail == {"verdicts": {"true_positive": 2}, "candidates": [1, 2]}


def test_candidate_decided_meanwhile_is_refused_and_the_others_are_saved(
    waiting: Store, give: Give
) -> None:
    give((1, 0), verdict=NOISE, who="wen", timestamp=7)
    result = give((1, 0), (2, 0), (3, 0), (9, 0))
    assert result.saved == [(2, 1)]
    assert result.refused == [
        RefusedVerdict(1, Why.DECIDED, 1, NOISE, "wen", 7),
        RefusedVerdict(3, Why.WITHDRAWN, 0, OPEN, None, None),
        RefusedVerdict(9, Why.GONE),
    ]
    assert current(waiting, 1) == (NOISE, 1, 7)
    assert give((1, 1)).saved == [(1, 2)]
    assert give((1, None), verdict=Verdict.UNSURE).saved == [(1, 3)]


def test_move_of_a_candidate_does_not_change_its_version(waiting: Store, give: Give) -> None:
    moved = sa.update(candidates).where(candidates.c.id == 1).values(order=2)
    waiting.write(lambda connection: connection.execute(moved))
    assert give((1, 0)).refused == []


def test_request_sent_again_is_answered_as_before_and_writes_nothing(
    waiting: Store, give: Give
) -> None:
    first = give((1, 0), (9, 0), request="r1")
    give((1, 1), verdict=NOISE, who="wen")
    assert give((1, 0), (9, 0), request="r1") == first
    assert give((2, 0), who="wen", request="r1").saved == [(2, 1)]  # the request of another person
    with pytest.raises(DataError, match="'r1' was used for another batch"):
        give((2, 1), request="r1")
    undone = undo(waiting, first.batch, request="r2")
    assert undo(waiting, first.batch, request="r2") == undone
    with waiting.read() as connection:
        assert len(verdicts.history(connection)) == 3


def test_undo_restores_the_verdicts_before(waiting: Store, give: Give) -> None:
    give((1, 0), verdict=NOISE, timestamp=5)
    batch = give((1, 1), (2, 0), timestamp=6).batch
    assert undo(waiting, batch).saved == [(1, 3), (2, 2)]
    assert current(waiting, 1) == (NOISE, 3, 5)
    assert current(waiting, 2) == (OPEN, 2, None)
    with waiting.read() as connection:
        entries = verdicts.history(connection, candidate=1)
    assert [(entry.verdict, entry.undoes) for entry in entries] == [
        (NOISE, 2),
        (REAL, None),
        (NOISE, None),
    ]


def test_undo_can_be_undone_and_keeps_the_date_of_the_verdict(waiting: Store, give: Give) -> None:
    batch = give((1, 0), timestamp=5).batch
    first = undo(waiting, batch)
    second = undo(waiting, first.batch)
    assert current(waiting, 1) == (REAL, 3, 5)
    undo(waiting, second.batch)
    assert current(waiting, 1) == (OPEN, 4, None)
    give((1, 4), timestamp=8)
    undo(waiting, give((1, 5), verdict=NOISE, timestamp=9).batch)
    undo(waiting, give((1, 7), verdict=NOISE, timestamp=10).batch)
    assert current(waiting, 1) == (REAL, 9, 8)


def test_one_step_after_the_other_is_undone(waiting: Store, give: Give) -> None:
    first, second = give((1, 0), verdict=NOISE), give((1, 1), verdict=Verdict.UNSURE)
    undo(waiting, second.batch)
    again = undo(waiting, first.batch)
    assert current(waiting, 1)[:2] == (OPEN, 4)
    undo(waiting, again.batch)
    assert current(waiting, 1)[:2] == (NOISE, 5)
    assert [refused.why for refused in undo(waiting, second.batch).refused] == [Why.UNDONE]
    assert undo(waiting, first.batch).saved == [(1, 6)]


def test_undo_is_refused_after_the_verdict_of_another_person(waiting: Store, give: Give) -> None:
    batch = give((1, 0), (2, 0)).batch
    give((1, 1), verdict=NOISE, who="wen", timestamp=7)
    result = undo(waiting, batch)
    assert result.saved == [(2, 2)]
    assert result.refused == [RefusedVerdict(1, Why.DECIDED, 2, NOISE, "wen", 7)]
    assert [(refused.id, refused.why) for refused in undo(waiting, batch).refused] == [
        (1, Why.DECIDED),
        (2, Why.UNDONE),
    ]
    with pytest.raises(DataError, match="no batch 99 of verdicts"):
        undo(waiting, 99)


def test_history_is_filtered_and_paged(waiting: Store, give: Give) -> None:
    batch = give((1, 0)).batch
    give((2, 0), verdict=NOISE, who="wen")
    give((1, 1), verdict=NOISE)
    with waiting.read() as connection:

        def ids(**filters: object) -> list[int]:
            return [entry.id for entry in verdicts.history(connection, **filters)]  # type: ignore[arg-type]

        assert ids() == [3, 2, 1]
        assert ids(limit=2) == [3, 2]
        assert ids(before=2, limit=2) == [1]
        assert ids(candidate=1) == [3, 1]
        assert ids(who="wen") == [2]
        assert ids(verdict=REAL) == ids(batch=batch) == [1]


@pytest.mark.parametrize(
    ("items", "more", "message"),
    [
        ([], {}, "1 to 5000 change points, got 0"),
        ([(k, 0) for k in range(5001)], {}, "got 5001"),
        ([(1, 0), (2, 0), (1, 0)], {}, "change point 1 is in the batch more than once"),
        ([(1, 0)], {"who": ""}, "name of the person: 1 to 2000 characters"),
        ([(1, 0)], {"note": "x" * 10_001}, "note: at most 10000 characters"),
        ([(1, 0)], {"note": "a\x00b"}, "note: .* no control characters"),
        ([(1, 0)], {"reason": "a\nb"}, "reason: at most 200 characters"),
        ([(1, 0)], {"request": ""}, "request: 1 to 100 characters"),
    ],
)
def test_invalid_batch_is_refused_and_nothing_is_written(
    waiting: Store, give: Give, items: list[tuple[int, int]], more: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        give(*items, **more)
    with waiting.read() as connection:
        assert verdicts.history(connection) == []


def test_largest_batch_is_one_transaction(waiting: Store, give: Give) -> None:
    row = {"series": 1, "order": 1, "commit": "", "verdict": OPEN, "present": True}
    rows = [row] * (verdicts.ITEMS - 2)
    waiting.write(lambda connection: connection.execute(sa.insert(candidates), rows))
    items = [(number, 0) for number in (1, 2, *range(4, verdicts.ITEMS + 2))]
    batch = give(*items)
    assert len(batch.saved) == verdicts.ITEMS
    assert len(undo(waiting, batch.batch).saved) == verdicts.ITEMS
    with waiting.read() as connection:
        [entry, _] = audit.trail(connection, 2)
    assert len(json.dumps(entry.detail)) < 50_000

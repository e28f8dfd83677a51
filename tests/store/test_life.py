"""Renaming, merging, retiring, deleting and pruning series."""

from collections.abc import Callable
from dataclasses import astuple
from functools import partial

import pytest
import sqlalchemy as sa

from barograph.results.series import Direction, Verdict
from barograph.runtime.errors import ConfigError, DataError, StoreError
from barograph.server.store import (
    Limits,
    Measurement,
    PointStatus,
    Store,
    audit,
    decide,
    life,
    reading,
    retention,
)
from barograph.server.store.candidate_records import find_candidates
from barograph.server.store.schema import metadata, verdicts
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.triage.verdicts import record_batch
from tests.store.digest import contents, digest
from tests.store.judges import Rule
from tests.store.samples import history, number_of, point, series
from tests.triage.test_refresh import Scripted

DAY = 86_400_000


def named(store: Store) -> dict[int, str]:
    with store.read() as connection:
        return {row.id: row.name.test for row in reading.find_series(connection)}


def orders(store: Store, number: int) -> list[int]:
    with store.read() as connection:
        return [row.order for row in reading.points_of(connection, number)]


def rename(store: Store, number: int, test: str, project: str = "p") -> None:
    name = series(test, project)
    store.write(lambda connection: life.rename(connection, number, name, "ann"))


def searched(store: Store, *places: int) -> None:
    CandidateRefresher(Scripted(places), "d").recompute(store)


def judge(store: Store, candidate: int) -> None:
    items = [(candidate, None)]
    store.write(lambda c: record_batch(c, items, Verdict.TRUE_POSITIVE, "ann"))


def last_entry(store: Store) -> audit.AuditEntry:
    with store.read() as connection:
        return audit.trail(connection, 1)[0]


def test_results_under_a_former_name_go_to_the_renamed_series(store: Store, url: str) -> None:
    store.ingest([point(0), point(1, name="b")], "ci")
    with Store(url, Rule()) as other:
        other.ingest([point(1)], "ci")  # it has cached the names
        rename(store, 1, "new", project="q")
        assert named(store) == {1: "new", 2: "b"}
        entry = last_entry(store)
        assert (entry.who, entry.action, entry.subject) == ("ann", "rename series", "series 1")
        for sender, order in ((store, 2), (other, 3)):
            [result] = sender.ingest([point(order)], "ci").points
            assert (result.status, result.series) == (PointStatus.WRITTEN, 1)
    store.ingest([Measurement(series("new", "q"), 1.0, 4)], "ci")
    assert orders(store, 1) == [0, 1, 2, 3, 4]
    # A commit of the series is known in its new project, too.
    sent = Measurement(series("other", "q"), 1.0, commit="c1")
    assert store.ingest([sent], "ci").points[0].order == 1
    with store.read() as connection:
        assert number_of(connection, series("a")) == 1
        renamed = reading.series_named(connection, [series("a")])[series("a")]
        assert (renamed.id, renamed.name) == (1, series("new", "q"))


def test_name_that_is_taken_or_invalid_is_refused(store: Store) -> None:
    store.ingest([point(0), point(0, name="b")], "ci")
    with pytest.raises(DataError, match="; merge the two instead"):
        rename(store, 1, "b")
    with pytest.raises(DataError, match="control character"):
        rename(store, 1, "x\n")
    with pytest.raises(DataError, match="series 1: the new test is empty"):
        rename(store, 1, "")
    with pytest.raises(DataError, match="there is no series 9"):
        rename(store, 9, "x")
    rename(store, 1, "new")
    with pytest.raises(DataError, match="is a former name of series 1"):
        rename(store, 2, "a")
    rename(store, 1, "a")
    rename(store, 2, "new2")
    assert named(store) == {1: "a", 2: "new2"}


@pytest.mark.parametrize("together", [1000, 7])
def test_merge_leaves_what_one_series_with_all_results_has(
    store: Store, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(decide, "SLICE", together)
    sent = history("a", 40)
    halves = sent[::2], sent[1::2]
    store.ingest([halve._replace(series=series("b")) for halve in halves[0]], "ci")
    store.ingest([point(0, 5.0, "unrelated"), *halves[1]], "ci")
    numbers = {name: number for number, name in named(store).items()}
    moved = store.merge(numbers["b"], numbers["a"], "ann")
    assert moved == 20
    assert named(store) == {numbers["a"]: "a", numbers["unrelated"]: "unrelated"}
    [late] = store.ingest([point(99, name="b")], "ci").points
    assert late.series == numbers["a"]
    with Store(new_url(), Rule()) as other:
        other.ingest([*sent, point(0, 5.0, "unrelated"), point(99)], "ci")
        assert contents(store) == contents(other)


def test_merge_that_fails_changes_nothing_and_can_be_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = history("a", 40)
    store.ingest([row._replace(series=series("b")) for row in sent[::2]], "ci")
    store.ingest(sent[1::2], "ci")

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as context:
        context.setattr(decide, "decide", fail)
        with pytest.raises(StoreError, match="the disk is full"):
            store.merge(1, 2, "ann")
    assert named(store) == {1: "b", 2: "a"}
    assert orders(store, 1) == [*range(0, 40, 2)]
    assert orders(store, 2) == [*range(1, 40, 2)]
    assert store.merge(1, 2, "ann") == 20
    assert named(store) == {2: "a"}
    assert orders(store, 2) == [*range(40)]


def test_merge_keeps_verdicts_and_joins_candidates_at_one_order(store: Store) -> None:
    store.ingest([point(order, 1.0, name) for order in range(30) for name in "ab"], "ci")
    searched(store, 10, 20)
    with store.read() as connection:
        candidates = {
            (candidate.series, candidate.order): candidate.id
            for candidate in find_candidates(connection)
        }
    judge(store, candidates[1, 10])
    store.merge(1, 2, "ann")
    with store.read() as connection:
        rows = find_candidates(connection)
        kept = connection.scalars(sa.select(verdicts.c.candidate)).all()
    assert [(row.series, row.order) for row in rows if row.order == 10] == [(2, 10)]
    assert len(rows) == 2
    assert kept == [row.id for row in rows if row.verdict is Verdict.TRUE_POSITIVE]
    searched(store, 10, 20)
    with store.read() as connection:
        assert len(find_candidates(connection)) == 2


@pytest.mark.parametrize(
    ("source", "target"), [("ms", ""), ("", "ms"), ("ms", "ms"), ("msec", "ms")]
)
def test_merged_series_has_the_unit_that_either_states(
    store: Store, source: str, target: str
) -> None:
    store.ingest([point(0, 4.5)._replace(unit=source)], "ci")
    store.ingest([point(1, 4.6, "b")._replace(unit=target)], "ci")
    store.merge(1, 2, "ann")
    with store.read() as connection:
        assert reading.get_series(connection, 2).unit == "ms"
        assert reading.read_series(connection, [2])[2].values.tolist() == [4.5, 4.6]


def test_renamed_series_keeps_its_unit(store: Store) -> None:
    store.ingest([point(0)._replace(unit="ms")], "ci")
    renamed = store.write(lambda connection: life.rename(connection, 1, series("b"), "ann"))
    assert renamed.unit == "ms"
    [outcome] = store.ingest([point(1, 0.5)._replace(unit="s")], "ci").points
    assert outcome.series == 1
    with store.read() as connection:
        assert reading.read_series(connection, [1])[1].values.tolist() == [1.0, 500.0]


def test_names_of_a_series_share_the_unit_that_either_states(store: Store) -> None:
    store.ingest([point(0)], "ci")
    store.write(lambda connection: life.rename(connection, 1, series("b"), "ann"))
    store.ingest([point(1), point(2, name="b")], "ci")  # both names are cached
    store.ingest([point(3, 4.5)._replace(unit="ms")], "ci")
    store.ingest([point(4, 0.5, "b")._replace(unit="s")], "ci")
    with store.read() as connection:
        assert reading.get_series(connection, 1).unit == "ms"
        assert reading.read_series(connection, [1])[1].values[3:].tolist() == [4.5, 500.0]


def test_merge_that_does_not_fit_changes_nothing(store: Store, url: str) -> None:
    store.ingest([point(0), point(0, name="b")._replace(commit="other")], "ci")
    store.ingest([point(0, name="c")._replace(direction=Direction.LOWER_IS_BETTER)], "ci")
    store.ingest([point(0, name="d")._replace(direction=Direction.HIGHER_IS_BETTER)], "ci")
    store.ingest([point(0, name="e")._replace(unit="s")], "ci")
    store.ingest([point(0, name="f")._replace(unit="ms")], "ci")
    with store.read() as connection:
        before = digest(connection)
    for source, target, reason in (
        (1, 2, "1 results do not fit, such as: commit: order 0 of this series is 'other'"),
        (3, 4, "differ in which direction is better"),
        (5, 6, "the values of series 5 are in 's', those of 6 in 'ms'"),
        (1, 1, "cannot be merged with itself"),
        (1, 9, "there is no series 9"),
    ):
        with pytest.raises(DataError, match=reason):
            store.merge(source, target, "ann")
    with Store(url) as other, pytest.raises(ConfigError, match="without a model"):
        other.merge(1, 3, "ann")
    store.ingest([point(1, name="c"), point(0, run="2")], "ci")
    with store.read() as connection:
        before = digest(connection)
    limits = Limits(runs=1)
    with (
        Store(url, Rule(), limits=limits) as other,
        pytest.raises(DataError, match="run: order 0 has 1 runs, and no more"),
    ):
        other.merge(1, 3, "ann")
    with store.read() as connection:
        assert digest(connection) == before


def test_series_with_another_order_of_a_commit_is_not_merged(store: Store) -> None:
    store.ingest([point(5), point(3)._replace(series=series("b", "other"), commit="c5")], "ci")
    reason = "order: 3, but commit 'c5' of project 'p' has order 5; a commit has one order"
    with pytest.raises(DataError, match=reason):
        store.merge(2, 1, "ann")


def test_retired_series_keeps_its_points_and_can_be_brought_back(store: Store) -> None:
    store.ingest([point(0)], "ci")
    store.write(lambda connection: life.retire(connection, 1, "ann"))
    with store.read() as connection:
        assert reading.get_series(connection, 1).retired is not None
    assert orders(store, 1) == [0]
    store.write(lambda connection: life.retire(connection, 1, "ann", retired=False))
    with store.read() as connection:
        assert reading.get_series(connection, 1).retired is None
    assert last_entry(store).action == "bring back series"


def test_series_that_is_retired_again_keeps_its_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.ingest([point(0)], "ci")
    for now, retired in ((1000, True), (2000, True), (3000, False), (4000, False)):
        monkeypatch.setattr(audit, "now", lambda now=now: now)
        store.write(partial(life.retire, number=1, who="ann", retired=retired))
        with store.read() as connection:
            assert reading.get_series(connection, 1).retired == (1000 if retired else None)
            actions = [entry.action for entry in audit.trail(connection, 10)]
    assert actions == ["bring back series", "retire series", "ingest"]


def test_delete_removes_every_row_of_a_series(store: Store) -> None:
    store.ingest(history("b", 30), "ci")
    searched(store, 20)
    with store.read() as connection:
        before = {t.name: _rows(connection, t) for t in metadata.sorted_tables}
    store.ingest(history("a", 70, runs=2), "ci")
    store.ingest([point(3, 99.0, "a", "0")], "ci")
    rename(store, 2, "renamed")
    searched(store, 20)
    searched(store, 22)
    judge(store, 2)
    with pytest.raises(DataError, match="series 2 has 1 verdicts, which train models"):
        store.write(lambda connection: life.delete(connection, 2, "ann"))
    deleted = store.write(lambda c: life.delete(c, 2, "ann", with_verdicts=True))
    assert (deleted.points, deleted.candidates, deleted.verdicts) == (140, 1, 1)
    assert last_entry(store).detail["name"] == str(series("renamed"))
    with store.read() as connection:
        after = {t.name: _rows(connection, t) for t in metadata.sorted_tables}
    # What belongs to no series alone, or to the other one, stays.
    grown = {name for name, count in after.items() if count != before[name]}
    assert grown == {"audit", "commits", "moves", "verdict_batches"}
    assert after["moves"] == 1
    [result] = store.ingest([point(0)], "ci").points
    assert (result.status, result.series) == (PointStatus.WRITTEN, 3)


def _rows(connection: sa.Connection, t: sa.Table) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(t)).scalar_one()


def test_prune_deletes_old_results_and_keeps_those_of_verdicts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "NEWEST", 20)
    sent = [
        point(order, float(order % 7), name)._replace(time=order * DAY)
        for order in range(100)
        for name in "abc"
    ]
    store.ingest(sent, "ci")
    searched(store, 10, 60)
    with store.read() as connection:
        [judged] = [candidate.id for candidate in find_candidates(connection, number=1, limit=1)]
    judge(store, judged)
    store.write(lambda connection: life.retire(connection, 3, "ann"))

    def prune(days: float, *, dry_run: bool = False) -> tuple[int, ...]:
        return astuple(retention.prune(store, days, "ann", dry_run=dry_run, timestamp=100 * DAY))

    assert prune(30, dry_run=True) == (2, 140, 4, 1)
    assert orders(store, 2)[0] == 0
    assert prune(30) == (2, 140, 4, 1)
    assert [orders(store, number)[0] for number in (1, 2, 3)] == [0, 70, 70]
    assert prune(1) == (2, 39, 0, 1)
    assert [orders(store, number)[0] for number in (1, 2, 3)] == [0, 80, 99]
    assert last_entry(store).action == "prune"
    with store.read() as connection:
        [left] = [
            candidate
            for candidate in find_candidates(connection, number=1)
            if candidate.id == judged
        ]
    assert left.verdict is Verdict.TRUE_POSITIVE
    with pytest.raises(DataError, match="older than 0 days"):
        prune(0)


def test_prune_that_ends_in_between_has_noted_what_it_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "NEWEST", 1)
    monkeypatch.setattr(retention, "CHUNK", 1)
    delete = retention._delete
    store.ingest([row._replace(time=(row.order or 0) * DAY) for row in history("ab", 50)], "ci")

    def once(connection: sa.Connection, number: int, cut: int) -> dict[str, int]:
        if number > 1:
            raise StoreError("the disk is full")
        return delete(connection, number, cut)

    monkeypatch.setattr(retention, "_delete", once)
    with pytest.raises(StoreError, match="the disk is full"):
        retention.prune(store, 20, "ann", timestamp=50 * DAY)
    assert [orders(store, number)[0] for number in (1, 2)] == [30, 0]
    entry = last_entry(store)
    assert (entry.action, entry.who, entry.detail["points"]) == ("prune", "ann", 30)


def test_results_after_a_prune_are_judged_as_in_a_series_without_the_old_ones(
    store: Store, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "NEWEST", 1)
    sent = [row._replace(time=(row.order or 0) * DAY) for row in history("a", 120)]
    store.ingest(sent[:100], "ci")
    retention.prune(store, 20, "ann", timestamp=100 * DAY)
    kept = sent[80:100]
    with Store(new_url(), Rule()) as other:
        other.ingest(kept, "ci")
        first = store.ingest(sent[100:], "ci").points
        second = other.ingest(sent[100:], "ci").points
    assert [row.decision for row in first] == [row.decision for row in second]
    assert orders(store, 1) == list(range(80, 120))

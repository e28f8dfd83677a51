import itertools
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barograph.results.history import History
from barograph.results.series import Direction, Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import Measurement, Store, exchange, export
from barograph.server.store.candidate_records import find_candidates
from barograph.server.triage import verdicts
from barograph.server.triage.refresh import CandidateRefresher
from tests.store.digest import digest
from tests.store.judges import Rule
from tests.store.samples import history, series
from tests.triage.test_refresh import Scripted


def fill(url: str, name: str) -> None:
    with Store(url, Rule()) as store:
        store.ingest(history(name, 30), "ci")


def exported(store: Store, folder: Path) -> dict[str, int]:
    with store.read() as connection:
        return export.export_tables(connection, folder)


def judged_history(store: Store) -> None:
    """Fill a store with results of four series, of which two candidates have a verdict."""
    sent = history("abc", 30, runs=2)
    sent = [row._replace(time=1_600_000_000_000 + (row.order or 0)) for row in sent]
    lower = Direction.LOWER_IS_BETTER
    sent.append(Measurement(series("z"), 1.0, 5, direction=lower, unit="ms"))
    store.ingest(sent[:-1], "ci")
    CandidateRefresher(Scripted((15,)), "hunter 1.0").refresh(store)
    store.ingest(sent[-1:], "ci")
    store.write(
        lambda connection: verdicts.record_batch(
            connection, [(1, None)], Verdict.TRUE_POSITIVE, "ann", timestamp=77_000
        )
    )
    store.write(lambda c: verdicts.record_batch(c, [(2, None)], Verdict.UNSURE, "ann"))


def test_import_of_an_export_gives_the_same_store(
    store: Store, new_url: Callable[[], str], tmp_path: Path
) -> None:
    judged_history(store)
    counts = exported(store, tmp_path / "out")
    assert counts == {"series": 4, "points": 91, "runs": 180, "candidates": 3}
    tables = History.read(tmp_path / "out")
    assert [row.unit for row in tables] == ["", "", "", "ms"]
    candidates = tables.candidates
    assert (candidates.index[0], candidates.orders[0], candidates.verdict[0]) == (
        15,
        15,
        "true_positive",
    )
    assert candidates.triaged_on[0] == 77_000
    assert (candidates.present is None, candidates.discovery is None, candidates.q is None) == (
        False,
    ) * 3

    with Store(new_url(), Rule()) as other:
        filled = exchange.import_history(other, tables, "ann")
        assert filled.points["written"] == 181
        assert (filled.candidates, filled.already) == (3, 0)
        with other.read() as connection:
            [judged] = find_candidates(connection, verdict=Verdict.TRUE_POSITIVE)
            [verdict] = verdicts.history(connection, candidate=judged.id)
            assert (verdict.who, verdict.time, verdict.note) == ("ann", 77_000, "imported")
            [unsure] = find_candidates(connection, verdict=Verdict.UNSURE)
            assert (unsure.version, unsure.triaged_on is None) == (1, False)
            once = digest(connection)
        again = exchange.import_history(other, tables, "ann")
        assert again.points["duplicate"] == 181
        assert (again.candidates, again.already) == (0, 3)
        with other.read() as connection:
            assert digest(connection) == once
        exported(other, tmp_path / "back")
    for name in ("series", "points", "runs", "candidates"):
        path = f"{name}.parquet"
        assert (tmp_path / "out" / path).read_bytes() == (tmp_path / "back" / path).read_bytes()


def test_import_recognises_a_candidate_that_moved(store: Store, tmp_path: Path) -> None:
    store.ingest(history("a", 30), "ci")
    CandidateRefresher(Scripted((13,)), "hunter 1.0").refresh(store)
    exported(store, tmp_path)
    CandidateRefresher(Scripted((15,)), "hunter 1.0").recompute(store)
    filled = exchange.import_history(store, History.read(tmp_path), "ann")
    assert (filled.candidates, filled.already) == (0, 1)
    with store.read() as connection:
        assert [candidate.order for candidate in find_candidates(connection, withdrawn=True)] == [
            15
        ]


def test_import_keeps_the_verdict_on_a_change_that_a_refresh_found_before_the_candidates(
    store: Store, new_url: Callable[[], str], tmp_path: Path
) -> None:
    store.ingest(history("ab", 30), "ci")
    CandidateRefresher(Scripted((13,)), "hunter 1.0").refresh(store)
    items = [(number, None) for number in (1, 2)]
    store.write(
        lambda c: verdicts.record_batch(c, items, Verdict.TRUE_POSITIVE, "ann", timestamp=77_000)
    )
    exported(store, tmp_path)
    with Store(new_url(), Rule()) as other:
        other.ingest(history("ab", 30), "ci")  # the points of the import
        refreshed = {"a": Scripted((13,)), "b": Scripted((15,))}
        for detector in refreshed.values():
            CandidateRefresher(detector, "hunter 1.0").refresh(other, limit=1)
        for _ in range(2):
            exchange.import_history(other, History.read(tmp_path), "ann")
            CandidateRefresher(Scripted((14,)), "hunter 1.0").refresh(other)
        with other.read() as connection:
            judged = [
                (change.series, change.order, change.verdict, change.triaged_on, change.version)
                for change in find_candidates(connection)
            ]
        assert judged == [
            (1, 14, Verdict.TRUE_POSITIVE, 77_000, 1),
            (2, 14, Verdict.TRUE_POSITIVE, 77_000, 1),
        ]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("dates", [(77_000, 88_000), (88_000, 77_000)])
def test_two_rows_of_one_candidate_give_one_entry_with_the_later_verdict(
    store: Store,
    new_url: Callable[[], str],
    tmp_path: Path,
    dates: tuple[int, int],
    *,
    stored: bool,
) -> None:
    store.ingest(history("ab", 30), "ci")
    CandidateRefresher(Scripted((13,)), "hunter 1.0").refresh(store)
    verdicts_given = zip(
        (1, 2), (Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE), dates, strict=True
    )
    for number, verdict, timestamp in verdicts_given:
        item: tuple[int, int | None] = number, None
        give = partial(
            verdicts.record_batch, items=[item], verdict=verdict, who="ann", timestamp=timestamp
        )
        store.write(give)
    exported(store, tmp_path)
    with Store(new_url(), Rule()) as other:
        other.ingest(history("ab", 30), "ci")
        other.merge(2, 1, "ann")  # both rows are of its candidate
        if stored:
            CandidateRefresher(Scripted((13,)), "hunter 1.0").refresh(other)
        filled = exchange.import_history(other, History.read(tmp_path), "bob")
        assert (filled.candidates, filled.already) == (1, 1)
        later = Verdict.TRUE_POSITIVE if dates[0] > dates[1] else Verdict.FALSE_POSITIVE
        with other.read() as connection:
            [candidate] = find_candidates(connection)
            [entry] = verdicts.history(connection)
        assert (candidate.verdict, candidate.triaged_on, candidate.version) == (later, 88_000, 1)
        assert (entry.verdict, entry.time) == (later, 88_000)


def test_export_of_an_empty_store_gives_empty_tables(store: Store, tmp_path: Path) -> None:
    assert exported(store, tmp_path) == {"series": 0, "points": 0, "runs": 0, "candidates": 0}
    assert len(History.read(tmp_path)) == 0


def test_export_that_is_killed_while_it_replaces_tables_never_mixes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = str(tmp_path / "store.db"), tmp_path / "out"

    def write(killed_at: int) -> int:
        """Export in a child that is killed before it moves a file; return how it ended."""
        child = os.fork()
        if child == 0:
            moves, replace = itertools.count(), Path.replace

            def move(path: Path, target: Path) -> None:
                if next(moves) == killed_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                replace(path, target)

            monkeypatch.setattr(Path, "replace", move)
            with Store(url) as store, store.read() as connection:
                export.export_tables(connection, folder)
            os._exit(0)
        return os.waitpid(child, 0)[1]

    fill(url, "a")
    assert write(-1) == 0
    fill(url, "b")
    for killed_at in range(4):
        assert write(killed_at) == signal.SIGKILL
        with pytest.raises(DataError, match="no such file"):
            History.read(folder)
    assert write(-1) == 0
    assert len(History.read(folder)) == 2


def test_killed_export_leaves_the_former_tables_and_nothing_after_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = str(tmp_path / "store.db"), tmp_path / "out"

    def write() -> None:
        with Store(url) as store, store.read() as connection:
            export.export_tables(connection, folder)
            export.archive(connection, folder)

    def tables() -> dict[str, bytes]:
        paths = (path for name in ("out", ".out.*") for path in tmp_path.glob(f"{name}/**/*"))
        return {str(p.relative_to(tmp_path)): p.read_bytes() for p in paths if p.is_file()}

    fill(url, "a")
    write()
    before = tables()
    fill(url, "b")
    for last in (3, 9):  # of the tables, and of the archive
        child = os.fork()
        if child == 0:
            calls, work = itertools.count(), export._write

            def killed(*given: object, calls: Any = calls, work: Any = work, at: int = last) -> Any:
                if next(calls) == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return work(*given)

            monkeypatch.setattr(export, "_write", killed)
            write()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        after = tables()
        left = after.keys() - before.keys()
        assert left
        assert all(name.startswith((".out.", "out/.store.")) for name in left)
        if last == 3:
            assert before.items() <= after.items()
    write()
    assert tables().keys() == before.keys()
    assert tables() != before

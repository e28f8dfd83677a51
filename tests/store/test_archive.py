from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import Measurement, Store, life, reading
from barograph.server.store.export import FOLDER, LIST, TABLES, archive, restore
from barograph.server.triage import verdicts
from barograph.server.triage.refresh import CandidateRefresher
from tests.store.digest import digest
from tests.store.judges import Rule
from tests.store.samples import history, series
from tests.triage.test_refresh import Scripted


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with revisions, decisions, moved candidates and verdicts that were taken back."""
    store.ingest(history("ab", 30, runs=2), "ci")
    CandidateRefresher(Scripted((15,)), "hunter 1.0").refresh(store)
    CandidateRefresher(Scripted((18,)), "hunter 1.0").recompute(store)
    store.ingest([Measurement(series("a"), 7.5, 3, "c3", time=1_700_000_000_000)], "ci")
    for verdict, note in ((Verdict.TRUE_POSITIVE, "sure"), (Verdict.FALSE_POSITIVE, "but no")):
        store.write(
            lambda c, v=verdict, n=note: verdicts.record_batch(
                c, [(1, None)], v, "ann", n, timestamp=77_000
            )  # type: ignore[misc]
        )
    return store


def archived(store: Store, folder: Path) -> dict[str, int]:
    with store.read() as connection:
        return archive(connection, folder)


def test_restore_recovers_every_table(
    filled: Store, new_url: Callable[[], str], tmp_path: Path
) -> None:
    counts = archived(filled, tmp_path / "out")
    assert min(counts[name] for name in ("series", "points", "models", "moves", "audit")) > 0
    with Store(new_url(), Rule()) as other:
        assert restore(other, tmp_path / "out") == counts
        with filled.read() as before, other.read() as after:
            assert digest(before) == digest(after)
            entries = verdicts.history(after, candidate=1)
            assert [(entry.who, entry.note) for entry in entries] == [
                ("ann", "but no"),
                ("ann", "sure"),
            ]
        archived(other, tmp_path / "back")
        # It goes on as the first would have: numbers, decisions and what waits.
        more = [Measurement(series(name), 500.0, 99) for name in ("a", "new")]
        answers = [store.ingest(more, "ci").points for store in (filled, other)]
        assert answers[0] == answers[1]
        with other.read() as connection:
            assert reading.get_series(connection, 3).id == 3
    for table in TABLES:
        path = f"{FOLDER}/{table.name}.parquet"
        assert pq.read_table(tmp_path / "out" / path).equals(
            pq.read_table(tmp_path / "back" / path)
        )


def test_decisions_after_a_restore_by_another_process_name_the_model_that_decided(
    filled: Store, new_url: Callable[[], str], tmp_path: Path
) -> None:
    archived(filled, tmp_path)
    url = new_url()
    with Store(url, Rule(version="later")) as running, Store(url, Rule()) as restoring:
        running.ingest(history("c", 2), "ci")
        restoring.write(lambda connection: life.delete(connection, 1, "ann"))
        restore(restoring, tmp_path)
        running.ingest([Measurement(series("a"), 1.0, 99)], "ci")
        with running.read() as connection:
            [newest] = reading.points_of(connection, 1, first=99)
    assert newest.model == "later"


def test_restore_refuses_a_store_with_series(filled: Store, tmp_path: Path) -> None:
    archived(filled, tmp_path)
    with pytest.raises(DataError, match="the store holds series"):
        restore(filled, tmp_path)


def test_restore_refuses_a_folder_without_an_archive(store: Store, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is missing"):
        restore(store, tmp_path)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_restore_refuses_a_damaged_table(
    filled: Store, new_url: Callable[[], str], tmp_path: Path, table: sa.Table
) -> None:
    archived(filled, tmp_path)
    path = tmp_path / FOLDER / f"{table.name}.parquet"
    content = path.read_bytes()
    damaged = [content[: len(content) // 2], b""]
    if pq.read_metadata(path).num_rows:
        place = len(b"PAR1") + pq.read_metadata(path).row_group(0).column(0).total_compressed_size
        damaged.append(content[: place - 1] + bytes([content[place - 1] ^ 1]) + content[place:])
    with Store(new_url(), Rule()) as other:
        for broken in damaged:
            path.write_bytes(broken)
            with pytest.raises(DataError, match=rf"{table.name}.parquet is damaged"):
                restore(other, tmp_path)
        path.unlink()
        with pytest.raises(DataError, match=rf"{table.name}.parquet is missing"):
            restore(other, tmp_path)
        assert other.ingest(history("a", 3), "ci").counts["written"] == 3  # nothing was changed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "archive.json is damaged"),
        ("[]", "archive.json is damaged"),
        ('{"sha256": {}}', "archive.json is damaged"),
        ('{"version": "future"}', "tables of version 'future'"),
        ('{"version": "sizes", "sha256": {}}', "tables of version 'sizes'"),
        ('{"version": []}', r"tables of version \[\]"),
    ],
)
def test_restore_refuses_a_damaged_listing(
    filled: Store, tmp_path: Path, content: str, message: str
) -> None:
    archived(filled, tmp_path)
    (tmp_path / FOLDER / LIST).write_text(content)
    with pytest.raises(DataError, match=message):
        restore(filled, tmp_path)

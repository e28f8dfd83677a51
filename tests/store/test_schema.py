import gzip
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from barograph.detection import Hunter
from barograph.results.series import SeriesId, Verdict
from barograph.runtime.errors import DataError, StoreError
from barograph.server.store import Measurement, Store, database, tokens
from barograph.server.store.candidate_records import get_candidate
from barograph.server.store.commit_details import CommitDetails, save
from barograph.server.store.schema import candidates, commit_details, metadata, models, points
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.triage.verdicts import record_batch
from tests.store.judges import Rule
from tests.store.samples import point


def columns(url: str) -> dict[str, dict[str, str]]:
    """Return the columns of every table of a database, each with its type, default and so on."""
    engine = database.connect(url)
    with database.reading(engine) as connection:
        found = sa.inspect(connection).get_multi_columns()
    engine.dispose()
    return {
        table: {column["name"]: repr(sorted(column.items(), key=str)) for column in described}
        for (_, table), described in found.items()
    }


def change(url: str, *statements: str) -> None:
    engine = database.connect(url)
    with database.writing(engine) as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    engine.dispose()


def test_new_store_has_the_tables_of_the_schema(url: str) -> None:
    Store(url).close()
    expected = {name: {*table.columns.keys()} for name, table in metadata.tables.items()}
    assert {name: {*found} for name, found in columns(url).items()} == expected


def test_opening_leaves_current_tables_unchanged(url: str) -> None:
    Store(url).close()
    change(url, "UPDATE state SET revision = 'kept'")
    with Store(url) as store, store.read() as connection:
        assert connection.scalar(sa.text("SELECT revision FROM state")) == "kept"


def can_be_dropped(column: sa.Column[Any]) -> bool:
    """Return whether SQLite drops the column, and a store gets it back when it is opened."""
    table = column.table
    together: list[Any] = [*table.indexes, *table.constraints]
    is_used = any(column.name in one.columns for one in together)
    has_default = column.server_default is not None or bool(column.nullable)
    return has_default and not is_used


def test_missing_columns_become_what_they_are_in_a_new_store(new_url: Callable[[], str]) -> None:
    new, old = new_url(), new_url()
    for url in (new, old):
        Store(url).close()
    every = [column for table in metadata.tables.values() for column in table.columns]
    dropped = [column for column in every if can_be_dropped(column)]
    assert {candidates.c.trend, commit_details.c.parent, points.c.time} < {*dropped}
    change(
        old,
        *(f'ALTER TABLE "{column.table}" DROP COLUMN "{column.name}"' for column in dropped),
        "DROP TABLE sessions",
    )
    assert columns(old) != columns(new)
    Store(old).close()
    assert columns(old) == columns(new)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("ALTER TABLE tokens ADD COLUMN far_ahead INTEGER", "tokens.far_ahead"),
        ("ALTER TABLE tokens DROP COLUMN scopes", "tokens.scopes"),
    ],
)
def test_store_of_a_newer_version_or_another_program_is_refused(
    url: str, statement: str, named: str
) -> None:
    Store(url).close()
    change(url, statement, "ALTER TABLE candidates DROP COLUMN trend")
    with pytest.raises(StoreError, match=rf"version: {named} differ.*newer barograph"):
        Store(url)
    assert "trend" not in columns(url)["candidates"]


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A store that was written before `candidates.trend` and `commit_details.parent`.

    It holds 61 commits of two series, some with reruns, a correction, a change with two spikes
    after it, three verdicts on it, and two tokens, one of them revoked.
    """
    path = tmp_path / "older.db"
    path.write_bytes(gzip.decompress(Path(__file__).with_name("older.db.gz").read_bytes()))
    return path


def rows(path: Path) -> dict[str, list[dict[str, object]]]:
    """Return every row of every table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')]  # noqa: S608
            for (name,) in names
        }


def numbered(points: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return points with the positions of their commits in the rows of the first runs."""
    counts: Counter[object] = Counter()
    rows = []
    for row in sorted(points, key=lambda row: (row["series"], row["order"], row["run"])):
        is_first = row["settled"] is not None
        rows.append(row | {"place": counts[row["series"]] if is_first else None})
        counts[row["series"]] += is_first
    return rows


def test_older_store_keeps_everything(older: Path) -> None:
    before = rows(older)
    Store(str(older)).close()
    after = rows(older)
    (old,), (new,) = before["candidates"], after.pop("candidates")
    before["commit_details"] = [row | {"parent": ""} for row in before["commit_details"]]
    before["points"] = numbered(before["points"])
    del before["blocks"]  # a cache
    del before["state"][0]["writer"]
    assert [row["series"] for row in after.pop("touched")] == [1, 2]
    del before["touched"]
    assert after == {name: kept for name, kept in before.items() if name != "candidates"}
    sizes = [len(after[name]) for name in ("points", "revisions", "verdicts", "tokens", "audit")]
    assert sizes == [132, 1, 3, 2, 9]
    assert new == old | {"trend": 0}


def test_older_store_takes_results_and_verdicts(older: Path) -> None:
    render = SeriesId("demo", "linux", "bench", "render", "ops_per_sec")
    described = CommitDetails("demo", "c61", "Render at once", "wen")
    with Store(str(older), Rule()) as store:
        sent = [Measurement(render, 100.0, order, f"c{order}", "3") for order in (60, 61)]
        result = store.ingest([*sent, Measurement(render, 101.25, 59, "c59", "1")], "ci")
        assert [point.status for point in result.points] == ["written", "written", "duplicate"]
        store.write(lambda connection: save(connection, [described]))
        store.write(lambda c: record_batch(c, [(1, 3)], Verdict.UNSURE, "wen"))
        with store.read() as connection:
            assert get_candidate(connection, 1).size is not None
        CandidateRefresher(Hunter(), "hunter").refresh(store)
        with store.read() as connection:
            found = get_candidate(connection, 1)
            # Two spikes raised the mean of the new level, which hid a quarter of the change.
            assert found.size is not None
            levels = (found.size.before, found.size.after)
            assert levels == pytest.approx((100.0, 80.4), abs=0.5)
            assert (found.verdict, found.version) == (Verdict.UNSURE, 4)
            assert [token.revoked is None for token in tokens.every(connection)] == [True, False]


def test_runs_sort_by_their_bytes_on_every_database(url: str) -> None:
    engine = database.connect(url)
    database.open_tables(engine)
    names = ["a", "B", "é", "_", "10", "9"]
    with database.writing(engine) as connection:
        connection.execute(
            sa.insert(metadata.tables["series"]),
            {
                **dict.fromkeys(("project", "variant", "task", "test", "measurement", "unit"), "x"),
                "id": 1,
                "digest": b"d",
                "args": "[]",
                "direction": 0,
            },
        )
        connection.execute(sa.insert(models), {"id": 1, "version": "", "threshold": 0.5})
        row = {"series": 1, "order": 0, "commit": "", "value": 1.0, "received": 0}
        row |= {"answer": 0, "probability": 0.0, "surprise": 0.0, "reruns": 0}
        row |= {"baseline_size": 0, "model": 1}
        rows = [{**row, "run": name} for name in names]
        connection.execute(sa.insert(points), rows)
        actual = connection.scalars(sa.select(points.c.run).order_by(points.c.run)).all()
    engine.dispose()
    assert actual == sorted(names)


def test_several_processes_can_create_a_store_at_once(new_url: Callable[[], str]) -> None:
    for _ in range(3):
        url, together = new_url(), threading.Barrier(4)

        def opened(url: str = url, together: threading.Barrier = together) -> None:
            together.wait()
            Store(url, Rule()).close()

        with ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(opened) for _ in range(4)]:
                future.result()


def test_queries_of_one_read_see_the_same_state(store: Store) -> None:
    count = sa.select(sa.func.count()).select_from(points)
    store.ingest([point(0)], "ci")
    with store.read() as connection:
        before = connection.scalar(count)
        store.ingest([point(1)], "ci")
        assert connection.scalar(count) == before
    with store.read() as connection:
        assert connection.scalar(count) == 2


def test_number_of_a_model_is_rolled_back_with_its_transaction(store: Store) -> None:
    def failing(connection: sa.Connection) -> None:
        store.model(connection, "another", 0.5)
        raise DataError("no")

    with pytest.raises(DataError):
        store.write(failing)
    number = store.write(lambda connection: store.model(connection, "another", 0.5))
    with store.read() as connection:
        assert connection.scalar(sa.select(models.c.id)) == number

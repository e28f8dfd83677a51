import resource
from pathlib import Path

import pytest
import sqlalchemy as sa

from barograph.errors import ConfigError, StoreError
from barograph.store import Store, database
from barograph.store.schema import models
from tests.store.judges import Rule
from tests.store.samples import history


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "x://["])
def test_a_place_that_cannot_keep_a_store_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        database.connect(url)


def test_a_password_is_in_no_message() -> None:
    url = "postgresql://me:hush@localhost:1/none?connect_timeout=1"
    with pytest.raises(StoreError, match="the store failed") as caught:
        Store(url, Rule())
    assert "hush" not in str(caught.value)


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        Store(str(tmp_path / "no" / "store.db"), Rule())


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(str(path), Rule())
    assert path.read_bytes().startswith(b"something else")


def test_sqlite_waits_for_the_disk_and_keeps_its_log(tmp_path: Path) -> None:
    engine = database.connect(str(tmp_path / "store.db"))
    with database.reading(engine) as connection:
        asked = ("journal_mode", "synchronous", "foreign_keys")
        found = [connection.scalar(sa.text(f"PRAGMA {name}")) for name in asked]
    engine.dispose()
    assert found == ["wal", 2, 1]


def test_who_waits_for_another_process_is_told_so_in_the_end(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(url, Rule()) as other:
        monkeypatch.setattr(database, "BUSY_MS", 100)
        with Store(url, Rule()) as store:

            def meanwhile(_connection: sa.Connection) -> None:
                with pytest.raises(StoreError, match="lock"):
                    store.ingest(history("ab", 3), "ci")

            other.write(meanwhile)
            assert store.ingest(history("ab", 3), "ci").counts["written"] == 6


def test_postgresql_waits_for_the_disk_where_the_server_would_not(postgres: str) -> None:
    engine = database.connect(f"{postgres}&options=-csynchronous_commit%3Doff")
    with database.writing(engine) as connection:
        assert connection.scalar(sa.text("SHOW synchronous_commit")) == "on"
    engine.dispose()


def test_the_log_is_written_back_on_demand_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store(str(path), Rule(), log=1_000_000) as store:
        store.ingest(history("ab", 500), "ci")
        before = path.stat().st_size
        store.write_back()
        assert path.stat().st_size > before


def test_a_log_that_cannot_be_written_back_is_told_and_lost_is_nothing(tmp_path: Path) -> None:
    path, (soft, hard) = tmp_path / "store.db", resource.getrlimit(resource.RLIMIT_FSIZE)
    store = Store(str(path), Rule(), log=1_000_000)
    store.ingest(history("ab", 500), "ci")
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    try:
        with pytest.raises(StoreError, match="the store's log cannot be written back"):
            store.write_back()
        store.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with Store(str(path), Rule()) as store:
        assert store.ingest(history("ab", 500), "ci").counts["duplicate"] == 1000


def test_a_model_of_a_transaction_that_failed_is_numbered_again(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store.db"), Rule()) as store:

        def number(connection: sa.Connection) -> int:
            return store.model(connection, "new", 0.5)

        def fail(connection: sa.Connection) -> None:
            number(connection)
            raise ConfigError("no")

        with pytest.raises(ConfigError):
            store.write(fail)
        known = store.write(number)
        with store.read() as connection:
            found = connection.scalar(sa.select(models.c.id).where(models.c.version == "new"))
        assert found == known

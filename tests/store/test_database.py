import os
import re
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from barograph.runtime.errors import ConfigError, StoreError
from barograph.server.store import Store, database
from barograph.server.store.schema import models
from tests.store.judges import Rule
from tests.store.samples import history

UNPRIVILEGED = 65534  # a user who owns nothing


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "x://["])
def test_connect_refuses_unsupported_urls(url: str) -> None:
    with pytest.raises(ConfigError):
        database.connect(url)


def test_error_messages_hide_the_password() -> None:
    url = "postgresql://me:hush@localhost:1/none?connect_timeout=1"
    with pytest.raises(StoreError, match="the store failed") as caught:
        Store(url, Rule())
    assert "hush" not in str(caught.value)


def test_missing_folder_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "no" / "store.db"
    with pytest.raises(StoreError, match=rf"^{path}: there is no folder {path.parent}$"):
        Store(str(path), Rule())


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """Return a folder that every user may enter and write to; those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


@pytest.mark.parametrize(
    ("name", "mode", "why"),
    [
        ("", 0o555, "the folder .* is not writable, and SQLite keeps a log in it"),
        ("store.db", 0o400, "the file is not readable and writable"),
        ("store.db", 0o000, "the file is not readable and writable"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*fork")
def test_store_without_the_right_to_write_says_so(
    shared_folder: Path, name: str, mode: int, why: str
) -> None:
    path = shared_folder / "folder" / "store.db"
    path.parent.mkdir()
    Store(str(path), Rule()).close()
    path.parent.chmod(0o777)
    (path.parent / name).chmod(mode)
    answer = shared_folder / "answer"
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(UNPRIVILEGED)  # root may write anywhere
            with pytest.raises(StoreError) as caught:
                Store(str(path), Rule())
            answer.write_text(str(caught.value))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    path.parent.chmod(0o777)
    assert re.fullmatch(rf"{path}: {why}", answer.read_text())


def test_file_that_is_no_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(StoreError, match=rf"^{path}: not an SQLite database$"):
        Store(str(path), Rule())
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes().startswith(b"something else")


def test_sqlite_uses_wal_with_full_sync(tmp_path: Path) -> None:
    engine = database.connect(str(tmp_path / "store.db"))
    with database.reading(engine) as connection:
        names = ("journal_mode", "synchronous", "foreign_keys")
        actual = [connection.scalar(sa.text(f"PRAGMA {name}")) for name in names]
    engine.dispose()
    assert actual == ["wal", 2, 1]


def test_lock_timeout_is_a_store_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(url, Rule()) as other:
        monkeypatch.setattr(database, "BUSY_MS", 100)
        with Store(url, Rule()) as store:

            def meanwhile(_connection: sa.Connection) -> None:
                with pytest.raises(StoreError, match="lock"):
                    store.ingest(history("ab", 3), "ci")

            other.write(meanwhile)
            assert store.ingest(history("ab", 3), "ci").counts["written"] == 6


def test_postgresql_commits_synchronously_whatever_the_server_default(postgres: str) -> None:
    engine = database.connect(f"{postgres}&options=-csynchronous_commit%3Doff")
    with database.writing(engine) as connection:
        assert connection.scalar(sa.text("SHOW synchronous_commit")) == "on"
    engine.dispose()


def test_existing_store_on_a_full_disk_says_so(tmp_path: Path) -> None:
    path, (soft, hard) = tmp_path / "store.db", resource.getrlimit(resource.RLIMIT_FSIZE)
    Store(str(path), Rule()).close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # less than SQLite's shared memory
    try:
        with pytest.raises(StoreError, match=rf"^{path}: no space left on the device$"):
            Store(str(path), Rule())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_model_of_a_failed_transaction_gets_a_number_again(tmp_path: Path) -> None:
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
            actual = connection.scalar(sa.select(models.c.id).where(models.c.version == "new"))
        assert actual == known

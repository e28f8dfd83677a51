"""The file of an SQLite store: permissions, and what happens when it is taken away."""

import os
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from barograph.runtime.errors import StoreError
from barograph.server.store import Store
from barograph.server.store.database import SQLiteFile
from tests.store.judges import Rule
from tests.store.samples import history

FILES = ("store.db", "store.db-wal", "store.db-shm")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_new_store_and_its_log_have_the_requested_permissions(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o022)
    try:
        with Store(str(tmp_path / "store.db"), Rule(), mode=mode) as store:
            store.ingest(history("ab", 3), "ci")
            assert {name: mode_of(tmp_path / name) for name in FILES} == dict.fromkeys(FILES, mode)
    finally:
        os.umask(before)


def test_store_is_private_by_default_and_keeps_given_permissions(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store(str(path)).close()
    assert mode_of(path) == 0o600
    path.chmod(0o640)
    Store(str(path)).close()
    assert mode_of(path) == 0o640


def test_store_behind_a_link_is_private(tmp_path: Path) -> None:
    link, path = tmp_path / "link.db", tmp_path / "store.db"
    link.symlink_to(path)
    with Store(str(link)) as store, Store(str(path)) as other:
        store.write(lambda _: None)
        other.write(lambda _: None)
        assert sorted(file.name for file in tmp_path.iterdir()) == sorted(("link.db", *FILES))
        assert mode_of(path) == 0o600


@pytest.mark.parametrize("field", ["st_dev", "st_ino"])
def test_file_with_the_number_of_another_device_is_another_one(tmp_path: Path, field: str) -> None:
    path = tmp_path / "store.db"
    path.touch()
    file = SQLiteFile(path, 0o600)
    file.check()
    stat = path.stat()
    numbers = {name: getattr(stat, name) + (name == field) for name in ("st_dev", "st_ino")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "stat", lambda _: SimpleNamespace(**numbers))
        with pytest.raises(StoreError, match="was replaced while it was open"):
            file.check()


def test_small_transactions_that_fit_do_not_make_a_full_disk_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(str(tmp_path / "store.db"), Rule()) as store:
        for free in (0, 1 << 30):
            stat = SimpleNamespace(f_bfree=free, f_bavail=free, f_frsize=1)
            monkeypatch.setattr(os, "statvfs", lambda _, stat=stat: stat)
            for work in (lambda _: None, failing, lambda _: None):
                with suppress(StoreError):
                    store.write(work)
                if free:
                    store.check()
                    continue
                with pytest.raises(StoreError, match=r"store\.db: no space left on the device$"):
                    store.check()


def failing(_: object) -> None:
    raise StoreError("a test")


@pytest.mark.parametrize("is_replaced", [False, True])
def test_nothing_is_acknowledged_after_the_file_was_taken_away(
    tmp_path: Path, is_replaced: bool
) -> None:
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    Store(str(other)).close()
    with Store(str(path), Rule()) as store:
        store.ingest(history("ab", 3), "ci")
        path.rename(tmp_path / "kept.db")
        if is_replaced:
            other.rename(path)
        what = "replaced" if is_replaced else "deleted"
        for ask in (
            lambda: store.ingest(history("ab", 9), "ci"),
            lambda: store.write(lambda _: None),
            lambda: store.read().__enter__(),
        ):
            with pytest.raises(StoreError, match=f"store.db was {what} while it was open"):
                ask()
        assert path.exists() == is_replaced  # no empty database took its place
        path.unlink(missing_ok=True)
        (tmp_path / "kept.db").rename(path)
        assert store.ingest(history("ab", 9), "ci").counts["written"] == 12

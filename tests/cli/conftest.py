"""A folder to run the commands of the store in."""

from pathlib import Path

import pytest

from tests.cli.store_commands import release


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with released models, made the current one; stores are created below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("BAROGRAPH_STORE", raising=False)
    release()
    return tmp_path

"""Work is spread over processes as if there were one."""

import os
from pathlib import Path

import pytest

from barograph.pipeline.work import VARIABLE, each


def test_workers_stand_where_the_caller_stands_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert set(each(os.getcwd, [()] * 4, "where")) == {str(tmp_path / name)}

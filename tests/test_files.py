"""A file is whole or is not there, and what is wrong is named."""

import errno
import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from barograph.files import named, whole
from barograph.models import artifact


@pytest.fixture
def _full_disk() -> Iterator[None]:
    """Let no file grow beyond a thousand bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_file_appears_at_the_end_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    with whole(path) as draft:
        draft.write_text("text")
        assert not path.exists()
    assert path.read_text() == "text"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_may_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole(tmp_path / "a") as draft:
            draft.write_text("text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def failing() -> None:
        with whole(path) as draft:
            draft.write_text("half of")
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("_full_disk")
def test_a_full_disk_is_told_with_the_file_and_leaves_the_old_model(tmp_path: Path) -> None:
    path = tmp_path / "model.baro"
    artifact.write(path, {"use": "old"}, {"a": np.zeros(3)})
    old = path.read_bytes()
    noise = np.random.default_rng(0).random(1000)
    with pytest.raises(OSError, match=r"too large: .*model\.baro") as caught:
        artifact.write(path, {"use": "new"}, {"a": noise})
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_that_names_its_file_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing-here") as caught, named("elsewhere"):
        (tmp_path / "nothing-here").read_text()
    assert "elsewhere" not in str(caught.value)

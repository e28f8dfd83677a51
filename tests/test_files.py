"""Files are written completely or not at all, and errors name the file."""

import csv
import errno
import io
import os
import resource
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.cli.options import echo_csv
from barograph.models import artifact
from barograph.pipeline.report import write_csv
from barograph.runtime.files import CsvText, delete_drafts, named, published, whole

UNPRIVILEGED = 65534  # a user who owns nothing


@pytest.fixture
def _full_disk() -> Iterator[None]:
    """Limit the size of files to 1,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_whole_creates_the_file_and_its_folders_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    with whole(path) as draft:
        draft.write_text("text")
        assert not path.exists()
    assert path.read_text() == "text"
    assert list(path.parent.iterdir()) == [path]


def test_whole_respects_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole(tmp_path / "a") as draft:
            draft.write_text("text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_whole_keeps_the_permissions_of_a_file_and_follows_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "a", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    with whole(link) as path:
        path.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_whole_writes_to_a_pipe_or_device_and_leaves_it_in_place(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole(link) as draft:
        draft.write_text("text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
    assert {*tmp_path.iterdir()} == {pipe, link}


def test_whole_keeps_the_old_file_after_an_error(tmp_path: Path) -> None:
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
def test_full_disk_error_names_the_file_and_keeps_the_old_model(tmp_path: Path) -> None:
    path = tmp_path / "model.baro"
    artifact.write(path, {"use": "old"}, {"a": np.zeros(3)})
    old = path.read_bytes()
    noise = np.random.default_rng(0).random(1000)
    with pytest.raises(OSError, match=r"too large: .*model\.baro") as caught:
        artifact.write(path, {"use": "new"}, {"a": noise})
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_error_names_a_folder_that_is_not_writable() -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "a.txt"
        path.parent.chmod(0o555)
        if user == 0:
            os.seteuid(UNPRIVILEGED)  # root may write anywhere
        try:
            with pytest.raises(PermissionError) as caught, whole(path):
                pass
        finally:
            os.seteuid(user)
            path.parent.chmod(0o755)
    assert caught.value.filename == str(path)
    assert caught.value.strerror == f"the folder {path.parent} is not writable"


def test_named_keeps_an_error_with_a_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing-here") as caught, named("elsewhere"):
        (tmp_path / "nothing-here").read_text()
    assert "elsewhere" not in str(caught.value)


@pytest.mark.parametrize("write", [whole, lambda path: published(path, ["a"])])
def test_leftovers_of_a_killed_process_are_deleted_and_drafts_in_use_are_not(
    tmp_path: Path, write: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    target = tmp_path / "points.parquet"
    child = os.fork()
    if child == 0:
        with write(target) as draft:
            (draft / "a" if draft.is_dir() else draft).write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert not target.exists()
    [left] = tmp_path.iterdir()
    assert left.match(".points.parquet.*.tmp")
    with write(target) as draft:
        assert not left.exists()
        delete_drafts(tmp_path.parent)
        with pytest.raises(KeyError), write(target):
            raise KeyError
        (draft / "a" if draft.is_dir() else draft).write_text("whole")
    assert list(tmp_path.iterdir()) == [target]


NAMES = ["a", "b"]


def publish(folder: Path, text: str) -> None:
    with published(folder, NAMES) as draft:
        for name in NAMES:
            (draft / name).write_text(text)


def test_published_replaces_its_files_only(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_text("stays")
    publish(tmp_path / "out", "1")
    publish(tmp_path / "out", "2")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "a": "2",
        "b": "2",
        "other": "stays",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_published_changes_nothing_after_an_error(tmp_path: Path) -> None:
    publish(tmp_path / "out", "1")

    def failing() -> None:
        with published(tmp_path / "out", NAMES) as draft:
            (draft / "a").write_text("2")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert (tmp_path / "out" / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_published_changes_nothing_if_a_file_is_missing(tmp_path: Path) -> None:
    publish(tmp_path / "out", "1")
    with pytest.raises(FileNotFoundError), published(tmp_path / "out", NAMES) as draft:
        (draft / "a").write_text("2")
    assert (tmp_path / "out" / "a").read_text() == "1"


class Killed(BaseException):
    """Stands in for a signal that ends the process."""


@pytest.mark.parametrize("step", range(1, 5))
def test_published_never_leaves_a_mixture_when_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    publish(tmp_path / "out", "old")
    steps = iter(range(1, 100))

    def killing(method: str) -> None:
        original = getattr(Path, method)

        def wrapper(self: Path, *args: object, **kwargs: object) -> object:
            if next(steps) == step:
                raise Killed
            return original(self, *args, **kwargs)

        monkeypatch.setattr(Path, method, wrapper)

    killing("unlink")
    killing("replace")
    with pytest.raises(Killed):
        publish(tmp_path / "out", "new")
    monkeypatch.undo()
    left = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(left.values()) != {"old", "new"}
    assert len(left) < len(NAMES) or step == 1


@given(st.lists(st.lists(st.text(st.sampled_from('a,"\r\n ')), min_size=2, max_size=2)))
def test_cells_with_line_ends_come_back_from_csv(rows: list[list[str]]) -> None:
    csv.writer(file := CsvText()).writerows(rows)
    assert list(csv.reader(io.StringIO(file.getvalue(), newline=""))) == rows


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"),
        ("-", "'-"),
        ("-/box/sort", "-/box/sort"),
        ("a=1", "a=1"),
        ("", ""),
        (-2.5, "-2.5"),
    ],
)
def test_no_printed_cell_is_a_formula(
    capsys: pytest.CaptureFixture[str], text: object, printed: str
) -> None:
    echo_csv(["a", "b"], [[text, 1]])
    assert capsys.readouterr().out == f"a,b\n{printed},1\n"


def test_tables_for_programs_keep_carriage_returns(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_csv(tmp_path / "table.csv", pd.DataFrame({"name": ["a\rb", "c"], "value": [1.5, None]}))
    written = '"a\rb",1.5\nc,\n'
    assert (tmp_path / "table.csv").read_bytes().decode() == f"name,value\n{written}"
    echo_csv(["name", "value"], [["a\rb", 1.5], ["c", None]])
    assert capfd.readouterr().out == f"name,value\n{written}"


def test_links_in_a_circle_are_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"), whole(link) as draft:
        draft.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]
    assert link.is_symlink()

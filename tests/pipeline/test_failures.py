"""What a user meets when something is wrong: one line, and whole files or none.

Each case is the stage as dvc runs it, in a folder with a parameter file and a dump.
"""

import multiprocessing
import os
import re
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import yaml

from barograph.learning.simulation import FILES
from barograph.pipeline import load, simulate
from barograph.pipeline.load import FOLDER
from barograph.pipeline.params import run
from barograph.results.history import History
from barograph.results.parquet import SCHEMAS
from tests.sources.documents import change_point, point, series, triaged, write_dump

DUMP = Path("data/raw/dump")
COUNT = 40
Documents = Sequence[Mapping[str, Any]]
SOUND = [series(f"test{n}") for n in range(COUNT)]
MARKS = [change_point(f"test{n}") for n in range(COUNT)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with parameters and a sound dump, made the current one."""
    monkeypatch.chdir(tmp_path)
    parameters()
    write_dump(DUMP, SOUND, MARKS)
    return tmp_path


def parameters(**changes: object) -> None:
    """Write params.yaml with a small world and the dump to load."""
    section = {"kind": "mongodump", "location": str(DUMP), "max_skipped_share": 0.05} | changes
    document = {"profile": "tiny", "load": section, "tiny": {}}
    document["simulate"] = {"long_series": 20, "short_series": 40}
    Path("params.yaml").write_text(yaml.safe_dump(document))


def refusal() -> str:
    """Run `load` and return the one line with which it ends."""
    with pytest.raises(SystemExit) as left:
        run(load.main)
    message = str(left.value.code)
    assert "\n" not in message
    return message


def edited(name: str, change: Callable[[bytes], bytes]) -> None:
    path = DUMP / name
    path.write_bytes(change(path.read_bytes()))


def length(value: int) -> Callable[[bytes], bytes]:
    """Give the first document another length."""
    return lambda data: value.to_bytes(4, "little", signed=True) + data[4:]


def files() -> set[str]:
    """Every file there is but the input, drafts and hidden ones included."""
    result = {str(path) for path in Path().rglob("*") if path.is_file()}
    return {path for path in result if not path.startswith((str(DUMP), "params.yaml"))}


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("time_series.bson", lambda data: data[:-7], r"document 40: byte \d+: truncated: "),
        ("change_points.bson", lambda data: data[:-7], r"document 40: byte \d+: truncated: "),
        (
            "time_series.bson",
            lambda data: data + b"\1",
            r"document 41: byte \d+: truncated: 1 bytes",
        ),
        ("time_series.bson", length(1 << 30), "document 1: byte 0: length field says 1073741824"),
        ("time_series.bson", length(-5), "document 1: byte 0: length field says -5"),
        ("time_series.bson", length(100), "document 1: byte 0: length field says 100, but no"),
        ("time_series.bson", lambda _: b"", "contains no time series"),
    ],
)
def test_load_names_damaged_file_and_document(
    name: str, change: Callable[[bytes], bytes], error: str
) -> None:
    edited(name, change)
    message = refusal()
    assert message.startswith(f"DataError: {DUMP}")
    assert re.search(error, message)
    assert files() == set()


@pytest.mark.parametrize(
    ("documents", "marks", "message"),
    [
        ([], [], "contains no time series"),
        ([{"colour": 1}] * 3, [], "data is not a list (3 times, first {dump}/time_series.bson: "),
        (
            [series(f"t{n}", data=[point(k, float("nan")) for k in range(5)]) for n in range(3)],
            [],
            "no usable point (3 times, first {dump}/time_series.bson: document 1: data = list of 5",
        ),
        (
            [series(f"t{n}", data=[point(1), point(2, "fast")]) for n in range(3)],
            [],
            "first {dump}/time_series.bson: document 1: data.1.value = 'fast'",
        ),
        (
            [*SOUND, *SOUND],
            [],
            "the same identity (40 times, first {dump}/time_series.bson: document 41: project/",
        ),
        (
            SOUND,
            [change_point(f"test{n}", triage=triaged("perhaps")) for n in range(3)],
            "first {dump}/change_points.bson: document 1: triage.triage_status = 'perhaps'",
        ),
    ],
)
def test_load_fails_with_too_many_skipped_rows(
    documents: Documents, marks: Documents, message: str
) -> None:
    write_dump(DUMP, documents, marks)
    assert message.format(dump=DUMP) in refusal()
    assert files() == set()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), "12", None, True])
def test_load_skips_and_reports_one_bad_value(
    value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = series("bad", data=[*(point(k) for k in range(5)), point(9, value)])
    write_dump(DUMP, [*SOUND, bad], MARKS)
    run(load.main)
    message = capsys.readouterr().err
    assert "points              205 of 206; skipped: " in message
    assert f"{DUMP}/time_series.bson: document 41: data.5.value = {value!r}" in message
    assert len(History.read(FOLDER)) == COUNT + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"location": "nowhere"}, "DataError: nowhere: no such file or directory"),
        ({"location": "params.yaml"}, "params.yaml: neither a dump directory nor a mongodump"),
        (
            {"kind": "mango"},
            "load.kind is 'mango'; did you mean 'mongodb'? allowed: mongodump, mongodb, ",
        ),
        ({"options": {"colour": "red"}}, "'colour'; options: ['time_series', 'change_points']"),
        ({"max_skipped_share": "much"}, "load.max_skipped_share: expected float, got 'much'"),
        ({"kind": "files"}, "of no known format"),
        ({"kind": "files", "location": "params.yaml"}, "DataError: params.yaml: "),
    ],
)
def test_load_prints_wrong_parameters_in_one_line(changes: dict[str, object], message: str) -> None:
    parameters(**changes)
    assert message in refusal()


def test_load_names_a_folder_that_is_not_writable() -> None:
    FOLDER.write_text("a file where the folder should be")
    assert refusal().startswith("FileExistsError: ")
    assert files() == {str(FOLDER)}


# It imports the stages once, and each of its children begins with them.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload([load.__name__, simulate.__name__])
STAGES = {"load": load.main, "simulate": simulate.main}


def begin(stage: str, largest: int, is_killed: bool, errors: Connection) -> None:
    """Run a stage, as the main function of a process."""
    os.dup2(errors.fileno(), 2)
    os.environ["BAROGRAPH_WORKERS"] = "1"
    if largest >= 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if is_killed:
        os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)  # noqa: ARG005
    run(STAGES[stage])


class Started:
    """A stage in a process of its own.

    Args:
        stage: Its name.
        largest: Bytes that a file may have, which is what a full disk looks like; -1 for any.
        is_killed: Whether it is killed once its files are written, before they are published.
    """

    def __init__(self, stage: str, largest: int = -1, *, is_killed: bool = False) -> None:
        self._errors, errors = SERVER.Pipe(duplex=False)
        self.process = SERVER.Process(target=begin, args=(stage, largest, is_killed, errors))
        self.process.start()
        errors.close()

    def end(self) -> tuple[int | None, str]:
        """Wait for the end; return the exit code and what the stage printed to stderr."""
        with self._errors, os.fdopen(self._errors.fileno(), closefd=False) as lines:
            message = lines.read()
        self.process.join()
        return self.process.exitcode, message


@pytest.mark.parametrize("largest", [0, 700, 3000])
def test_full_disk_keeps_older_tables(largest: int) -> None:
    run(load.main)
    before = {path: path.read_bytes() for path in FOLDER.iterdir()}
    write_dump(DUMP, [series(f"other{n}", 50) for n in range(COUNT)], [])
    code, message = Started("load", largest).end()
    assert code == 1
    assert "Traceback" not in message
    assert "too large" in message.splitlines()[-1]
    assert {path: path.read_bytes() for path in FOLDER.iterdir()} == before
    assert {path.name for path in FOLDER.parent.iterdir()} == {"raw", "interim", "reports"}


def test_full_disk_leaves_no_part_of_a_dump() -> None:
    code, message = Started("simulate", 20_000).end()
    assert code == 1
    assert "Traceback" not in message
    assert "too large" in message.splitlines()[-1]
    assert files() == set()


@pytest.mark.parametrize(("stage", "out", "names"), [
    ("load", FOLDER, {f"{name}.parquet" for name in SCHEMAS}),
    ("simulate", simulate.FOLDER / "dump", set(FILES)),
])  # fmt: skip
def test_killed_stage_leaves_all_files_or_none(stage: str, out: Path, names: set[str]) -> None:
    write_dump(DUMP, [series(f"test{n}", 200) for n in range(300)], [])
    assert Started(stage, is_killed=True).end()[0] == -signal.SIGKILL
    assert names <= {path.name for path in Path("data").rglob(".*.tmp/*")}
    assert not list(out.glob("*"))
    # What the kill left does not stand in the way of the next run.
    code, message = Started(stage).end()
    assert code == 0, message
    assert {path.name for path in out.glob("*")} == names

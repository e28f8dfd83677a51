"""From paths, patterns, folders and the standard input to files of a known format."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.content import content_of
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
from barograph.sources.formats.registry import opened

TABLE = b"test,value\na,1\n"
GO = b"goos: linux\nBenchmarkSort-8 100 12 ns/op\n"
ANY = ReadOptions()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three result files, in a folder with others."""
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, content in (("b.csv", TABLE), ("a.csv", TABLE), ("c.txt", GO)):
        (runs / name).write_bytes(content)
    (runs / ".hidden").write_bytes(b"\0")
    return runs


def names(*locations: str | Path, options: ReadOptions = ANY) -> list[tuple[str, str]]:
    """Return the last part of the name of each file, and its format."""
    return [(Path(file.name).name, form.name) for file, form in opened(locations, options)]


def test_files_are_opened_in_the_order_given(folder: Path) -> None:
    locations = [folder / "c.txt", folder / "a.csv", folder / "b.csv"]
    assert names(*locations) == [("c.txt", "go"), ("a.csv", "tables"), ("b.csv", "tables")]


def test_pattern_stands_for_its_files_by_name(folder: Path) -> None:
    assert names(str(folder / "*.csv")) == [("a.csv", "tables"), ("b.csv", "tables")]
    assert len(names(str(folder.parent / "**" / "*.csv"))) == 2


def test_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "run[1].csv").write_bytes(TABLE)
    (tmp_path / "run1.csv").write_bytes(TABLE)
    assert names(tmp_path / "run[1].csv") == [("run[1].csv", "tables")]


def test_folder_stands_for_the_files_in_it_but_not_for_hidden_ones(folder: Path) -> None:
    assert [name for name, _ in names(folder)] == ["a.csv", "b.csv", "c.txt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"context": {\n "da', "at byte 18 in line 2"),
        (b'[{"label": "a",\n "timings": [1', "at byte 30 in line 2"),
        (b'{"order": 1,\n "test": "a",\n "va', "at byte 31 in line 3"),
        (b'{"metrics": {"iterations": {\n', "at byte 29 in line 2"),
        (b'{"label": "a"', "at byte 13"),
    ],
)
def test_json_that_is_cut_off_is_refused_where_it_ends(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "cut.json").write_bytes(content)
    with pytest.raises(DataError) as error:
        read_files([tmp_path / "cut.json"], context=RunContext())
    assert str(error.value) == f"{tmp_path / 'cut.json'}: not valid JSON: it ends early, {message}"


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(gzip.compress(TABLE))))
    monkeypatch.setattr("sys.stdin", stream)
    [(file, form)] = opened(["-"], ANY)
    assert (file.name, file.path, file.content, form.name) == ("-", None, TABLE, "tables")


def test_format_that_the_user_names_is_not_recognised(folder: Path) -> None:
    assert names(folder / "c.txt", options=ReadOptions(kind="tables")) == [("c.txt", "tables")]
    with pytest.raises(
        ConfigError, match="--kind nothing: no such format; `barograph formats` lists all"
    ):
        names(folder / "c.txt", options=ReadOptions(kind="nothing"))


@pytest.mark.parametrize(
    ("location", "message"),
    [("x.csv", "x.csv: no such file"), ("x/*.csv", "x/.*.csv: no file matches this pattern")],
)
def test_location_without_a_file_is_refused(tmp_path: Path, location: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        names(tmp_path / location)


def test_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder holds no result files"):
        names(tmp_path)


PACKED = gzip.compress(TABLE)


@pytest.mark.parametrize(
    "content",
    [TABLE, PACKED, gzip.compress(TABLE[:5]) + gzip.compress(TABLE[5:]), PACKED + b"\0" * 9],
    ids=["plain", "packed", "two members", "padded"],
)
def test_content_is_unpacked_whatever_the_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(content)
    assert content_of(path, "r", ReadOptions(max_bytes=1 << 20)) == TABLE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PACKED[:-9], "r: the gzip file ends early"),
        (PACKED[:12] + b"\xff" * 9 + PACKED[21:], "r: damaged gzip file"),
        (PACKED + b"rest", "r: damaged gzip file"),
    ],
    ids=["cut", "damaged", "followed by text"],
)
def test_damaged_gzip_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "results.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        content_of(path, "r", ReadOptions(max_bytes=1 << 20))


@pytest.mark.parametrize("packed", [False, True])
def test_size_is_limited_after_decompression(tmp_path: Path, packed: bool) -> None:
    limit = 1 << 20
    path = tmp_path / "results"
    for size in (limit, limit + 1):
        content = b"1" * size
        path.write_bytes(gzip.compress(content, 1) if packed else content)
        if size == limit:
            assert content_of(path, "r", ReadOptions(max_bytes=limit)) == content
            continue
        with pytest.raises(DataError, match="r: larger than 1 MiB; `max-size` in"):
            content_of(path, "r", ReadOptions(max_bytes=limit))


@pytest.mark.parametrize("kind", ["listed", "pattern", "folder"])
def test_numbered_files_are_read_by_number(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / f"run-{number}.csv" for number in (1, 10, 11, 2, 9)]
    for path in paths:
        path.write_bytes(TABLE)
    places = {"listed": paths, "pattern": [tmp_path / "run-*.csv"], "folder": [tmp_path]}
    names = [file.name for file, _ in opened(places[kind], ReadOptions())]
    assert names == [str(tmp_path / f"run-{number}.csv") for number in (1, 2, 9, 10, 11)]


def test_files_that_differ_by_more_than_numbers_are_read_as_listed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("old-2.csv", "new-1.csv")]
    for path in paths:
        path.write_bytes(TABLE)
    assert [file.name for file, _ in opened(paths, ReadOptions())] == list(map(str, paths))


def test_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match=r"^-: the standard input is closed$"):
        list(opened(["-"], ReadOptions()))


def test_series_of_a_file_whose_name_is_not_utf_8_has_a_name_that_can_be_shown(
    tmp_path: Path,
) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/a\xff.csv")).write_text("commit,value\na1,5\nb2,6\n")
    history = read_files([tmp_path]).history
    assert str(history[0].id) == "a?"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "2024-05-01\nRun on (8 X 4200 MHz)\nname,iterations,real_time,cpu_time\n",
            "Google Benchm",
        ),
        ("---\nBenchmark     Time      CPU   Iterations\n---\n", r"--benchmark_out_format=json$"),
        ("Benchmark  (size)  Mode  Cnt  Score  Error  Units\n", r"JMH prints; let it .* -rf json"),
        (
            "Running 30s test @ http://localhost/\n  12 threads\n",
            r"output of wrk; .* to a CSV file",
        ),
        (
            '{"fio version": "fio-3.36", "jobs": [{"jobname": "seq"}]}',
            r"output of fio; .* CSV file",
        ),
        ("fio-3.36\nStarting 1 process\n", "output of fio"),
        ('{"latencies": {"total": 5}, "bytes_in": {"total": 1}}', "output of vegeta"),
        ("transaction type: <builtin: TPC-B>\nscaling factor: 1\n", "output of pgbench"),
    ],
)
def test_output_of_a_tool_is_refused_with_what_writes_a_known_format(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "out.txt").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        names(tmp_path / "out.txt")

"""A record is listed, downloaded once, checked, unpacked, and its dump found."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barograph.errors import ConfigError, DataError, SourceError
from barograph.sources import load, open_source
from barograph.sources.mongodump import write_dump
from barograph.sources.mongodump.archive import MAGIC
from barograph.sources.zenodo import Record
from barograph.sources.zenodo.download import Patience
from barograph.sources.zenodo.unpack import Limits
from tests.sources.documents import change_point, series
from tests.sources.server import Server, cut_after, serving, status
from tests.sources.test_unpack import tarred_gz, zipped

DUMP = {"dump/mongo/time_series.bson": b"\x05\0\0\0\0", "dump/mongo/change_points.bson": b""}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving() as server:
        server.files["data.zip"] = zipped(tmp_path / "data.zip", DUMP).read_bytes()
        server.files["README.md"] = b"# Data\n"
        yield server


def record(server: Server, tmp_path: Path, **changes: Any) -> Record:
    patience = Patience(attempts=2, timeout=5, sleep=lambda _: None)
    quiet: dict[str, Any] = {"progress": lambda *_: None, "patience": patience}
    return Record(server.record, tmp_path / "cache", server.base, **(quiet | changes))


def test_dump_in_a_zip(server: Server, tmp_path: Path) -> None:
    path = record(server, tmp_path).obtain()
    assert path == tmp_path / "cache/zenodo-7/unpacked/data.zip/dump/mongo"
    assert (path / "time_series.bson").read_bytes() == DUMP["dump/mongo/time_series.bson"]


def test_second_time_asks_nobody(server: Server, tmp_path: Path) -> None:
    first = record(server, tmp_path).obtain()
    asked = len(server.asked)
    assert record(server, tmp_path).obtain() == first
    assert len(server.asked) == asked


def test_progress_names_every_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Record(7, tmp_path / "cache", server.base).obtain()
    told = capsys.readouterr()
    assert told.out == ""
    assert "data.zip: " in told.err
    assert "README.md: " in told.err


def test_broken_download_goes_on_in_a_second_run(server: Server, tmp_path: Path) -> None:
    server.files["more.bin"] = bytes(300_000)
    more = server.address("more.bin")
    server.tricks[more] = [cut_after(200_000), *[status(500)] * 2]
    with pytest.raises(SourceError, match="gave up"):
        record(server, tmp_path).obtain()
    record(server, tmp_path).obtain()
    assert server.asked[-1] == (more, "bytes=196608-")
    assert server.count(server.address("data.zip")) == 1
    assert server.count(server.api) == 1


def test_dump_as_one_archive_file(server: Server, tmp_path: Path) -> None:
    server.files = {
        "mongo.archive.gz": gzip.compress(MAGIC + b"..."),
        "other.gz": b"\x1f\x8b",
    }
    path = record(server, tmp_path).obtain()
    assert path == tmp_path / "cache/zenodo-7/files/mongo.archive.gz"


def test_several_dumps_need_a_choice(server: Server, tmp_path: Path) -> None:
    server.files["b.tgz"] = tarred_gz(tmp_path / "b.tgz", DUMP).read_bytes()
    with pytest.raises(ConfigError, match="several mongodumps: set `inside` to one of") as caught:
        record(server, tmp_path).obtain()
    assert "unpacked/b.tgz/dump/mongo" in str(caught.value)
    path = record(server, tmp_path, inside="unpacked/b.tgz/dump/mongo").obtain()
    assert path.parts[-3:] == ("b.tgz", "dump", "mongo")
    with pytest.raises(ConfigError, match="does not exist"):
        record(server, tmp_path, inside="unpacked/nothing").obtain()
    with pytest.raises(DataError, match="plain relative path"):
        record(server, tmp_path, inside="../..").obtain()


def test_what_is_left_of_other_runs_is_no_dump(server: Server, tmp_path: Path) -> None:
    left = tmp_path / "cache/zenodo-7/unpacked/.other.zip.tmp"
    left.mkdir(parents=True)
    (left / "time_series.bson").write_bytes(b"")
    assert record(server, tmp_path).obtain().name == "mongo"


def test_files_of_one_name_in_two_folders(server: Server, tmp_path: Path) -> None:
    data = server.files.pop("data.zip")
    server.files |= {"a/data.zip": data, "b/data.zip": data}
    path = record(server, tmp_path, inside="unpacked/b/data.zip/dump/mongo").obtain()
    assert (path / "time_series.bson").is_file()
    assert (tmp_path / "cache/zenodo-7/unpacked/a/data.zip/dump").is_dir()


def test_file_that_would_be_a_folder_too(server: Server, tmp_path: Path) -> None:
    server.files = {"a": b"1", "a/b": b"2"}
    with pytest.raises(SourceError, match=r"File exists|Not a directory"):
        record(server, tmp_path).obtain()


def test_no_dump_at_all_tells_what_there_is(server: Server, tmp_path: Path) -> None:
    del server.files["data.zip"]
    with pytest.raises(DataError, match=r"no mongodump in the record; it holds .*README\.md"):
        record(server, tmp_path).obtain()


def test_hostile_archive_leaves_no_trace(server: Server, tmp_path: Path) -> None:
    server.files["evil.zip"] = zipped(tmp_path / "evil.zip", {"../../evil": b"1"}).read_bytes()
    with pytest.raises(DataError, match=r"evil\.zip: member '../../evil'"):
        record(server, tmp_path).obtain()
    assert not list(tmp_path.rglob("evil"))


def test_lie_about_the_checksum(server: Server, tmp_path: Path) -> None:
    server.lies["data.zip"] = {"checksum": "md5:" + "0" * 32}
    with pytest.raises(SourceError, match=r"the record promises 0{32}"):
        record(server, tmp_path).obtain()
    assert not (tmp_path / "cache/zenodo-7/files/data.zip").exists()
    assert not (tmp_path / "cache/zenodo-7/unpacked").exists()


@pytest.mark.parametrize("code", [429, 500, 503])
def test_listing_waits_out_a_passing_failure(server: Server, tmp_path: Path, code: int) -> None:
    waits: list[float] = []
    server.tricks[server.api] = [status(code, Retry_After="3")]
    record(server, tmp_path, patience=Patience(sleep=waits.append)).obtain()
    assert waits == [3.0]


@pytest.mark.parametrize(("code", "times"), [(404, 1), (403, 1), (500, 2), (429, 2)])
def test_listing_that_fails(server: Server, tmp_path: Path, code: int, times: int) -> None:
    server.tricks[server.api] = [status(code)] * 9
    with pytest.raises(SourceError, match=f"cannot list the record's files: HTTP status {code}"):
        record(server, tmp_path).obtain()
    assert server.count(server.api) == times


def test_nobody_there(tmp_path: Path) -> None:
    with serving() as server:
        pass
    with pytest.raises(SourceError, match="cannot list"):
        record(server, tmp_path).obtain()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<!doctype html><title>Sorry</title>", "not JSON, but '<!doctype html>"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "lists no files"),
        (b'{"files": []}', "lists no files"),
        (b'{"files": {"a": 1}}', "lists no files"),
        (b'{"files": [3]}', r"files\[0\]: expected an object"),
        (b"[" + b" " * (9 << 20) + b"]", "answers with more than 8388608 bytes"),
    ],
)
def test_answers_that_are_no_record(
    server: Server, tmp_path: Path, answer: bytes, message: str
) -> None:
    server.tricks[server.api] = [status(200, answer)]
    with pytest.raises(SourceError, match=message):
        record(server, tmp_path).obtain()
    assert not (tmp_path / "cache/zenodo-7/record.json").exists()


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"key": None}, "key is None"),
        ({"key": "README.MD"}, "two files of one name"),
        ({"size": "many"}, "size is 'many'"),
        ({"size": True}, "size is True"),
        ({"size": -1}, "size is -1"),
        ({"size": 1 << 60}, "bytes to download, allowed are"),
        ({"checksum": "sha256:00"}, "checksum is 'sha256:00', expected md5"),
        ({"links": {}}, "link is None"),
        ({"links": {"self": "file:///etc/passwd"}}, "link is 'file:///etc/passwd'"),
    ],
)
def test_entries_that_are_no_files(
    server: Server, tmp_path: Path, lie: dict[str, Any], message: str
) -> None:
    server.lies["data.zip"] = lie
    with pytest.raises(SourceError, match=message):
        record(server, tmp_path).obtain()


@pytest.mark.parametrize("key", ["../evil", "/evil", "a/../../evil", "a\\b"])
def test_key_that_leads_out(server: Server, tmp_path: Path, key: str) -> None:
    server.lies["data.zip"] = {"key": key}
    with pytest.raises(DataError, match="plain relative path"):
        record(server, tmp_path).obtain()


def test_content_link_goes_before_self(server: Server, tmp_path: Path) -> None:
    own = server.base + server.address("data.zip")
    server.lies["data.zip"] = {"links": {"self": f"{server.base}/nowhere", "content": own}}
    assert record(server, tmp_path).obtain().name == "mongo"


def test_secure_server_gives_secure_links_only(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "cache/zenodo-7"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(json.dumps(server.listing()))
    with pytest.raises(SourceError, match="link is 'http://127"):
        Record(7, tmp_path / "cache", "https://zenodo.example").obtain()


def test_limits_hold_for_the_download(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="allowed are 10"):
        record(server, tmp_path, limits=Limits(total=10)).obtain()


@pytest.mark.parametrize("wrong", [{"number": 0}, {"base": "ftp://zenodo.org"}])
def test_parameters_that_are_not_allowed(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        replace(Record(1, tmp_path), **wrong)


def test_source_loads_the_dump_into_the_tables(server: Server, tmp_path: Path) -> None:
    write_dump(tmp_path / "dump", [series("a"), series("b")], [change_point("b")])
    names = ("time_series.bson", "change_points.bson")
    dump = {f"perf/{name}": (tmp_path / "dump" / name).read_bytes() for name in names}
    server.files = {"perf.tgz": tarred_gz(tmp_path / "perf.tgz", dump).read_bytes()}

    source = open_source("zenodo", str(tmp_path / "cache"), record=7, base=server.base)
    report = load(source, tmp_path / "out")

    assert report.source == "zenodo:7"
    assert (report.series, report.points, report.candidates) == (2, 10, 1)


@pytest.mark.parametrize("number", ["7", "7/../8", True, 7.0, 0, -1, None])
def test_only_a_number_names_a_record(number: object) -> None:
    with pytest.raises(ConfigError, match="record"):
        open_source("zenodo", "data/zenodo", record=number)


def test_folder_must_be_named() -> None:
    with pytest.raises(ConfigError, match="a folder must keep the download"):
        open_source("zenodo", "")
    assert open_source("zenodo", "data/zenodo").name == "zenodo:5138516"

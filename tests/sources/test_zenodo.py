"""A record is listed, downloaded once, verified, unpacked, and its dump found."""

import gzip
import io
import json
import stat
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from barograph.runtime.errors import ConfigError, DataError, SourceError
from barograph.sources import open_source
from barograph.sources.mongodump import MAGIC
from barograph.sources.zenodo import Zenodo, unpack
from tests.sources.documents import change_point, load, series, write_dump
from tests.sources.server import Server, cut_after, serving, status

DUMP = {"dump/mongo/time_series.bson": b"\x05\0\0\0\0", "dump/mongo/change_points.bson": b""}
CONTENT = {"dump/mongo/time_series.bson": b"a" * 3000, "dump/readme": b"hello", "empty": b""}


def zipped(path: Path, names: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in names.items():
            package.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return path


def tarred(path: Path, names: dict[str, bytes], mode: str = "w:") -> Path:
    with tarfile.open(path, mode) as package:  # type: ignore[call-overload]
        for name, data in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0
            package.addfile(member, io.BytesIO(data))
    return path


def tarred_gz(path: Path, names: dict[str, bytes]) -> Path:
    return tarred(path, names, "w:gz")


Pack = Callable[[Path, dict[str, bytes]], Path]
every_kind = pytest.mark.parametrize("pack", [zipped, tarred, tarred_gz])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving() as server:
        server.files["data.zip"] = zipped(tmp_path / "data.zip", DUMP).read_bytes()
        server.files["README.md"] = b"# Data\n"
        yield server


def dump_of(server: Server, tmp_path: Path, **options: Any) -> Path:
    """The path of the dump that a source finds in the server's record."""
    source = Zenodo(str(tmp_path / "cache"), record=7, base=server.base, **options)
    return source._dump


def test_dump_in_a_zip_is_found(server: Server, tmp_path: Path) -> None:
    path = dump_of(server, tmp_path)
    assert path == tmp_path / "cache/zenodo-7"
    dump = path / "unpacked/data.zip/dump/mongo"
    assert (dump / "time_series.bson").read_bytes() == DUMP["dump/mongo/time_series.bson"]


def test_second_run_sends_no_request(server: Server, tmp_path: Path) -> None:
    first = dump_of(server, tmp_path)
    requests = len(server.requests)
    assert dump_of(server, tmp_path) == first
    assert len(server.requests) == requests


def test_source_loads_the_dump_into_the_tables(server: Server, tmp_path: Path) -> None:
    write_dump(tmp_path / "dump", [series("a"), series("b")], [change_point("b")])
    names = ("time_series.bson", "change_points.bson")
    dump = {f"perf/{name}": (tmp_path / "dump" / name).read_bytes() for name in names}
    server.files = {"perf.tgz": tarred_gz(tmp_path / "perf.tgz", dump).read_bytes()}
    source = open_source("zenodo", str(tmp_path / "cache"), record=7, base=server.base)
    report = load(source, tmp_path / "out")
    assert report.source == "zenodo:7"
    assert report.kept == {"series": 2, "points": 10, "candidates": 1}


def test_single_file_archive_is_found(server: Server, tmp_path: Path) -> None:
    server.files = {
        "mongo.archive.gz": gzip.compress(MAGIC + b"..."),
        "other.gz": b"\x1f\x8b",
    }
    assert dump_of(server, tmp_path) == tmp_path / "cache/zenodo-7/files/mongo.archive.gz"


def test_several_dumps_require_the_option_inside(server: Server, tmp_path: Path) -> None:
    server.files["b.tgz"] = tarred_gz(tmp_path / "b.tgz", DUMP).read_bytes()

    def read(**options: Any) -> list[Any]:
        source = Zenodo(str(tmp_path / "cache"), record=7, base=server.base, **options)
        return list(source.time_series())

    message = r"2 files named time_series.bson.*unpacked/b.tgz/dump/mongo/.*option `inside` names"
    with pytest.raises(DataError, match=message):
        read()
    [document] = read(inside="unpacked/b.tgz/dump/mongo")
    assert document.fields == {}
    with pytest.raises(DataError, match="unpacked/nothing: no such file or directory; the option"):
        read(inside="unpacked/nothing")


def test_record_without_a_dump_is_an_error(server: Server, tmp_path: Path) -> None:
    del server.files["data.zip"]
    source = Zenodo(str(tmp_path / "cache"), record=7, base=server.base)
    with pytest.raises(DataError, match=r"zenodo-7: 0 files named time_series\.bson or ") as error:
        list(source.time_series())
    assert "\n" not in str(error.value)


def test_wrong_checksum_is_refused(server: Server, tmp_path: Path) -> None:
    server.lies["data.zip"] = {"checksum": "md5:" + "0" * 32}
    with pytest.raises(SourceError, match=r"does not match the checksum md5:0{32}") as error:
        dump_of(server, tmp_path)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "cache/zenodo-7/files").iterdir())
    assert not (tmp_path / "cache/zenodo-7/unpacked").exists()


def test_altered_file_is_downloaded_again(server: Server, tmp_path: Path) -> None:
    dump_of(server, tmp_path)
    (tmp_path / "cache/zenodo-7/files/README.md").write_bytes(b"altered")
    dump_of(server, tmp_path)
    assert (tmp_path / "cache/zenodo-7/files/README.md").read_bytes() == b"# Data\n"


def test_unreachable_host_fails_without_a_pause_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        pass
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(
        SourceError, match=r"cannot be listed: ConnectionError; is .* online\?$"
    ) as e:
        dump_of(server, tmp_path)
    assert not pauses
    assert len(str(e.value)) < 120


def test_broken_download_is_repeated_by_the_next_run(server: Server, tmp_path: Path) -> None:
    server.files["more.bin"] = bytes(300_000)
    server.tricks[server.address("more.bin")] = [cut_after(200_000)]
    with pytest.raises(SourceError, match=r"more\.bin.*cannot be downloaded: \w+Error"):
        dump_of(server, tmp_path)
    dump_of(server, tmp_path)
    assert server.count(server.address("more.bin")) == 2
    assert server.count(server.address("data.zip")) == 1
    assert server.count(server.api) == 1


@pytest.mark.parametrize("code", [403, 404, 429, 500])
def test_http_error_is_reported(server: Server, tmp_path: Path, code: int) -> None:
    server.tricks[server.api] = [status(code)]
    with pytest.raises(SourceError, match=f"cannot be listed: HTTP status {code}$"):
        dump_of(server, tmp_path)
    server.tricks[server.address("data.zip")] = [status(code)]
    with pytest.raises(SourceError, match=f"cannot be downloaded: HTTP status {code}$"):
        dump_of(server, tmp_path)


@pytest.mark.parametrize(
    "answer",
    [
        b"<!doctype html><title>Sorry</title>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[1]",
        b'{"files": {"a": 1}}',
        b'{"files": [3]}',
    ],
)
def test_answer_without_files_is_refused(server: Server, tmp_path: Path, answer: bytes) -> None:
    server.tricks[server.api] = [status(200, answer)]
    with pytest.raises(SourceError, match="does not list the files of a public record: "):
        dump_of(server, tmp_path)
    assert not (tmp_path / "cache/zenodo-7/record.json").exists()


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"key": None}, r"does not list .*`\$\.files\[0\]\.key`"),
        ({"checksum": "00"}, r"does not list .*\.checksum`"),
        ({"checksum": None}, r"does not list .*\.checksum`"),
        ({"links": {}}, "cannot be downloaded: MissingSchema"),
        ({"links": {"self": "file:///etc/passwd"}}, "cannot be downloaded: InvalidSchema"),
        *(
            ({"key": key}, r"does not list .*\.key`")
            for key in ("../evil", "/evil", "a/../../evil", "..", "a\nb")
        ),
    ],
)
def test_unusable_file_entry_is_refused(
    server: Server, tmp_path: Path, lie: dict[str, Any], message: str
) -> None:
    server.lies["data.zip"] = lie
    with pytest.raises(SourceError, match=message):
        dump_of(server, tmp_path)
    assert not list(tmp_path.rglob("evil"))


def test_content_link_is_preferred_to_self(server: Server, tmp_path: Path) -> None:
    address = server.base + server.address("data.zip")
    server.lies["data.zip"] = {"links": {"self": f"{server.base}/nowhere", "content": address}}
    assert (dump_of(server, tmp_path) / "files/data.zip").is_file()


@pytest.mark.parametrize("number", ["7", "7/../8", True, 7.0, 0, -1, None])
def test_record_must_be_a_positive_integer(number: object) -> None:
    with pytest.raises(ConfigError, match="record"):
        open_source("zenodo", "data/zenodo", record=number)


def test_location_must_not_be_empty() -> None:
    with pytest.raises(ConfigError, match="expected a folder"):
        open_source("zenodo", "")
    assert open_source("zenodo", "data/zenodo").name == "zenodo:5138516"


def refuse(archive: Path, message: str) -> None:
    """Unpacking fails with this message and writes nothing, inside or outside of the folder."""
    folder = archive.parent
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(DataError, match=message) as caught:
        unpack(archive, folder / "out")
    assert str(archive) in str(caught.value)
    assert sorted(folder.parent.rglob("*")) == before


@every_kind
def test_unpack_writes_every_file(tmp_path: Path, pack: Pack) -> None:
    out = unpack(pack(tmp_path / "a.bin", CONTENT), tmp_path / "out")
    files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert files == CONTENT
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a.bin", out]


@every_kind
@pytest.mark.parametrize("name", ["../evil", "a/../../evil"])
def test_unpack_writes_nothing_outside_of_the_folder(tmp_path: Path, pack: Pack, name: str) -> None:
    (tmp_path / "here").mkdir()
    archive = pack(tmp_path / "here" / "a.bin", {"fine": b"1", name: b"2"})
    if pack is zipped:  # `..` is left out of the path
        out = unpack(archive, tmp_path / "here" / "out")
        assert len([path for path in out.rglob("*") if path.is_file()]) == 2
    else:
        refuse(archive, "outside the destination")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "here" / "evil").exists()


@every_kind
def test_unpack_keeps_absolute_paths_inside_or_refuses_them(tmp_path: Path, pack: Pack) -> None:
    (tmp_path / "here").mkdir()
    target = tmp_path / "evil"
    archive = pack(tmp_path / "here" / "a.bin", {str(target): b"1"})
    with suppress(DataError):
        unpack(archive, tmp_path / "here" / "out")
    assert not target.exists()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (tarfile.SYMTYPE, "outside the destination|absolute"),
        (tarfile.LNKTYPE, "outside the destination|absolute"),
        (tarfile.CHRTYPE, "a special file"),
        (tarfile.BLKTYPE, "a special file"),
        (tarfile.FIFOTYPE, "a special file"),
    ],
)
@pytest.mark.parametrize("target", ["/etc/passwd", "../../evil"])
def test_unpack_refuses_devices_and_links_to_the_outside(
    tmp_path: Path, kind: bytes, message: str, target: str
) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as package:
        member = tarfile.TarInfo("odd")
        member.type = kind
        member.linkname = target
        package.addfile(member)
    refuse(tmp_path / "a.tar", message)


def test_unpack_never_creates_a_link_from_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as package:
        member = zipfile.ZipInfo("odd")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        package.writestr(member, "/etc/passwd")
    out = unpack(tmp_path / "a.zip", tmp_path / "out")
    assert not (out / "odd").is_symlink()
    assert (out / "odd").read_bytes() == b"/etc/passwd"


def test_unpack_refuses_an_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(zipped(tmp_path / "a.zip", {"a": b"1"}).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    refuse(tmp_path / "a.zip", "encrypted")


def test_unpack_refuses_a_zip_that_understates_its_sizes(tmp_path: Path) -> None:
    data = zipped(tmp_path / "a.zip", {"a": bytes(1 << 20)}).read_bytes()
    (tmp_path / "a.zip").write_bytes(data.replace(struct.pack("<I", 1 << 20), b"\x01\0\0\0"))
    refuse(tmp_path / "a.zip", "cannot be unpacked")


def test_unpack_refuses_a_negative_size(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as package:
        member = tarfile.TarInfo("a")
        member.pax_headers, member.size = {"size": "-512"}, 3
        package.addfile(member, io.BytesIO(b"abc"))
    refuse(tmp_path / "a.tar", r"sparse file|cannot be unpacked")


@every_kind
def test_unpack_refuses_a_truncated_archive(tmp_path: Path, pack: Pack) -> None:
    data = pack(tmp_path / "a.bin", {"a": bytes(range(256)) * 40}).read_bytes()
    (tmp_path / "a.bin").write_bytes(data[: len(data) // 2 if pack is tarred else len(data) - 30])
    if pack is zipped:  # without its directory at the end, this is no zip
        assert unpack(tmp_path / "a.bin", tmp_path / "out") == tmp_path / "a.bin"
    else:
        refuse(tmp_path / "a.bin", "cannot be unpacked")


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x8b\x08", gzip.compress(b"x" * 999, mtime=0), b"x" * 999]
)
def test_unpack_returns_other_files_as_they_are(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.bson").write_bytes(data)
    assert unpack(tmp_path / "a.bson", tmp_path / "out") == tmp_path / "a.bson"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bson"]


def test_unpack_leaves_an_existing_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    archive = zipped(tmp_path / "a.zip", CONTENT)
    assert unpack(archive, tmp_path / "out") == tmp_path / "out"
    assert not list((tmp_path / "out").iterdir())


def test_unpack_reports_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    archive = zipped(tmp_path / "a.zip", CONTENT)
    monkeypatch.setattr("zipfile.ZipFile.extractall", full)
    with pytest.raises(SourceError, match=r"a\.zip: cannot be unpacked: No space left"):
        unpack(archive, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [archive]


def test_listing_is_kept_for_later_runs(server: Server, tmp_path: Path) -> None:
    dump_of(server, tmp_path)
    kept = json.loads((tmp_path / "cache/zenodo-7/record.json").read_bytes())
    assert kept == server.listing()

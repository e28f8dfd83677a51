"""Hostile archives leave nothing behind, and honest ones come out whole."""

import errno
import gzip
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from barograph.errors import DataError, SourceError
from barograph.sources.zenodo.unpack import Limits, kind_of, safe_path, unpack

CONTENT = {"dump/mongo/time_series.bson": b"a" * 3000, "dump/readme": b"hello", "empty": b""}

BAD_NAMES = [
    "../evil",
    "a/../../evil",
    "/etc/evil",
    "//evil",
    "a//evil",
    "a/./evil",
    "C:evil",
    "C:\\evil",
    "..\\evil",
    "..",
    "",
    "a\nb",
    "a\x1b[2Jb",
    "x" * 256,
]


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


def refused(archive: Path, message: str, limits: Limits | None = None) -> None:
    """Unpacking fails with this message and leaves no trace, inside or outside."""
    folder = archive.parent
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(DataError, match=message) as caught:
        unpack(archive, folder / "out", limits)
    assert str(archive) in str(caught.value)
    assert sorted(folder.parent.rglob("*")) == before


@every_kind
def test_honest_archive_comes_out_whole(tmp_path: Path, pack: Pack) -> None:
    out = unpack(pack(tmp_path / "a.bin", CONTENT), tmp_path / "out")
    files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert files == CONTENT
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a.bin", out]


def test_folders_of_their_own_and_long_names(tmp_path: Path) -> None:
    folder = tmp_path / "in" / ("long" * 40) / ("name" * 40)
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"1")
    (tmp_path / "in" / "void").mkdir()
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "a.tar", "w", format=form) as package:
            package.add(tmp_path / "in", "./in")
        out = unpack(tmp_path / "a.tar", tmp_path / f"out{form}")
        assert (out / folder.relative_to(tmp_path) / "file").read_bytes() == b"1"
        assert (out / "in" / "void").is_dir()


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (pack, name)
        for pack in (zipped, tarred, tarred_gz)
        for name in BAD_NAMES
        if pack is zipped or name not in ("", "a//evil", "//evil")  # tarfile cannot write these
    ],
)
def test_no_name_leads_out(tmp_path: Path, pack: Pack, name: str) -> None:
    (tmp_path / "here").mkdir()
    refused(pack(tmp_path / "here" / "a.bin", {"fine": b"1", name: b"2"}), "plain relative path")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_safe_path_alone(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError):
        safe_path(tmp_path, name, "x")


@every_kind
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_name_that_comes_twice(tmp_path: Path, pack: Pack) -> None:
    refused(pack(tmp_path / "a.bin", {"a": b"1", "./a": b"2"}), "comes twice")
    refused(pack(tmp_path / "b.bin", {"a": b"1", "a/b": b"2"}), "File exists|Not a directory")


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"S"],
)
def test_links_and_devices_in_a_tar(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as package:
        member = tarfile.TarInfo("odd")
        member.type = kind
        member.linkname = "/etc/passwd"
        package.addfile(member)
    refused(tmp_path / "a.tar", "a link, a device or another odd kind")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip(tmp_path: Path, kind: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as package:
        member = zipfile.ZipInfo("odd")
        member.external_attr = (kind | 0o777) << 16
        package.writestr(member, "/etc/passwd")
    refused(tmp_path / "a.zip", "a link or a device")


def test_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(zipped(tmp_path / "a.zip", {"a": b"1"}).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    refused(tmp_path / "a.zip", "is encrypted")


@every_kind
def test_too_much_in_all(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "a.bin", {"a": b"x" * 60_000, "b": b"y" * 60_000})
    refused(archive, "unpacks to more than 100000 bytes", Limits(total=100_000))


@pytest.mark.parametrize("pack", [zipped, tarred_gz])
def test_bomb_by_its_ratio(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "a.bin", {"a": bytes(4 << 20)})
    refused(archive, "200 for every packed byte", Limits(grace=1 << 20))


def test_zip_whose_sizes_lie(tmp_path: Path) -> None:
    data = zipped(tmp_path / "a.zip", {"a": bytes(1 << 20)}).read_bytes()
    (tmp_path / "a.zip").write_bytes(data.replace(struct.pack("<I", 1 << 20), b"\x01\0\0\0"))
    refused(tmp_path / "a.zip", "damaged")


@every_kind
def test_too_many_members(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "a.bin", {str(number): b"" for number in range(40)})
    refused(archive, "more members than the allowed 30", Limits(members=30))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_header_that_would_fill_the_memory(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("huge")
    member.type, member.size = kind, 1 << 40
    with gzip.open(tmp_path / "a.tgz", "wb") as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    refused(tmp_path / "a.tgz", "claims 1099511627776 bytes")


def test_headers_upon_headers(tmp_path: Path) -> None:
    member = tarfile.TarInfo("chain")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 512
    (tmp_path / "a.tar").write_bytes((member.tobuf() + b"x".ljust(512, b"\0")) * 5000)
    refused(tmp_path / "a.tar", "damaged")


def test_sparse_member_by_extended_header(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as package:
        member = tarfile.TarInfo("sparse")
        member.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": "99999999999"}
        package.addfile(member)
    refused(tmp_path / "a.tar", "sparse")


@pytest.mark.parametrize("size", ["-512", "999999999999", "nonsense"])
def test_extended_header_that_lies_about_the_size(tmp_path: Path, size: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as package:
        member = tarfile.TarInfo("a")
        member.pax_headers, member.size = {"size": size}, 3
        package.addfile(member, io.BytesIO(b"abc"))
    if size == "nonsense":  # tarfile takes it for 0, and then finds no header where one should be
        refused(tmp_path / "a.tar", "damaged")
    else:
        refused(tmp_path / "a.tar", "no true size|damaged")


@every_kind
def test_archive_cut_off_anywhere(tmp_path: Path, pack: Pack) -> None:
    data = pack(tmp_path / "a.bin", CONTENT).read_bytes()
    for cut in range(600, min(len(data), 5600), 512):
        (tmp_path / "a.bin").write_bytes(data[:cut])
        if kind_of(tmp_path / "a.bin") is not None:
            refused(tmp_path / "a.bin", "damaged|cut off")


def test_damaged_header_is_not_taken_for_the_end(tmp_path: Path) -> None:
    data = bytearray(tarred(tmp_path / "a.tar", CONTENT).read_bytes())
    second = 512 + 3072
    data[second + 10] ^= 0xFF
    (tmp_path / "a.tar").write_bytes(data)
    refused(tmp_path / "a.tar", "damaged: bad checksum")


def test_kind_is_told_by_content(tmp_path: Path) -> None:
    assert kind_of(zipped(tmp_path / "a.tar", CONTENT)) == "zip"
    assert kind_of(tarred(tmp_path / "a.zip", CONTENT)) == "tar"
    assert kind_of(tarred_gz(tmp_path / "a.bson", CONTENT)) == "tar"
    for name, data in {
        "bson.gz": gzip.compress(b"x" * 999),
        "cut": b"\x1f\x8b\x08",
        "": b"",
    }.items():
        path = tmp_path / f"x{name}"
        path.write_bytes(data)
        assert kind_of(path) is None
    refused(path, "neither a zip nor a tar")


def test_what_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".out.tmp").mkdir()
    (tmp_path / ".out.tmp" / "half").write_bytes(b"1")
    out = unpack(zipped(tmp_path / "a.zip", CONTENT), tmp_path / "out")
    assert not (out / "half").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "out"]


def test_folder_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert unpack(zipped(tmp_path / "a.zip", CONTENT), tmp_path / "out") == tmp_path / "out"
    assert not list((tmp_path / "out").iterdir())


def test_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    archive = zipped(tmp_path / "a.zip", CONTENT)
    monkeypatch.setattr("barograph.sources.zenodo.unpack._write", full)
    with pytest.raises(SourceError, match=r"a\.zip: cannot be unpacked: No space left"):
        unpack(archive, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [archive]

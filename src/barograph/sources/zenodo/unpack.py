"""Archives from elsewhere, unpacked so that they can do no harm.

Nothing in a zip or a tar is taken on trust: not its names, not its kinds of members, not the
sizes it declares. What is written is counted while it is written.
"""

from __future__ import annotations

import fcntl
import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from barograph.errors import DataError, SourceError
from barograph.sources.contract import Readable
from barograph.sources.documents.frames import GZIP_MAGIC

CHUNK = 1 << 20
LONGEST_HEADER = 16 << 10  # of a long name in a tar: a path is shorter, a bomb is not
USTAR = slice(257, 262)


@dataclass(frozen=True)
class Limits:
    """How much an archive may unpack to, beyond which it is taken for a bomb.

    Args:
        total: Bytes of all members together.
        ratio: Bytes unpacked for every packed one; a mongodump packs about 1 to 20.
        members: Files and folders together.
        grace: Bytes below which the ratio does not matter.
    """

    total: int = 64 << 30
    ratio: float = 200.0
    members: int = 10_000
    grace: int = 16 << 20


class Budget:
    """What an archive has unpacked to so far, against what it may."""

    def __init__(self, archive: Path, limits: Limits) -> None:
        self.archive = archive
        self.limits = limits
        self.allowed = min(limits.total, max(limits.grace, limits.ratio * archive.stat().st_size))
        self.spent = 0
        self.members = 0

    def spend(self, count: int) -> None:
        """Count `count` more bytes."""
        self.spent += count
        if self.spent > self.allowed:
            raise DataError(
                f"{self.archive}: unpacks to more than {self.allowed:.0f} bytes; allowed are "
                f"{self.limits.total} in all and {self.limits.ratio:g} for every packed byte"
            )

    def enter(self) -> None:
        """Count one more member."""
        self.members += 1
        if self.members > self.limits.members:
            raise DataError(
                f"{self.archive}: has more members than the allowed {self.limits.members}"
            )


class Metered:
    """A stream whose every byte is counted against a budget."""

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self.stream = stream
        self.budget = budget

    def read(self, size: int = -1, /) -> bytes:
        """Read and count."""
        data = self.stream.read(size)
        self.budget.spend(len(data))
        return data


def kind_of(path: Path) -> str | None:
    """`zip`, `tar` (gzipped or not), or None for anything else, by content and not by name."""
    with path.open("rb") as file:
        start = file.read(512)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    if start[:2] == GZIP_MAGIC:
        start = _start_of_gzip(path)
    return "tar" if start[USTAR] == b"ustar" else None


def _start_of_gzip(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(512)
    except (OSError, EOFError, zlib.error):
        return b""  # not ours to judge: whoever reads the file says what is wrong with it


def safe_path(folder: Path, name: str, archive: Path | str) -> Path:
    """Where a member of this name goes, inside `folder` for certain."""
    parts = name.rstrip("/").split("/")
    while parts and parts[0] == ".":
        parts.pop(0)
    if any(part in ("", ".", "..") or len(part.encode()) > 255 for part in parts) or any(
        letter in "\\:" or not letter.isprintable() for letter in name
    ):
        raise DataError(
            f"{archive}: member {name!r}: not a plain relative path; no empty part, no '..', no "
            "backslash, colon or control character is allowed, and no part above 255 bytes"
        )
    return folder.joinpath(*parts)


def unpack(archive: Path, target: Path, limits: Limits | None = None) -> Path:
    """Unpack a zip or a tar into the folder `target`, whole or not at all, unless it is there.

    Raises:
        DataError: A name leads out of the folder or comes twice, a member is a link or a device,
            the limits are passed, or the archive is damaged.
        SourceError: The disk is full, or may not be written to.
    """
    kind = kind_of(archive)
    if kind is None:
        raise DataError(f"{archive}: neither a zip nor a tar, gzipped or not")
    budget = Budget(archive, limits or Limits())
    draft = target.with_name(f".{target.name}.tmp")
    with _told(archive), archive.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # another process may be unpacking this one
        if target.exists():
            return target
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed
        draft.mkdir(parents=True)
        try:
            (_unpack_zip if kind == "zip" else _unpack_tar)(archive, draft, budget)
            draft.replace(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target


@contextmanager
def _told(archive: Path) -> Iterator[None]:
    """Whatever a damaged archive makes the standard library raise, in our words."""
    damage = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile)
    try:
        yield
    except DataError:
        raise
    except (*damage, NotImplementedError, UnicodeError, ValueError, RuntimeError) as error:
        raise DataError(f"{archive}: damaged, or packed in a way not supported: {error}") from error
    except OSError as error:
        raise SourceError(f"{archive}: cannot be unpacked: {error.strerror}") from error


def _unpack_zip(archive: Path, folder: Path, budget: Budget) -> None:
    with zipfile.ZipFile(archive) as package:
        for member in package.infolist():
            budget.enter()
            _refuse_odd_zip_member(archive, member)
            path = safe_path(folder, member.filename, archive)
            if member.is_dir():
                _make_folder(path, member.filename, archive)
                continue
            with package.open(member) as stream:
                _write(path, Metered(stream, budget), member.filename, archive)


def _refuse_odd_zip_member(archive: Path, member: zipfile.ZipInfo) -> None:
    mode = stat.S_IFMT(member.external_attr >> 16)
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise DataError(f"{archive}: member {member.filename!r}: a link or a device")
    if member.flag_bits & 0x1:
        raise DataError(f"{archive}: member {member.filename!r}: is encrypted")


# What may stand in a tar: files, folders, and headers that lengthen a name.
EXTENSIONS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)


def _unpack_tar(archive: Path, folder: Path, budget: Budget) -> None:
    # A pure stream: tarfile cannot be sent backwards by a header that lies.
    with (
        _opened(archive) as stream,
        tarfile.open(
            fileobj=cast("IO[bytes]", Metered(stream, budget)), mode="r|", tarinfo=_guarded(budget)
        ) as package,
    ):
        while (member := package.next()) is not None:
            if member.issparse() or member.size < 0:
                raise DataError(f"{archive}: member {member.name!r}: sparse, or of no true size")
            path = safe_path(folder, member.name, archive)
            content = package.extractfile(member)
            if content is None:
                _make_folder(path, member.name, archive)
            else:
                _write(path, content, member.name, archive)


def _guarded(budget: Budget) -> type[tarfile.TarInfo]:
    """A header of a tar that is refused before anything behind it is read.

    tarfile takes long names and extended headers whole into memory, whatever length they claim,
    and takes a header that is damaged or cut off for the end of the archive.
    """

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
            budget.enter()
            if len(buf) < tarfile.BLOCKSIZE:
                raise DataError(f"{budget.archive}: is cut off")
            if not any(buf):
                return super().frombuf(buf, encoding, errors)  # the end, as tarfile tells it
            try:
                header = super().frombuf(buf, encoding, errors)
            except tarfile.TarError as error:
                raise DataError(f"{budget.archive}: damaged: {error}") from error
            cls.refuse_odd(header)
            return header

        @staticmethod
        def refuse_odd(header: tarfile.TarInfo) -> None:
            where = f"{budget.archive}: member {header.name!r}"
            if header.type not in EXTENSIONS + PLAIN:
                raise DataError(f"{where}: a link, a device or another odd kind")
            longest = LONGEST_HEADER if header.type in EXTENSIONS else budget.limits.total
            if not 0 <= header.size <= longest:
                raise DataError(f"{where}: its header claims {header.size} bytes")

    return Header


@contextmanager
def _opened(archive: Path) -> Iterator[Readable]:
    with archive.open("rb") as file:
        zipped = file.read(2) == GZIP_MAGIC
        file.seek(0)
        if not zipped:
            yield file
            return
        with gzip.GzipFile(fileobj=file) as stream:
            yield stream


def _make_folder(path: Path, name: str, archive: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{archive}: member {name!r}: {error.strerror}") from error


def _write(path: Path, stream: Readable, name: str, archive: Path) -> None:
    _make_folder(path.parent, name, archive)
    try:
        file = path.open("xb")
    except FileExistsError:
        raise DataError(f"{archive}: member {name!r}: comes twice") from None
    with file:
        while chunk := stream.read(CHUNK):
            file.write(chunk)

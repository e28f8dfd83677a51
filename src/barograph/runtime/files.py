"""Write files completely or not at all, and one process after another."""

import errno
import glob
import io
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from barograph.runtime.errors import DataError

try:
    import fcntl
except ModuleNotFoundError:  # Windows: what a killed process leaves has to be deleted by hand
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds to wait for a lock
PAUSE = 0.02


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` unless an error is raised.

    The content is flushed to disk before the rename, so readers see the old file or the new
    one, never a part of it, even after a power failure. A process that is killed leaves a file
    `.NAME.*.tmp`, which the next call for the same path deletes. The permissions of an existing
    file are kept, and the file that a symbolic link names is replaced, not the link. A device
    such as `/dev/null`, or a pipe, gets the content instead of being replaced.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with tempfile.TemporaryDirectory() as folder, named(target):
            yield Path(folder) / target.name
            with (Path(folder) / target.name).open("rb") as content, target.open("wb") as device:
                shutil.copyfileobj(content, device)
        return
    target = followed(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _draft(target, is_folder=False) as draft:
        with named(target):
            yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.chmod(_mode(target))
        draft.replace(target)


def followed(path: Path) -> Path:
    """Return the file that a symbolic link names, or the path itself.

    Raises:
        OSError: Links lead in a circle.
    """
    if not path.is_symlink():
        return path
    with suppress(RuntimeError):  # before Python 3.13, of a circle
        target = path.resolve()
        if not target.is_symlink():
            return target
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from changing a file, until the end of the block.

    The folder is locked, since writing replaces the file. Where folders have no locks, as on NFS,
    a file `.NAME.lock` is, which is deleted at the end. Where that has none either, nothing is.

    Raises:
        DataError: Another process holds the lock for a minute.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.lock")
    handle = _waited(target.parent, os.O_RDONLY, target)
    is_beside = handle < 0
    if is_beside:
        handle = _waited(beside, os.O_RDWR | os.O_CREAT, target)
    try:
        yield
    finally:
        if is_beside:
            with suppress(OSError):
                beside.unlink()
        if handle >= 0:
            os.close(handle)


def _waited(place: Path, flags: int, target: Path) -> int:
    """Wait until a file or a folder is locked; return the handle, or -1 if it has no locks."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            handle = _locked(place, wait=False, flags=flags)
            if place.exists() and os.path.samestat(os.fstat(handle), place.stat()):
                return handle
            os.close(handle)  # the process before has deleted it
        except BlockingIOError:
            pass
        except OSError:
            return -1
        if time.monotonic() >= end:
            raise DataError(
                f"{target}: another process has been writing to it for {PATIENCE:g} seconds; try "
                "again"
            )
        time.sleep(PAUSE)


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path to an OSError that lacks one, such as ENOSPC."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


class CsvText(io.StringIO):
    """Takes rows of a `csv.writer`, which end with CR LF, as lines that end with LF.

    Before Python 3.13 the writer quotes a carriage return in a cell only if its line end has one.
    """

    def __init__(self) -> None:
        super().__init__(newline="")

    def write(self, row: str) -> int:
        """Write one row, as the writer ends it."""
        return super().write(row.removesuffix("\r\n") + "\n")


def _mode(path: Path) -> int:
    """Return the permissions of a file, or of a new one."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def published(folder: str | Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a folder to write the named files to; at the end they move to `folder` together.

    After an error the old files are unchanged. The old files are removed, last name first, before
    the new ones move in, first name first. So a process that is killed in between leaves a set
    with a missing file, which every reader refuses, and never a mixture of old and new files.
    """
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder, not in it, so that a killed process leaves nothing where others read.
    with _draft(target, is_folder=True) as draft:
        with named(target):
            yield draft
        for name in names:
            _sync(draft / name)
        target.mkdir(exist_ok=True)
        for name in reversed(names):
            (target / name).unlink(missing_ok=True)
        _sync(target)
        for name in names:
            (draft / name).replace(target / name)
        _sync(target)


def delete_drafts(folder: Path) -> None:
    """Delete what killed processes left in a folder and below it, but no file in progress."""
    for leftover in list(folder.rglob(".*.tmp")):
        _delete_abandoned(leftover)


@contextmanager
def _draft(target: Path, *, is_folder: bool) -> Iterator[Path]:
    """Create a temporary file or folder beside a target, and delete it at the end.

    It is locked until then. One that is not locked was left by a process that was killed.
    """
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        _delete_abandoned(leftover)
    draft, handle = _new(target, is_folder=is_folder)
    try:
        yield draft
    finally:
        _delete(draft)
        if handle >= 0:
            os.close(handle)


def _new(target: Path, *, is_folder: bool) -> tuple[Path, int]:
    """Create a temporary file or folder; return its path, and a handle with the lock or -1."""
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        try:
            draft.mkdir(0o700) if is_folder else draft.touch(0o600, exist_ok=False)
        except PermissionError as error:  # names the temporary file
            reason = f"the folder {target.resolve().parent} is not writable"
            raise PermissionError(error.errno, reason, os.fspath(target)) from None
        handle = -1
        with suppress(OSError):  # where there are no locks, nothing is taken for abandoned
            handle = _locked(draft, wait=True)
        if draft.exists():  # else it was taken for abandoned before it was locked
            return draft, handle
        if handle >= 0:
            os.close(handle)


def _locked(path: Path, *, wait: bool, flags: int = os.O_RDONLY) -> int:
    """Open a file or folder and lock it."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    handle = os.open(path, flags, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        raise
    return handle


def _delete_abandoned(draft: Path) -> None:
    with suppress(OSError):  # another process writes it, or has just finished
        handle = _locked(draft, wait=False)
        _delete(draft)
        os.close(handle)


def _delete(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

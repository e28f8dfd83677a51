"""Write files completely or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` unless an error is raised.

    The content is flushed to disk before the rename, so readers see the old file or the new
    one, never a part of it, even after a power failure.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    os.close(handle)
    draft = Path(name)
    try:
        with named(target):
            yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path to an OSError that lacks one, such as ENOSPC."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


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
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"))
    try:
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
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Write files completely or not at all."""

import os
import tempfile
from collections.abc import Iterator
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

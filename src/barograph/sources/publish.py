"""Several files appear together or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from barograph.files import named


@contextmanager
def published(folder: str | Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a folder to write the named files to; at the end they move to `folder` together.

    After an error the old files stand untouched. The old set is taken away, last name first,
    before the new one moves in, first name first: a kill in between leaves a set with a file
    missing, which every reader refuses, and never a mixture of old and new.
    """
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder, not in it: a kill must not leave litter where others look for data.
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
    """Bring a file or a folder's list of names to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

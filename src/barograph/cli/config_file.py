"""Where `barograph.toml` is looked for, and how far a file that is found is trusted.

Whoever can write to a folder above a job could otherwise run commands as the user of the job.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

NAME = "barograph.toml"
GIT = ".git"  # a folder, or a file in a work tree
ROOT = 0  # the user number of the administrator


class Trust(IntEnum):
    """How much of a file is used."""

    NOTHING = 0
    SETTINGS = 1  # no commands, models, stores and hosts
    EVERYTHING = 2


def find(start: Path) -> Path | None:
    """Return the nearest `barograph.toml` in a folder or above, or None.

    The search ends at the root of the repository, the home folder and the root of the file system.

    Args:
        start: The folder, as an absolute path.
    """
    return next((folder / NAME for folder in _searched(start) if (folder / NAME).is_file()), None)


def trust_of(path: Path) -> tuple[Trust, str]:
    """Return how far a file that was found is trusted, and why it is not trusted further.

    Args:
        path: The file, as an absolute path.
    """
    if not hasattr(os, "geteuid"):
        return Trust.EVERYTHING, ""  # Windows has no user numbers
    user, target = os.geteuid(), path.resolve()
    owners = [_owner_and_mode(place)[0] for place in (path, target)]
    strangers = [owner for owner in owners if owner not in (user, ROOT)]
    is_open = (
        place
        for place in (path.parent, target.parent, target)
        if _owner_and_mode(place)[1] & stat.S_IWOTH
    )
    if strangers:
        reason = (
            f"the file belongs to user {strangers[0]}, who is neither you (user {user}) nor root"
        )
    elif (place := next(is_open, None)) is not None:
        reason = f"every user can write to {place}"
    else:
        return Trust.EVERYTHING, ""
    *_, last = _searched(path.parent)
    of_repository = (last / GIT).exists() and {*owners} == {_owner_and_mode(last)[0]}
    return (Trust.SETTINGS if of_repository else Trust.NOTHING), reason


def _searched(start: Path) -> Iterator[Path]:
    home = Path(os.environ.get("HOME") or os.sep).resolve()
    for folder in (start, *start.parents):
        if folder.stat().st_dev != start.stat().st_dev:
            return
        yield folder
        if folder == home or (folder / GIT).exists():
            return


def _owner_and_mode(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_mode

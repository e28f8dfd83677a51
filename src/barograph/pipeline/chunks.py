"""Results of long stages, kept chunk by chunk: a run that was broken off goes on where it was."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.files import whole

FOLDER = Path("data/cache")

Arrays = Mapping[str, npt.NDArray[Any]]


def key(*parts: object) -> str:
    """Return a name for what a chunk's result depends on: texts, numbers and arrays."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype.str}{part.shape}".encode())
            total.update(np.ascontiguousarray(part).tobytes())
        else:
            total.update(repr(part).encode())
        total.update(b";")
    return total.hexdigest()[:32]


def load(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """Return what was kept, or None where there is nothing or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def keep(path: Path, arrays: Arrays) -> None:
    """Write a chunk's result, whole or not at all."""
    with whole(path) as draft, draft.open("wb") as file:
        named: dict[str, Any] = dict(arrays)
        np.savez(file, **named)

"""Keep the results of long computations, so that an interrupted run continues where it stopped.

Every result is one file of arrays, named by a hash of all that it depends on and written whole or
not at all. The folder may be deleted at any time.
"""

import hashlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import Arrays
from barograph.runtime.files import whole
from barograph.runtime.parallel import map_parallel

FOLDER = Path("data/cache")


def key(*parts: object) -> str:
    """Return a name for a result that depends on these texts, numbers and arrays."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
        digest.update(b";")
    return digest.hexdigest()[:32]


def load(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """Return a result, or None if there is none or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def save(path: Path, arrays: Arrays) -> None:
    """Write a result, whole or not at all."""
    with whole(path) as draft, draft.open("wb") as file:
        named: dict[str, Any] = dict(arrays)
        np.savez(file, **named)


def map_resumed(
    function: Callable[..., Mapping[str, float]],
    calls: Sequence[tuple[Any, ...]],
    paths: Sequence[Path],
    label: str,
) -> list[dict[str, float]]:
    """Return the result of every call, in order; run in parallel those without a file.

    Args:
        function: As for `map_parallel`; returns numbers by name.
        calls: The arguments of each call.
        paths: The file of each call's result; equal calls may share one.
        label: Label of the progress bar.
    """
    results = {path: _numbers(path) for path in paths}
    missing = {
        path: (function, path, *call)
        for path, call in zip(paths, calls, strict=True)
        if results[path] is None
    }
    known = len(results) - len(missing)
    label = f"{label} ({known} cached)" if known else label
    computed = map_parallel(_compute, list(missing.values()), label)
    results |= dict(zip(missing, computed, strict=True))
    return [results[path] or {} for path in paths]


def _numbers(path: Path) -> dict[str, float] | None:
    arrays = load(path)
    return None if arrays is None else {name: float(number) for name, number in arrays.items()}


def _compute(
    function: Callable[..., Mapping[str, float]], path: Path, *call: Any
) -> dict[str, float]:
    """Compute a result in a worker, which keeps it there: a killed run loses nothing finished."""
    numbers = dict(function(*call))
    save(path, {name: np.array(number) for name, number in numbers.items()})
    return numbers

"""What every reader of an artifact checks of the arrays in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError

Arrays = Mapping[str, npt.NDArray[Any]]


def array(arrays: Arrays, name: str, dtype: npt.DTypeLike, dimensions: int) -> npt.NDArray[Any]:
    """Return one array, or say that it is missing or of another type or shape."""
    if name not in arrays:
        raise ArtifactError(f"the model misses the array {name!r}; has {sorted(arrays)}")
    found = arrays[name]
    if found.dtype != dtype or found.ndim != dimensions:
        raise ArtifactError(
            f"array {name!r}: expected {dimensions} dimensions of {np.dtype(dtype)}, "
            f"got {found.ndim} of {found.dtype}"
        )
    return np.ascontiguousarray(found)


def numbers(arrays: Arrays, name: str, *shape: int) -> npt.NDArray[np.float64]:
    """Return one array of finite float64 with the given shape; -1 stands for any length."""
    found = array(arrays, name, np.float64, len(shape))
    if any(want not in (-1, have) for want, have in zip(shape, found.shape, strict=True)):
        raise ArtifactError(f"array {name!r}: expected the shape {shape}, got {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArtifactError(f"array {name!r} holds a number that is not finite")
    return found


def between(name: str, found: npt.NDArray[Any], low: float = 0.0, high: float = 1.0) -> None:
    """Refuse numbers outside of the limits, and NaN."""
    if not np.all((found >= low) & (found <= high)):
        raise ArtifactError(f"array {name!r}: a number lies outside {low:g} to {high:g}")

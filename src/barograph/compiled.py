"""Decorators that compile numeric kernels with Numba, or leave them to the interpreter.

Compiling takes seconds, and loading what is compiled takes as long as judging a few hundred points
interpreted. So a command whose files are small leaves the same functions to the interpreter. The
choice holds for the whole process and is made before the first kernel is defined.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Long sums may be reordered and use fused multiply-add. Full fast-math is never used, because it
# gives up the meaning of NaN and infinity.
FUSED = frozenset({"reassoc", "contract", "nsz"})
# Bytes of files that a command handles interpreted in about the time that it takes to import Numba
# and to load compiled kernels. `score` takes longer, as it judges every result that is new to its
# store.
SMALL = {"detect": 50_000, "gate": 50_000, "report": 50_000, "score": 20_000}
# Other detectors and models may need much more time in the interpreter.
COMPILED_OPTIONS = ("--detector", "--model")
PACKAGE = Path(__file__).resolve().parent
# Whether the user has switched the compiler off, as Numba documents it.
FORCED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class _Choice:
    """What this process does with kernels.

    Attributes:
        interprets: Whether kernels are left to the interpreter.
        is_made: Whether a kernel was defined, so that it is too late to choose.
    """

    interprets = FORCED
    is_made = False


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with strict IEEE semantics: sums from left to right, no fused multiply-add."""
    return _compiled(function)


def fused_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with reordered and fused sums, several times faster on long reductions."""
    return _compiled(function, fastmath=set(FUSED))


def is_interpreted() -> bool:
    """Whether kernels run interpreted in this process."""
    return _Choice.interprets


def interpret_small(arguments: Sequence[str]) -> None:
    """Choose the interpreter if a command reads small files.

    Args:
        arguments: The command and its arguments.
    """
    command, *rest = arguments or [""]
    if _Choice.is_made or command not in SMALL:
        return
    if any(text.startswith(COMPILED_OPTIONS) for text in rest):
        return
    if _size_of(rest) <= SMALL[command]:
        _Choice.interprets = True


def compile_after_all() -> None:
    """Withdraw the choice of `interpret_small`, unless a kernel was defined or the user chose."""
    if not _Choice.is_made:
        _Choice.interprets = FORCED


def cache_folder() -> Path:
    """Return the folder below which Numba writes compiled code; it names it for each module."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(named)
    beside = PACKAGE / "__pycache__"
    if os.access(beside if beside.exists() else PACKAGE, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"


def _size_of(arguments: Sequence[str]) -> float:
    """Return the bytes of the files among some arguments; a folder or `-` may hold anything."""
    files = [Path(text) for text in arguments if not text.startswith("-")]
    found = [path for path in files if path.exists()]
    if not found or "-" in arguments or any(path.is_dir() for path in found):
        return math.inf
    return sum(path.stat().st_size for path in found)


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    if not _Choice.is_made:
        _Choice.is_made = True
        if _Choice.interprets:  # compiled code gives NaN or infinity without a word
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"barograph\.")
    if _Choice.interprets:
        return function
    from barograph.jit import compile_kernel

    return compile_kernel(function, options)

"""Decorators that compile numeric kernels with Numba, or leave them to the interpreter.

Compiling takes seconds, and loading what is compiled takes as long as judging a few hundred points
interpreted. So a command that read little data leaves the same functions to the interpreter. The
choice holds for the whole process and is made before the first kernel is defined.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Long sums may be reordered and use fused multiply-add. Full fast-math is never used, because it
# gives up the meaning of NaN and infinity.
FUSED = frozenset({"reassoc", "contract", "nsz"})
# Points that are judged interpreted in about the time that it takes to import Numba and to load
# compiled kernels.
SMALL = 800
PACKAGE = Path(__file__).resolve().parent
# Whether the user has switched the compiler off, as Numba documents it.
FORCED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class _Choice:
    """What this process does with kernels.

    Attributes:
        interprets: Whether kernels are left to the interpreter.
        is_made: Whether a kernel was defined, so that it is too late to choose.
        is_command: Whether the process runs one command and ends.
    """

    interprets = FORCED
    is_made = False
    is_command = False


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with strict IEEE semantics: sums from left to right, no fused multiply-add."""
    return _compiled(function)


def fused_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with reordered and fused sums, several times faster on long reductions."""
    return _compiled(function, fastmath=set(FUSED))


def kernel_or(arrays: Callable[P, R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile like `kernel`; where kernels are interpreted, use a function of NumPy arrays.

    Args:
        arrays: Does the same, to the bit, in few calls of NumPy.
    """

    def choose(function: Callable[P, R]) -> Callable[P, R]:
        compiled = kernel(function)
        return arrays if is_interpreted() else compiled

    return choose


def is_interpreted() -> bool:
    """Whether kernels run interpreted in this process."""
    return _Choice.interprets


def begin_command() -> None:
    """Say that this process runs one command, which may leave kernels to the interpreter."""
    _Choice.is_command = True


def compile_always() -> None:
    """Have kernels compiled however little there is to judge."""
    _Choice.is_command = False


def interpret_small(points: float) -> None:
    """Leave kernels to the interpreter if there is little to judge, and no kernel is defined yet.

    Args:
        points: Number of points, or of as much work.
    """
    if _Choice.is_command and not _Choice.is_made and points <= SMALL:
        _Choice.interprets = True


def runs_compiled(work: Callable[[], object]) -> bool:
    """Do work if every kernel that it needs is compiled or interpreted; return whether it was done.

    Args:
        work: Calls kernels in this thread, and can be stopped before any of them.
    """
    if is_interpreted():
        work()
        return True
    from barograph import jit

    try:
        with jit.compiling_refused():
            work()
    except jit.NotCompiled:
        return False
    return True


def has_compiled() -> bool:
    """Whether this process compiled a kernel: memory that only its end frees."""
    if is_interpreted():
        return False
    from barograph import jit

    return jit.KernelCache.has_compiled


def cache_folder() -> Path:
    """Return the folder below which Numba writes compiled code; it names it for each module."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(named)
    beside = PACKAGE / "__pycache__"
    if os.access(beside if beside.exists() else PACKAGE, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    if not _Choice.is_made:
        _Choice.is_made = True
        if _Choice.interprets:  # compiled code gives NaN or infinity without a word
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"barograph\.")
    if _Choice.interprets:
        return function
    from barograph.jit import compile_kernel

    return compile_kernel(function, options, reports=_Choice.is_command)

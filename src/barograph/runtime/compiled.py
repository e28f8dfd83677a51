"""Numeric kernels, which are compiled by Numba or interpreted: one choice for the whole process.

Numba needs half a minute to compile what a command uses, and then keeps it on disk; to load it from
there takes almost a second. A few hundred points are interpreted in that time. A process that
interprets changes over once, and for good, when it gets more to do.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import warnings
from collections.abc import Callable
from functools import cache, partial, update_wrapper
from pathlib import Path
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Long sums may be reordered and use fused multiply-add. Full fast-math is never used, because it
# gives up the meaning of NaN and infinity.
FUSED = frozenset({"reassoc", "contract", "nsz"})
SMALL = 800  # points of one call that are interpreted in less than two seconds
ALTOGETHER = 4 * SMALL  # points of many calls, interpreted in about the time that compiling takes
PACKAGE = Path(__file__).resolve().parents[1]
FOLDER = re.compile(r"barograph-[0-9a-f]{16}")  # for compiled code
# Rooms of the package that hold no kernel, and no constant of one: editing them compiles nothing.
WITHOUT_KERNELS = frozenset({"cli", "pipeline", "report", "server", "sources", "studies"})
COMPLETE = "complete"  # a file in the folder, once every kernel that commands use is compiled
# Whether the user has switched the compiler off, as Numba documents it.
FORCED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class _Process:
    """What this process does with kernels.

    Attributes:
        interprets: Whether kernels are interpreted.
        is_chosen: Whether that was chosen, or a kernel was called without a choice.
        points: Number of points that were interpreted so far.
    """

    interprets = FORCED
    is_chosen = FORCED
    points = 0.0


class Kernel(Generic[P, R]):
    """A numeric function, which is compiled or interpreted when it is called.

    Args:
        function: The function that Numba compiles.
        interpreted: What is called instead if kernels are interpreted.
        fused: Whether sums may be reordered and fused, see FUSED.
    """

    def __init__(
        self,
        function: Callable[P, R],
        interpreted: Callable[P, R] | None = None,
        *,
        fused: bool = False,
    ) -> None:
        update_wrapper(self, function)
        self.function, self.fused = function, fused
        self._interpreted = interpreted or function
        self._compiled: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled or the interpreted function."""
        if _Process.interprets:
            return self._interpreted(*args, **kwargs)
        return (self._compiled or self.compiled())(*args, **kwargs)

    def __reduce__(self) -> str:
        """Pickle a reference, as for a function."""
        return self.function.__qualname__

    def compiled(self) -> Callable[P, R]:
        """Return the function of Numba, which compiles it on its first call."""
        from barograph.runtime import jit

        _Process.is_chosen = True
        if self._compiled is None:
            jit.let_kernels_call(Kernel)
            folder = make_code_folder()
            options, name = ({"fastmath": set(FUSED)}, "fused") if self.fused else ({}, "strict")
            self._compiled = jit.compile_function(self.function, options, folder and folder / name)
        return self._compiled


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with strict IEEE semantics: sums from left to right, no fused multiply-add."""
    return Kernel(function)


def fused_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with reordered and fused sums, several times faster on long reductions."""
    return Kernel(function, fused=True)


def kernel_or(arrays: Callable[P, R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile like `kernel`; where kernels are interpreted, use a function of NumPy arrays.

    Args:
        arrays: Does the same, to the bit, in few calls of NumPy.
    """
    return partial(Kernel, interpreted=arrays)


def choose(points: float) -> None:
    """Choose whether kernels are interpreted, before they are called with a number of points.

    The first call in a process with few points chooses the interpreter. A later call with many
    points chooses the compiler, and so does the sum of many calls, sooner if all kernels are on
    disk; nothing undoes that. Without any call, kernels are compiled.

    Args:
        points: Number of points, or of as much work.
    """
    if FORCED or (_Process.is_chosen and not _Process.interprets):
        return
    _Process.points += points
    most = SMALL if is_complete() else ALTOGETHER
    _Process.interprets = points <= SMALL and _Process.points <= most
    if _Process.interprets and not _Process.is_chosen:
        # Compiled code gives NaN or infinity without a word.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"barograph\.")
    _Process.is_chosen = True


def is_complete() -> bool:
    """Return whether every kernel that commands use is compiled and on disk."""
    return (code_folder() / COMPLETE).exists()


@cache
def code_folder() -> Path:
    """Return the folder for the code compiled from this version of the package.

    It is below `NUMBA_CACHE_DIR`, or beside the package, or in the user's folder for caches.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if inside.parts[0] not in WITHOUT_KERNELS:
            digest.update(f"{inside.as_posix()}\n".encode() + path.read_bytes())
    return cache_folder() / f"barograph-{digest.hexdigest()}"


@cache
def make_code_folder() -> Path | None:
    """Make the folder for compiled code, and remove those of other versions.

    Returns:
        The folder, None if it cannot be written to.
    """
    folder = code_folder()
    if not folder.exists():
        try:
            folder.mkdir(parents=True)
        except OSError:
            return None
        for other in folder.parent.iterdir():
            if FOLDER.fullmatch(other.name) and other != folder:
                shutil.rmtree(other, ignore_errors=True)
    return folder if os.access(folder, os.W_OK) else None


def cache_folder() -> Path:
    """Return the folder for what is computed once per machine, such as compiled code."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(named)
    beside = PACKAGE / "__pycache__"
    if os.access(beside if beside.exists() else PACKAGE, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barograph"

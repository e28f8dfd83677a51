"""Decorators that compile numeric kernels with Numba and keep their Python signature."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core.caching import FunctionCache

P = ParamSpec("P")
R = TypeVar("R")

# Long sums may be reordered and use fused multiply-add. Full fast-math is never used, because it
# gives up the meaning of NaN and infinity.
FUSED = frozenset({"reassoc", "contract", "nsz"})


class KernelCache(FunctionCache):
    """Numba's cache on disk, which survives an upgrade of the package in place.

    Numba unpickles an index before it compares it with the source file. The index of a former
    version may name a class, such as a NamedTuple among the arguments, that no longer exists.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, None if it has to be compiled."""
        cache: Any = super()
        try:
            return cache.load_overload(sig, target_context)
        except (AttributeError, ImportError):
            cache.flush()
            return None


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with strict IEEE semantics: sums from left to right, no fused multiply-add."""
    return _compiled(function)


def fused_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with reordered and fused sums, several times faster on long reductions."""
    return _compiled(function, fastmath=set(FUSED))


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    compiled: Callable[P, R] = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT returns the function itself
        make_cache: Callable[..., KernelCache] = KernelCache
        vars(compiled)["_cache"] = make_cache(function)
    return compiled

"""Kernels compiled by Numba, with a cache on disk; `compiled` imports it where they are needed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache

P = ParamSpec("P")
R = TypeVar("R")


def number_functions() -> None:
    """Let Numba number functions from a random number on.

    Numba names compiled code by the function, the types of its arguments, and a number that counts
    from 1 in each process. Sorting values and sorting indices by values have the same names and
    types inside Numba. If two processes compile one each under the same number, a third that loads
    both from disk runs one of them for both, silently.
    """
    identity: Any = FunctionIdentity
    identity._unique_ids = count(secrets.randbits(48))  # noqa: SLF001 - there is no public way


number_functions()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=number_functions)  # each child compiles on its own


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

    def is_filled(self) -> bool:
        """Whether code of the present source file is on disk, for whatever arguments."""
        cache: Any = self
        try:
            return bool(cache._cache_file._load_index())  # noqa: SLF001 - Numba has no public way
        except (AttributeError, ImportError, OSError):
            return False


def compile_kernel(function: Callable[P, R], options: Mapping[str, Any]) -> Callable[P, R]:
    """Return a function that Numba compiles when it is called, and keeps on disk.

    Args:
        function: The function.
        options: Further options of `numba.njit`.
    """
    compiled: Callable[P, R] = numba.njit(nogil=True, error_model="numpy", **options)(function)
    make_cache: Callable[..., KernelCache] = KernelCache
    vars(compiled)["_cache"] = make_cache(function)
    return compiled


def has_cache(compiled: Callable[..., Any]) -> bool:
    """Whether compiled code of a function of `compile_kernel` is on disk."""
    cache: KernelCache = vars(compiled)["_cache"]
    return cache.is_filled()

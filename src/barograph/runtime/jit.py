"""Kernels compiled by Numba, with a cache on disk; `compiled` imports it where they are needed."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event
from numba.extending import typeof_impl

P = ParamSpec("P")
R = TypeVar("R")

_config: Any = numba.config
_lock = RLock()


class _Report(event.Listener):
    """Reports on stderr when the process first compiles a kernel, unless it is a worker."""

    is_due = multiprocessing.parent_process() is None

    def on_start(self, event: Any) -> None:
        """Report if a kernel is compiled."""
        module = event.data["dispatcher"].py_func.__module__
        if self.is_due and module.startswith("barograph."):
            self.is_due = False
            sys.stderr.write("compiling numeric code, once for this installation...\n")
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        """Report nothing."""


_register: Callable[..., None] = event.register
_register("numba:compile", _Report())


@cache
def let_kernels_call(kind: type[Any]) -> None:
    """Let compiled functions call objects of a class, whose `compiled()` is what they call."""

    @typeof_impl.register(kind)
    def _type_of(kernel: Any, _context: object) -> numba.types.Type:
        return numba.types.Dispatcher(kernel.compiled())


def compile_function(
    function: Callable[P, R], options: Mapping[str, Any], folder: Path | None
) -> Callable[P, R]:
    """Return a function that Numba compiles when it is called.

    Args:
        function: The function.
        options: Further options of `numba.njit`.
        folder: Where compiled code is kept; None keeps it in this process only.
    """
    with _lock:
        former = _config.CACHE_DIR
        _config.CACHE_DIR = str(folder or "")
        try:
            compiled: Callable[P, R] = numba.njit(
                nogil=True, error_model="numpy", cache=folder is not None, **options
            )(function)
        finally:
            _config.CACHE_DIR = former
    return compiled

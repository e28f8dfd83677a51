"""Kernels compiled by Numba, with a cache on disk; `compiled` imports it where they are needed."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from barograph.parallel import PATIENCE

P = ParamSpec("P")
R = TypeVar("R")


class NotCompiled(BaseException):
    """A kernel is not compiled, and this thread must not compile it."""


class _Thread(threading.local):
    """What a thread may do."""

    may_compile = True


_thread = _Thread()


@contextmanager
def compiling_refused() -> Iterator[None]:
    """Raise `NotCompiled` where this thread would compile a kernel."""
    _thread.may_compile = False
    try:
        yield
    finally:
        _thread.may_compile = True


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
    And it compares with the file of the function alone, although the code of the kernels that it
    calls, in whichever files, is part of what was compiled.

    Args:
        function: The function.
        reports: Whether to report on stderr, once per process, that compiling takes long.

    Attributes:
        has_compiled: Whether the process has begun to compile a kernel.
    """

    has_compiled = False
    _began: float | None = None  # when the process compiled its first function
    _is_reported = False

    def __init__(self, function: Callable[..., Any], *, reports: bool) -> None:
        base: Any = super()
        base.__init__(function)
        self._function, self._is_stamped, self._reports = function, False, reports

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, None if it has to be compiled."""
        self._stamp()
        base: Any = super()
        try:
            loaded = base.load_overload(sig, target_context)
        except (AttributeError, ImportError):
            base.flush()
            loaded = None
        if loaded is None:
            if not _thread.may_compile:
                raise NotCompiled
            KernelCache.has_compiled = True
            if self._reports:
                self._report_compiling()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled function for a signature."""
        self._stamp()
        base: Any = super()
        base.save_overload(sig, data)

    @classmethod
    def _report_compiling(cls) -> None:
        """Report that functions are compiled, if the first of them began two seconds ago."""
        now = time.monotonic()
        cls._began = cls._began or now
        if not cls._is_reported and now - cls._began >= PATIENCE:
            cls._is_reported = True
            sys.stderr.write("compiling numeric code, once for all later commands\n")
            sys.stderr.flush()

    def _stamp(self) -> None:
        """Let the index be valid for all source files; not before they are all imported."""
        if not self._is_stamped:
            self._is_stamped = True
            this: Any = self
            this._cache_file._source_stamp = source_stamp(self._function)  # noqa: SLF001


def source_stamp(function: Callable[..., Any]) -> str:
    """Return a hash of the files and numbers that a kernel may use, directly or not."""
    waiting, hashes = [function.__globals__], dict[str, str]()
    while waiting:
        names = waiting.pop()
        if names["__name__"] in hashes:
            continue
        # A number may have been imported from a module without kernels.
        numbers = sorted((k, repr(v)) for k, v in names.items() if type(v) in (bool, int, float))
        hashes[names["__name__"]] = f"{_hash_of(names.get('__file__'))}{numbers}"
        for value in names.values():
            if isinstance(value, Dispatcher):
                waiting.append(value.py_func.__globals__)
            elif isinstance(value, ModuleType) and _is_ours(value):
                waiting.append(vars(value))
    return hashlib.sha256("".join(sorted(hashes.values())).encode()).hexdigest()


def _is_ours(module: ModuleType) -> bool:
    """Return whether a module, which is no package, belongs to Barograph."""
    return module.__name__.startswith(f"{__package__}.") and not hasattr(module, "__path__")


@cache
def _hash_of(file: str | None) -> str:
    try:
        return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()
    except OSError:  # typed in by hand, or part of an archive: its path has to do
        return str(file)


def compile_kernel(
    function: Callable[P, R], options: Mapping[str, Any], *, reports: bool
) -> Callable[P, R]:
    """Return a function that Numba compiles when it is called, and keeps on disk if it can.

    Args:
        function: The function.
        options: Further options of `numba.njit`.
        reports: Whether to report on stderr that compiling takes long.
    """
    compiled: Callable[P, R] = numba.njit(nogil=True, error_model="numpy", **options)(function)
    make_cache: Callable[..., KernelCache] = KernelCache
    with suppress(RuntimeError):  # no folder is writable: each process compiles for itself
        vars(compiled)["_cache"] = make_cache(function, reports=reports)
    return compiled

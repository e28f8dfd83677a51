"""Run calls in parallel: processes of this machine, the workers of a Dask scheduler, or threads.

Calls are pure, and results come back in the order of the calls, so neither the number of workers
nor the death of one changes a result.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from barograph.runtime.errors import BarographError, ConfigError, SourceError
from barograph.runtime.extras import needed

T = TypeVar("T")
U = TypeVar("U")
VARIABLE = "BAROGRAPH_WORKERS"
SCHEDULER = "BAROGRAPH_SCHEDULER"
CONNECT = 15  # seconds to reach a scheduler
ARRIVE = 300  # seconds until a scheduler must have its first worker
PATIENCE = 2.0  # seconds of work without a report
BLINK = 0.1  # seconds between two reports on a terminal
LINES = 10  # of a report that is not on a terminal
_THREAD = threading.local()


def usable_cores() -> int:
    """Return the number of CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count() -> int:
    """Return the number of worker processes: `BAROGRAPH_WORKERS`, or the usable cores.

    Raises:
        ConfigError: The variable is set, but not to a positive integer.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return usable_cores()
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{VARIABLE} is {text!r}; expected an integer of at least 1")
    return int(text)


def map_parallel(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], label: str = ""
) -> Iterator[T]:
    """Yield the result of every call, in order.

    Calls run in `worker_count()` processes of this machine, or on the workers of the Dask scheduler
    whose address `BAROGRAPH_SCHEDULER` has; these must see the same files. Every call should use
    one core and draw random numbers from its own seed; calls within it run one after the other.

    Args:
        function: A function at the top level of a module that the workers can import.
        calls: The arguments of each call.
        label: Label of a progress bar on stderr; without a label there is none.

    Raises:
        ConfigError: A scheduler is named, but Dask is not installed.
        SourceError: The scheduler cannot be reached, or its workers fail.
    """
    scheduler = os.environ.get(SCHEDULER) if not hasattr(_THREAD, "is_worker") else None
    results = _on_dask(function, calls, scheduler) if scheduler else _on_processes(function, calls)
    progress = Progress(label, len(calls))
    for number, result in enumerate(results, start=1):
        if label:
            progress.update(number)
        yield result


class Progress:
    """Report on stderr how far a task has come, once it has taken two seconds.

    On a terminal it is one moving line, elsewhere about ten lines.

    Args:
        label: What is being done.
        total: Number of steps.

    Example:
        >>> from barograph.runtime.parallel import Progress
        >>> progress = Progress("detecting", 2)
        >>> progress.update(1)  # prints nothing: it has not taken two seconds
    """

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._began = self._shown_at = time.monotonic()
        self._shown = 0

    def update(self, done: int) -> None:
        """Note that `done` steps are done, and report it if it is time."""
        now = time.monotonic()
        if now - self._began < PATIENCE or done == self._shown:
            return
        if not sys.stderr.isatty():
            if done == self._total or (done - self._shown) * LINES >= self._total:
                self._shown = done
                sys.stderr.write(f"{self._label}: {done:,} of {self._total:,}\n")
        elif done == self._total or now - self._shown_at >= BLINK:
            self._shown, self._shown_at = done, now
            end = "\n" if done == self._total else ""
            sys.stderr.write(f"\r{self._label}: {done:,} of {self._total:,}{end}")
            sys.stderr.flush()


def map_threads(
    function: Callable[[U], T], parts: Iterable[U], *, threads: int | None = None
) -> list[T]:
    """Return the result of `function` for every part, computed by threads where that helps.

    Threads run at the same time only while compiled code has released the interpreter lock.

    Args:
        function: A function whose result does not depend on the other parts.
        parts: What to call it with, for instance the slices of `row_ranges`.
        threads: Number of threads. Defaults to `usable_cores()`; with 1 no thread is started.
    """
    parts = list(parts)
    threads = min(usable_cores() if threads is None else threads, len(parts))
    if threads <= 1:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, parts))


def row_ranges(
    count: int, threads: int | None, *, smallest: int, largest: int | None = None, parts: int = 4
) -> list[slice]:
    """Cut `count` rows into slices for `map_threads`.

    There are more slices than threads, so that a thread with cheap rows takes over from a thread
    with expensive rows.

    Args:
        count: Number of rows.
        threads: Number of threads, or None for `usable_cores()`.
        smallest: Number of rows below which another thread costs more than it saves.
        largest: Maximum number of rows of a slice, for a bound on memory.
        parts: Slices per thread.
    """
    threads = threads or usable_cores()
    largest = largest or max(count, 1)
    if count < 2 * smallest or (threads == 1 and count <= largest):
        return [slice(0, count)] if count else []
    size = min(largest, max(smallest, -(-count // (threads * parts))))
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


def _on_processes(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    workers = 1 if hasattr(_THREAD, "is_worker") else worker_count()
    if workers == 1:
        for call in calls:
            yield function(*call)
        return
    from joblib import Parallel, delayed

    folder = Path.cwd()
    tasks = (delayed(_in_folder)(folder, function, *call) for call in calls)
    with _without_interrupts():  # Ctrl-C is for this process, which ends its workers
        results = Parallel(n_jobs=workers, return_as="generator")(tasks)
    yield from results


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C for a moment; processes that start meanwhile ignore it for ever."""
    if threading.current_thread() is not threading.main_thread():  # only that one gets it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_folder(folder: Path, function: Callable[..., T], *call: Any) -> T:
    """Call a function on a worker, in a folder: the worker may have started in another one."""
    os.chdir(folder)
    _THREAD.is_worker = True  # it must not wait for another worker, as none may be free
    return function(*call)


def _on_dask(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], scheduler: str
) -> Iterator[T]:
    name = f"{SCHEDULER} {scheduler}"
    with needed(SCHEDULER):
        from distributed import Client, KilledWorker
        from distributed.client import FutureCancelledError
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            scheduler, timeout=CONNECT, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise SourceError(f"{name}: cannot be reached: {error}") from error
    with client:
        # Not pure: equal calls of an earlier run must not share their results with these.
        work = partial(client.submit, _in_folder, Path.cwd(), function, pure=False)
        futures = [work(*call) for call in calls]
        try:
            client.wait_for_workers(1, timeout=ARRIVE)  # adaptive clusters start them on demand
            while futures:  # a worker keeps a result for as long as there is a future of it
                yield futures.pop(0).result()
        except BarographError:
            raise
        except (KilledWorker, OSError, ImportError, FutureCancelledError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise SourceError(f"{name}: the work failed: {reason}") from error
        finally:
            client.cancel(futures)

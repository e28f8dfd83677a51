"""Spread calls over workers: processes of this machine, or those of a Dask scheduler.

The calls are pure and their answers come back in order, so that neither the number of workers nor
the death of one shows in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from barograph.errors import BarographError, ConfigError, SourceError

T = TypeVar("T")
CONNECT = 15  # seconds
WORKERS = 300  # seconds until there must be one
DEATHS = 5  # workers that may die over one call before it is thought to be the killer


def spread(
    function: Callable[..., T],
    calls: Sequence[tuple[Any, ...]],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> Iterator[T]:
    """Yield the answer of every call, in order.

    Args:
        function: at the top of a module that the workers have, too.
        calls: its arguments.
        workers: processes of this machine.
        scheduler: address of a Dask scheduler whose workers see the same files.
    """
    if scheduler is not None:
        yield from _on_dask(function, calls, scheduler)
    elif workers == 1:
        for call in calls:
            yield function(*call)
    else:
        from joblib import Parallel, delayed

        yield from Parallel(n_jobs=workers, return_as="generator")(
            delayed(function)(*call) for call in calls
        )


def _on_dask(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], scheduler: str
) -> Iterator[T]:
    try:
        from dask import config
        from distributed import Client, KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.addressing import resolve_address
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--scheduler needs {error.name}: pip install 'barograph[scale]'"
        ) from None
    try:
        with config.set({"distributed.scheduler.allowed-failures": DEATHS}):
            # First, for a client that was given no address never ends, or starts a cluster.
            client: Any = Client(  # type: ignore[no-untyped-call]
                resolve_address(scheduler), timeout=CONNECT, set_as_default=False
            )
    except (OSError, ValueError) as error:
        raise SourceError(f"--scheduler {scheduler}: cannot be reached: {error}") from error
    with client:
        # Keys of their own: equal calls of an earlier run are not taken for these.
        futures = [client.submit(function, *call, pure=False) for call in calls]
        try:
            client.wait_for_workers(1, timeout=WORKERS)  # some come once there is work
            for future in futures:
                yield future.result()
        except BarographError:
            raise
        except KilledWorker as error:
            raise SourceError(f"--scheduler {scheduler}: workers died: {error}") from error
        except (OSError, ImportError, FutureCancelledError) as error:
            told = f"{type(error).__name__}: {error}"
            raise SourceError(f"--scheduler {scheduler}: the work failed: {told}") from error
        finally:
            client.cancel(futures)

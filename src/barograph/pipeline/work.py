"""How stages spread work: the same results whatever the number of workers."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from barograph.cores import usable_cores
from barograph.errors import ConfigError

T = TypeVar("T")
VARIABLE = "BAROGRAPH_WORKERS"


def workers() -> int:
    """Return how many processes to use: the environment's word, or one for each core."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return usable_cores()
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{VARIABLE} is {text!r}; expected a whole number of at least 1")
    return int(text)


def each(function: Callable[..., T], calls: Sequence[tuple[Any, ...]], label: str) -> Iterator[T]:
    """Yield the result of every call, in order, computed by several processes.

    Each call must do its own work on one core and draw from its own seed, so that neither the
    number of processes nor their speed shows in the result.
    """
    from joblib import Parallel, delayed

    folder = Path.cwd()
    tasks = (delayed(_there)(folder, function, *call) for call in calls)
    done = Parallel(n_jobs=workers(), return_as="generator")(tasks)
    for number, result in enumerate(done, start=1):
        progress(label, number, len(calls))
        yield result


def _there(folder: Path, function: Callable[..., T], *call: Any) -> T:
    """Call it in a folder: a worker may be left from a time when the caller stood elsewhere."""
    os.chdir(folder)
    return function(*call)


def progress(label: str, done: int, total: int) -> None:
    """Say on stderr how far a long task has come; a terminal sees one moving line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{label}: {done}/{total}" + ("\n" if done == total else ""))
    elif done == total or done % max(1, total // 10) == 0:
        sys.stderr.write(f"{label}: {done}/{total}\n")

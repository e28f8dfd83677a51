"""What every benchmark shares: timing, the machine's description, one way to print."""

import argparse
import json
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with the one option that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--format", dest="output", choices=["text", "json"], default="text")
    return parser


def machine() -> dict[str, str]:
    """Describe what the figures were measured on."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def seconds(
    function: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Time one call."""
    start = clock()
    function()
    return clock() - start


def pace() -> float:
    """Return million additions a second of the interpreter: the share of a core there is now."""
    count = 3_000_000

    def add() -> None:
        total = 0
        for number in range(count):
            total += number

    return count / 1e6 / seconds(add)


def fsync(folder: Path, runs: int = 50) -> float:
    """Return the median seconds of one fsync: no acknowledged point can be faster."""
    with (folder / "fsync").open("wb", buffering=0) as file:

        def once() -> None:
            file.write(b"x" * 4096)
            os.fsync(file.fileno())

        return statistics.median(seconds(once) for _ in range(runs))


def at_once(client: Callable[[int], object], clients: int) -> None:
    """Run several clients side by side, each with its number, and wait for all of them."""
    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """Return the median of the pairwise ratios of two paired lists of times."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


def is_missing(path: Path, title: str, output: str) -> bool:
    """Return whether the data of a benchmark is missing; then print a line that says so."""
    if path.exists():
        return False
    reason = f"{path} does not exist; BAROGRAPH_SHARED names the folder of the shared data"
    if output == "json":
        print(json.dumps({"title": title, "rows": [], "skipped": reason}))
    else:
        print(f"skipped: {title}: {reason}")
    return True


def show(title: str, rows: Sequence[Row], output: str, **extra: object) -> None:
    """Print the rows as a table for people, or all of it as one JSON object."""
    if output == "json":
        print(json.dumps({"title": title, "machine": machine(), "rows": list(rows), **extra}))
        return
    print(title)
    print("  ".join(f"{name} {value}" for name, value in machine().items()))
    print()
    print(table(rows))
    for name, value in extra.items():
        print(f"{name}: {value}")


def table(rows: Sequence[Row]) -> str:
    """Align the rows under their column names."""
    if not rows:
        return "(no rows)"
    names = list(rows[0])
    cells = [names] + [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    lines = ["  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True)) for line in cells]
    return "\n".join(lines)


def shares(values: Iterable[float]) -> str:
    """Render shares as percentages."""
    return "/".join(f"{100 * value:.0f}" for value in values)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

"""Time the reading of each history format, and of `barograph gate` on it.

Every format gets the same series. Each row is a process of its own, so that its peak memory can be
measured. Starting Python and importing modules is part of the seconds of `gate`, not of those of
reading: each process reads a small file of the format first.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from side_by_side import arguments, seconds, show

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from barograph.results.series import Floats  # noqa: E402
from barograph.sources.formats.read import read_files  # noqa: E402
from tests.sources.formats.generators import (  # noqa: E402
    HISTORIES,
    RUNS,
    Generator,
    commit_of,
    iso_of,
    values_with_step,
)

SERIES, POINTS = 1000, 200


def table(folder: Path, values: Floats) -> Path:
    """Write a long CSV of seven columns."""
    path = folder / "results.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("project,test,order,commit,time,value,unit\n")
        for s, row in enumerate(values.tolist()):
            for i, value in enumerate(row):
                file.write(f"p,bench_{s},{i},{commit_of(i)},{iso_of(i)},{value},ms\n")
    return path


def distinct_times(folder: Path, values: Floats) -> Path:
    """Write a long CSV in which no time occurs twice."""
    path = folder / "times.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("test,time,value\n")
        for number, value in enumerate(values.ravel().tolist()):
            file.write(f"bench_{number % len(values)},{iso_of(number)},{value}\n")
    return path


def wide(folder: Path, values: Floats) -> Path:
    """Write a CSV with a column for each series."""
    path = folder / "wide.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(["commit", "time", *(f"m_{s}" for s in range(len(values)))]) + "\n")
        for i, column in enumerate(values.T.tolist()):
            file.write(",".join([commit_of(i), iso_of(i), *map(str, column)]) + "\n")
    return path


TABLES: dict[str, Generator] = {"tables": table, "distinct times": distinct_times, "wide": wide}
GENERATORS: dict[str, Generator] = {**TABLES, **HISTORIES, **RUNS}


def child(path: Path, small: Path) -> None:
    """Read a file in this process after a small one, and print what it took."""
    read_files([small])
    wall, cpu = time.perf_counter(), time.process_time()
    points = read_files([path]).history.values.size
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"points": points, "wall": wall, "cpu": cpu, "peak": peak}))


def measured(name: str, folder: Path, values: Floats) -> dict[str, Any]:
    """Return the row of a format."""
    (folder / "large").mkdir()
    (folder / "small").mkdir()
    path = GENERATORS[name](folder / "large", values)
    small = GENERATORS[name](folder / "small", values[:2])
    files = (file for file in (folder / "large").rglob("*") if file.is_file())
    size = sum(file.stat().st_size for file in files) / 1e6
    command = [sys.executable, __file__, "--child", str(path), str(small)]
    measured = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    gate = [sys.executable, "-m", "barograph", "gate", str(path)]
    before = _cpu_of_children()
    wall = seconds(lambda: subprocess.run(gate, check=False, capture_output=True))
    return {
        "format": name,
        "points": measured["points"],
        "MB": size,
        "seconds": measured["wall"],
        "CPU seconds": measured["cpu"],
        "MB/s of CPU time": size / measured["cpu"],
        "peak MiB": measured["peak"],
        "gate, seconds": wall,
        "gate, CPU seconds": _cpu_of_children() - before,
    }


def _cpu_of_children() -> float:
    """Return the processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--series", type=int, default=SERIES)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument(
        "--child", nargs=2, type=Path, help="read the first file after the second, print the time"
    )
    parser.add_argument("names", nargs="*", help="formats; all by default")
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    values = values_with_step(options.series, options.points, options.points - 10)
    rows = []
    for name in options.names or GENERATORS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measured(name, Path(folder), values))
    title = f"Reading {options.series:,} series of {options.points} results in each format"
    show(title, rows, options.output)


if __name__ == "__main__":
    main()

"""A large mongodump: how long it takes to load, and the most memory that takes.

    python benchmarks/dump.py [POINTS]

Writes a synthetic dump of two million points, or of POINTS, into a temporary folder. Decodes its
BSON alone, then runs the stage `load` in a process of its own.
"""

from __future__ import annotations

import datetime as dt
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import bson
import numpy as np
from side_by_side import machine

POINTS, LENGTH = 2_000_000, 500  # in all, and of a series
EVERY = 100  # points; one of them is a change point
START = dt.datetime(2022, 1, 1, tzinfo=dt.UTC)
MIB = 1 << 20
PARAMS = "profile: one\none: {}\nload: {kind: mongodump, location: dump, max_skipped_share: 0.0}\n"


def identity(number: int) -> dict[str, Any]:
    """Return the labels of a series."""
    labels = {
        "project": "sys-perf",
        "variant": f"linux-{number % 20}",
        "task": f"task{number % 50}",
    }
    return labels | {"test": f"test{number}", "measurement": "ops_per_sec", "args": {"threads": 8}}


def point(number: int, order: int, value: float) -> dict[str, Any]:
    """Return a point with the fields of MongoDB's own data."""
    commit, moment = f"{order:040x}", START + dt.timedelta(hours=order)
    return {
        "order": order,
        "value": value,
        "commit": commit,
        "commit_date": moment,
        "evg_create_date": moment + dt.timedelta(minutes=7),
        "version": f"sys_perf_{commit}",
        "cedar_perf_result_id": f"{number * LENGTH + order:040x}",
    }


def documents(points: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each series, and its change points."""
    rng = np.random.default_rng(1)
    for number in range(points // LENGTH):
        info, values = identity(number), rng.normal(1000.0, 10.0, LENGTH).tolist()
        data = [point(number, order, value) for order, value in enumerate(values)]
        changes = [
            {
                "time_series_info": info,
                "order": order,
                "calculated_on": START + dt.timedelta(hours=order + 5),
                "triage": {"triage_status": "true_positive"},
            }
            for order in range(EVERY, LENGTH, EVERY)
        ]
        yield info | {"data": data}, changes


def write_dump(folder: Path, points: int) -> int:
    """Write a dump; return its size in bytes."""
    folder.mkdir()
    series, changes = (folder / f"{name}.bson" for name in ("time_series", "change_points"))
    with series.open("wb") as one, changes.open("wb") as other:
        for document, found in documents(points):
            one.write(bson.encode(document))
            other.writelines(map(bson.encode, found))
    return series.stat().st_size + changes.stat().st_size


def decode(folder: Path) -> float:
    """Return the CPU time in which pymongo decodes all documents, one at a time."""
    began = time.process_time()
    for path in folder.glob("*.bson"):
        with path.open("rb") as file:
            for _ in bson.decode_file_iter(file):
                pass
    return time.process_time() - began


def load(folder: Path) -> tuple[float, int]:
    """Run the stage in a process of its own; return its CPU time, and its peak memory in bytes."""
    (folder / "params.yaml").write_text(PARAMS)
    with chdir(folder):
        subprocess.run([sys.executable, "-m", "barograph.pipeline.load"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    """Measure, and print what was measured."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_dump(folder / "dump", points)
        decoding = decode(folder / "dump")
        loading, peak = load(folder)
    print(f"machine: {machine()}")
    print(f"dump: {points:,} points, {size / MIB:.0f} MiB")
    print(f"decode alone: {decoding:.1f} s of CPU time, {size / MIB / decoding:.0f} MiB/s")
    print(f"load: {loading:.1f} s of CPU time, {loading / decoding:.1f} times as long")
    print(f"peak memory: {peak / MIB:.0f} MiB, {peak / size:.2f} times the dump")


if __name__ == "__main__":
    main()

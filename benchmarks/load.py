"""Measure the speed and the memory of `load` on one core.

Each measurement is a separate process on one core: BSON decoding alone by pymongo, the whole load,
and the load of a dump of a quarter of the size, which shows how memory grows.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bson
from side_by_side import arguments, show

from barograph.simulator.documents import dump_writer
from barograph.sources import load
from barograph.sources.mongodump import MongoDump

LENGTH = 28  # points a series, the mean of the MongoDB data set
COMMITS = 5000
STATUSES = ("true_positive", "false_positive", "not_triaged", "under_investigation")


def generate(folder: Path, count: int) -> None:
    """Write a dump of `count` series with every field, and a change point for each."""
    draw = random.Random(1)  # noqa: S311
    start = datetime(2020, 1, 1, tzinfo=UTC)
    commits = [f"{draw.getrandbits(160):040x}" for _ in range(COMMITS)]
    with dump_writer(folder) as dump:
        for number in range(count):
            info = {
                "project": "sys-perf",
                "variant": f"linux-{number % 7}-node",
                "task": f"task_{number % 97}",
                "test": f"test_{number}",
                "measurement": "ops_per_sec",
                "args": {"thread_level": 2 ** (number % 8)},
            }
            first = draw.randrange(COMMITS - LENGTH)
            data = []
            for order in range(first, first + LENGTH):
                date = start + timedelta(hours=order)
                data.append(
                    {
                        "order": order,
                        "value": draw.lognormvariate(5, 0.1),
                        "commit": commits[order],
                        "commit_date": date,
                        "evg_create_date": date + timedelta(minutes=30),
                        "version": f"sys_perf_{commits[order]}",
                        "cedar_perf_result_id": f"{draw.getrandbits(160):040x}",
                    }
                )
            dump.add_series({**info, "updateFailures": 0, "data": data})
            dump.add_change_point(_change_point(info, data[1 + number % (LENGTH - 1)], number))


def _change_point(info: dict[str, Any], point: dict[str, Any], number: int) -> dict[str, Any]:
    date = point["commit_date"]
    return {
        "time_series_info": info,
        **{name: point[name] for name in ("order", "commit", "commit_date", "version")},
        "evg_create_date": point["evg_create_date"],
        "cedar_perf_result_id": point["cedar_perf_result_id"],
        "calculated_on": date + timedelta(days=1),
        "branch": "master",
        "repo_full_name": "mongodb/mongo",
        "author": "A. Person",
        "author_email": "a.person@example.org",
        "message": "SERVER-1 Make it faster",
        "build_failures": [],
        "percent_change": 1.5,
        "z_score_change": 3.0,
        "triage": {
            "triage_status": STATUSES[number % len(STATUSES)],
            "triaged_on": date + timedelta(days=2),
        },
        "algorithm": {"name": "e_divisive_means", "version": 2},
    }


def decode_file_iter(folder: Path) -> None:
    """Decode both files and keep nothing."""
    for name in ("time_series", "change_points"):
        with (folder / f"{name}.bson").open("rb") as file:
            for _ in bson.decode_file_iter(file):
                pass


def load_dump(folder: Path) -> None:
    """Load a dump into a temporary folder."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        load(MongoDump(str(folder)), out)


METHODS = {
    "bson.decode_file_iter, decoding only": decode_file_iter,
    "load": load_dump,
}


def child(method: str, warm: Path, folder: Path) -> None:
    """Measure one method in this process on one core; compile first with a small dump."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    METHODS[method](warm)
    before, start = time.process_time(), time.perf_counter()
    METHODS[method](folder)
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak}))


def measured(method: str, warm: Path, folder: Path) -> dict[str, float]:
    """Run one method in a separate process."""
    command = [sys.executable, __file__, "--child", method, str(warm), str(folder)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(process.stdout)
    return result


def main() -> None:
    """Generate dumps, measure the methods alternately, and print the medians."""
    parser = arguments(str(__doc__).splitlines()[0])
    parser.add_argument("--points", type=int, default=2_100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", nargs=3, metavar=("METHOD", "WARM", "DUMP"))
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]), Path(options.child[2]))
        return
    with tempfile.TemporaryDirectory() as root:
        warm, quarter, whole = (Path(root) / name for name in ("warm", "quarter", "whole"))
        series = options.points // LENGTH
        for folder, count in ((warm, 10), (quarter, series // 4), (whole, series)):
            generate(folder, count)
        cases = {name: (name, whole, series) for name in METHODS}
        cases["load, a quarter of the dump"] = ("load", quarter, series // 4)
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in cases}
        for _ in range(options.runs):
            for name, (method, folder, _count) in cases.items():
                runs[name].append(measured(method, warm, folder))
        size = sum(path.stat().st_size for path in whole.iterdir())
    rows = [
        {
            "what": name,
            "series": count,
            "points": count * LENGTH,
            "points/s of wall time": count * LENGTH / _median(runs[name], "wall"),
            "points/s of CPU time": count * LENGTH / _median(runs[name], "cpu"),
            "peak MiB": _median(runs[name], "peak"),
        }
        for name, (_method, _folder, count) in cases.items()
    ]
    title = "Load a mongodump directory on one core: medians"
    show(title, rows, options.output, runs=options.runs, dump_mib=round(size / 2**20))


def _median(runs: list[dict[str, float]], name: str) -> float:
    return statistics.median(run[name] for run in runs)


if __name__ == "__main__":
    main()

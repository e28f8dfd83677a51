"""Write a history of given values in each format.

Every generator gets a folder and a matrix of values, one row a series and one column a commit,
and returns the path to read. Lower values are better.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from barograph.results.series import Floats

START = 1_699_999_200  # seconds, a full hour
STEP = 3_600  # from one commit to the next
Generator = Callable[[Path, Floats], Path]


def values_with_step(series: int, points: int, index: int, factor: float = 1.5) -> Floats:
    """Return quiet series of a level of 100, the first of which changes at a commit.

    Args:
        series: The number of series.
        points: The number of points of each.
        index: The index of the change in the first series.
        factor: The new level over the old one.
    """
    values = np.random.default_rng(1).normal(100.0, 1.0, (series, points)).round(4)
    values[0, index:] *= factor
    return values


def commit_of(index: int) -> str:
    """Return the hash of a commit."""
    return f"{index + 1:08x}".ljust(40, "c")


def time_of(index: int) -> int:
    """Return the time of a commit in seconds."""
    return START + STEP * index


def iso_of(index: int) -> str:
    """Return the time of a commit as ISO 8601."""
    return datetime.fromtimestamp(time_of(index), UTC).isoformat()


def _written(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def github_action(folder: Path, values: Floats) -> Path:
    """Write data.js."""
    entries = [
        {
            "commit": {"id": commit_of(i), "message": "Change", "timestamp": iso_of(i)},
            "date": time_of(i) * 1000,
            "tool": "cargo",
            "benches": [
                {"name": f"bench_{s}", "value": value, "range": "± 3", "unit": "ns/iter"}
                for s, value in enumerate(column)
            ],
        }
        for i, column in enumerate(values.T.tolist())
    ]
    data = {"lastUpdate": 1, "repoUrl": "https://github.com/a/b", "entries": {"Suite": entries}}
    return _written(folder / "data.js", f"window.BENCHMARK_DATA = {json.dumps(data, indent=2)}")


def asv(folder: Path, values: Floats) -> Path:
    """Write a results folder, where each series is a value of a parameter."""
    names = [str(s) for s in range(len(values))]
    about = {"param_names": ["n"], "params": [names], "type": "time", "unit": "seconds"}
    _written(folder / "benchmarks.json", {"b.time_it": about | {"version": "1"}, "version": 2})
    machine = folder / "bench1"
    machine.mkdir()
    _written(machine / "machine.json", {"machine": "bench1", "version": 1})
    for i, column in enumerate(values.T.tolist()):
        run = {
            "commit_hash": commit_of(i),
            "env_name": "py",
            "date": time_of(i) * 1000,
            "params": {"machine": "bench1"},
            "requirements": {},
            "result_columns": ["result", "params", "version"],
            "results": {"b.time_it": [column, [names], "1"]},
            "version": 2,
        }
        _written(machine / f"{commit_of(i)[:8]}-py.json", run)
    return folder


def codespeed(folder: Path, values: Floats) -> Path:
    """Write posted results."""
    results = [
        {
            "commitid": commit_of(i),
            "project": "p",
            "branch": "default",
            "executable": "e",
            "benchmark": f"bench_{s}",
            "environment": "bench1",
            "result_value": value,
            "revision_date": iso_of(i),
            "lessisbetter": True,
        }
        for i, column in enumerate(values.T.tolist())
        for s, value in enumerate(column)
    ]
    return _written(folder / "results.json", results)


def graphite(folder: Path, values: Floats) -> Path:
    """Write an answer of the render API."""
    targets = [
        {
            "target": f"perf.bench_{s}",
            "datapoints": [[value, time_of(i)] for i, value in enumerate(row)],
        }
        for s, row in enumerate(values.tolist())
    ]
    return _written(folder / "render.json", targets)


def metric_records(folder: Path, values: Floats) -> Path:
    """Write JSON lines with a map of metrics."""
    lines = [
        json.dumps(
            {
                "commit": commit_of(i),
                "timestamp": time_of(i),
                "metrics": {
                    f"bench_{s}": {"value": value, "unit": "ms"} for s, value in enumerate(column)
                },
            }
        )
        for i, column in enumerate(values.T.tolist())
    ]
    return _written(folder / "history.ndjson", "\n".join(lines))


def nyrkio(folder: Path, values: Floats) -> Path:
    """Write runs with a list of metrics."""
    runs = [
        {
            "timestamp": time_of(i),
            "metrics": [
                {"name": f"m_{s}", "unit": "ms", "value": value, "direction": "lower_is_better"}
                for s, value in enumerate(column)
            ],
            "attributes": {"git_commit": commit_of(i), "branch": "main", "test_name": "t"},
        }
        for i, column in enumerate(values.T.tolist())
    ]
    return _written(folder / "results.json", runs)


def otava(folder: Path, values: Floats) -> Path:
    """Write a wide CSV with its otava.yaml."""
    names = [f"m_{s}" for s in range(len(values))]
    rows = [",".join(["time", "commit", *names])]
    for i, column in enumerate(values.T.tolist()):
        rows.append(",".join([iso_of(i), commit_of(i), *map(str, column)]))
    _written(folder / "data.csv", "\n".join(rows) + "\n")
    metrics = "".join(f"      {name}: {{direction: -1}}\n" for name in names)
    test = f"type: csv\n    file: data.csv\n    attributes: [commit]\n    metrics:\n{metrics}"
    return _written(folder / "otava.yaml", f"tests:\n  local:\n    {test}")


def perfherder(folder: Path, values: Floats) -> Path:
    """Write an answer of performance/summary."""
    series = [
        {
            "signature_id": s,
            "signature_hash": f"{s:040x}",
            "suite": "suite",
            "test": f"bench_{s}",
            "platform": "linux64",
            "lower_is_better": True,
            "repository_name": "autoland",
            "data": [
                {"value": value, "push_timestamp": iso_of(i), "revision": commit_of(i)}
                for i, value in enumerate(row)
            ],
        }
        for s, row in enumerate(values.tolist())
    ]
    return _written(folder / "summary.json", series)


def skia(folder: Path, values: Floats) -> Path:
    """Write a file a commit, in folders of hours."""
    for i, column in enumerate(values.T.tolist()):
        hour = datetime.fromtimestamp(time_of(i), UTC).strftime("%Y/%m/%d/%H")
        (folder / hour).mkdir(parents=True)
        results = [
            {"key": {"test": f"bench_{s}", "units": "ms"}, "measurement": value}
            for s, value in enumerate(column)
        ]
        run = {"version": 1, "git_hash": commit_of(i), "key": {"arch": "x86"}, "results": results}
        _written(folder / hour / "run.json", run)
    return folder


def tcpd(folder: Path, values: Floats) -> Path:
    """Write a data set a series; TCPD has neither commits nor directions."""
    count = values.shape[1]
    for s, row in enumerate(values.tolist()):
        time = {"format": "%Y-%m-%dT%H:%M:%S%z", "raw": [iso_of(i) for i in range(count)]}
        data = {"name": f"set_{s}", "n_obs": count, "n_dim": 1, "time": time}
        _written(folder / f"set_{s}.json", data | {"series": [{"label": "V1", "raw": row}]})
    return folder


def bencher(folder: Path, values: Floats) -> Path:
    """Write the newest commit as a run: the format has no history."""
    measures = {
        f"bench_{s}": {"latency": {"value": value}}
        for s, value in enumerate(values[:, -1].tolist())
    }
    return _written(folder / "run.json", measures)


def perfherder_log(folder: Path, values: Floats) -> Path:
    """Write the newest commit as the log of a run."""
    subtests = [
        {"name": f"bench_{s}", "value": value, "unit": "ms", "lowerIsBetter": True}
        for s, value in enumerate(values[:, -1].tolist())
    ]
    data = {"framework": {"name": "talos"}, "suites": [{"name": "suite", "subtests": subtests}]}
    return _written(folder / "run.log", f"INFO - PERFHERDER_DATA: {json.dumps(data)}\n")


HISTORIES: dict[str, Generator] = {
    "asv": asv,
    "codespeed": codespeed,
    "github-action-benchmark": github_action,
    "graphite": graphite,
    "metric-records": metric_records,
    "nyrkio": nyrkio,
    "otava": otava,
    "perfherder": perfherder,
    "skia": skia,
    "tcpd": tcpd,
}
RUNS: dict[str, Generator] = {"bencher": bencher, "perfherder-log": perfherder_log}

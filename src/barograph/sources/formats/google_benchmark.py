"""Google Benchmark: the JSON of `--benchmark_format=json` and `--benchmark_out`.

Repetitions are runs of one commit. Aggregates are read only where the file holds no repetitions
(`--benchmark_report_aggregates_only`): the median, else the mean. The commit is the one that
`--benchmark_context=commit=...` states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from barograph.results.fields import FieldError
from barograph.results.series import Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.nodes import Node, each, has_places

TIMES = ("real_time", "cpu_time")
COMMITS = ("commit", "git_commit", "git_sha", "git_hash", "commit_hash", "revision")
HASH = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)  # builds without git state "unknown"
# Numbers of an entry that are not counters of the user.
FIELDS = {
    *("iterations", "repetitions", "repetition_index", "threads", "family_index"),
    *("per_family_instance_index", "real_coefficient", "cpu_coefficient", "rms"),
}
MEMORY = {"allocs_per_iter": "", "max_bytes_used": "B", "total_allocated_bytes": "B"}
# Parts of a name that say how long to measure, which is no property of the benchmark.
EFFORT = {"repeats", "iterations", "min_time", "min_warmup_time"}
NAMED = re.compile(r"([A-Za-z_]\w*):(?!:)(.+)", re.DOTALL)  # "threads:8", and named arguments
AGGREGATE = re.compile(r".*_(mean|median|stddev|cv|BigO|RMS)", re.DOTALL)
# Names that hosted runners, containers, pods and cloud instances get: another one for each run.
GENERATED = re.compile(
    r"[0-9a-f]{12,64}|fv-az.*|runner.*|gha.*|.*\bip-\d+-\d+-\d+-\d+.*|.*\d{6,}.*"
    r"|.*-[0-9a-f]{7,10}-[a-z0-9]{5}|localhost|buildkitsandbox",
    re.IGNORECASE | re.DOTALL,
)

matches = has_places({"/context/num_cpus"}, {"/context", "/benchmarks/*/time_unit"})


def read(file: InputFile) -> Items:
    """Yield the real and CPU time of each benchmark, and its counters."""
    document = Node(file.json())
    context = document.get("context", {})
    machine = stable_machine(context.get("host_name", "").text())
    time, commit = context["date"].time(), context.first(COMMITS).optional_text()
    commit = commit if HASH.fullmatch(commit) else ""
    entries = list(document["benchmarks"].entries())
    kinds: dict[str, set[str]] = {}  # of the entries of each benchmark
    for entry in entries:
        if isinstance(entry.value, dict):
            kinds.setdefault(_run_name(entry.value), set()).add(_kind(entry.value))
    chosen = (entry for entry in entries if _is_chosen(entry.value, kinds))
    yield from each(file, chosen, partial(_results, machine, time, commit))


def stable_machine(name: str) -> str:
    """Return the name of a machine, empty if the name looks generated for a single run.

    A hosted runner or a container has another name in each run. A series must not change its
    identity with it, or it would never have a history.

    Example:
        >>> stable_machine("perf-box-3"), stable_machine("fv-az1210-717")
        ('perf-box-3', '')
    """
    stripped = name.strip()
    return "" if len(stripped) > 200 or GENERATED.fullmatch(stripped) else stripped


def _is_chosen(entry: Any, kinds: dict[str, set[str]]) -> bool:
    """Whether an entry is to be read: a repetition, else the median, else the mean."""
    if not isinstance(entry, dict):
        return True  # it is reported as skipped
    known = kinds[_run_name(entry)]
    best = next((kind for kind in ("iteration", "median", "mean") if kind in known), "")
    return _kind(entry) == best


def _run_name(entry: dict[str, Any]) -> str:
    return str(entry.get("run_name") or entry.get("name"))


def _kind(entry: dict[str, Any]) -> str:
    """Return "iteration", or the name of the aggregate, which old versions put into the name."""
    if entry.get("run_type") == "aggregate" or "aggregate_name" in entry:
        return str(entry.get("aggregate_name"))
    aggregate = AGGREGATE.fullmatch(str(entry.get("name"))) if "run_type" not in entry else None
    return aggregate[1] if aggregate else "iteration"


def _results(machine: str, time: int, commit: str, benchmark: Node) -> Iterator[Result]:
    entry = benchmark.mapping()
    if entry.get("error_occurred") or entry.get("skipped"):
        message = entry.get("error_message") or entry.get("skip_message")
        raise FieldError(benchmark.where, message, "the benchmark failed")
    test, args = _identity(benchmark["run_name" if entry.get("run_name") else "name"].text())
    repeated = _kind(entry) == "iteration" and entry.get("repetitions") not in (None, 1)
    run = str(entry.get("repetition_index", "")) if repeated else ""
    time_unit = benchmark.get("time_unit", "ns").text()
    for measurement, value in benchmark.items():
        if measurement in TIMES:
            unit, direction = time_unit, LOWER
        elif measurement in FIELDS or type(value.value) not in (int, float):
            continue
        elif measurement.endswith("_per_second"):
            unit, direction = f"{measurement[:-11]}/s", HIGHER
        else:
            unit = MEMORY.get(measurement, "")
            direction = LOWER if measurement in MEMORY else Direction.UNKNOWN
        series = SeriesId("", machine, "", test, measurement, args)
        yield Result(series, value.number(), unit, direction, None, commit, time, run)


def _identity(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split "BM_sort/size:8/512/threads:2" into the test and its arguments."""
    first, *parts = name.split("/")
    labels, args, count = [first], {}, 0
    for part in parts:
        named = NAMED.fullmatch(part)
        if named:
            args[named[1]] = named[2]
        elif part.removeprefix("-").isdecimal():
            args[f"arg{count}"] = part
            count += 1
        else:
            labels.append(part)
    return "/".join(labels), tuple(pair for pair in args.items() if pair[0] not in EFFORT)


TITLE = "Google Benchmark: --benchmark_out=FILE --benchmark_out_format=json"
FORMAT = Format("google-benchmark", TITLE, "run", matches, read)

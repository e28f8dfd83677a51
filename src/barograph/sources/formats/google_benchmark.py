"""Google Benchmark: the JSON of `--benchmark_format=json` and `--benchmark_out`.

Repetitions are runs of one commit. Aggregates are read only where the file holds no repetitions
(`--benchmark_report_aggregates_only`): the median, else the mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import array, at, mapping, number, text, time_ms
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed, stable_machine
from barograph.sources.formats.outline import outline

TIMES = ("real_time", "cpu_time")
# Numbers of an entry that are not counters of the user.
FIELDS = {
    *("iterations", "repetitions", "repetition_index", "threads", "family_index"),
    *("per_family_instance_index", "real_coefficient", "cpu_coefficient", "rms"),
}
# Parts of a name that say how long to measure, which is no property of the benchmark.
EFFORT = {"repeats", "iterations", "min_time", "min_warmup_time"}
NAMED = re.compile(r"([A-Za-z_]\w*):(?!:)(.+)", re.DOTALL)  # "threads:8", and named arguments
MEMORY = {"allocs_per_iter": "", "max_bytes_used": "B", "total_allocated_bytes": "B"}


def matches(sample: Sample) -> bool:
    """Whether the head has the context and the entries of the library."""
    keys = outline(sample)
    return "/context/num_cpus" in keys or {"/context", "/benchmarks/*/time_unit"} <= keys


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the real and CPU time of each benchmark, and its counters."""
    document = mapping(file.json(), "")
    context = mapping(document.get("context") or {}, "context")
    entries = array(document.get("benchmarks"), "benchmarks")
    machine = stable_machine(text(context.get("host_name") or "", "context.host_name"))
    time = time_ms(context.get("date"), "context.date")
    chosen = _chosen(entries)

    def results(entry: Any, where: str) -> Iterator[Result]:
        if chosen(entry):
            yield from _results(mapping(entry, where), where, machine, time)

    yield from each(file, indexed(entries, "benchmarks"), results)


def _chosen(entries: list[Any]) -> Callable[[Any], bool]:
    """Return which entries are read: repetitions, else the median, else the mean."""
    kinds: dict[str, set[str]] = {}
    for entry in entries:
        if isinstance(entry, dict):
            kinds.setdefault(_run_name(entry), set()).add(_kind(entry))

    def chosen(entry: Any) -> bool:
        if not isinstance(entry, dict):
            return True  # reported as skipped
        found = kinds[_run_name(entry)]
        best = next((kind for kind in ("iteration", "median", "mean") if kind in found), "")
        return _kind(entry) == best

    return chosen


def _run_name(entry: dict[str, Any]) -> str:
    return str(entry.get("run_name") or entry.get("name"))


def _kind(entry: dict[str, Any]) -> str:
    """Return "iteration", or the name of the aggregate, which old versions put into the name."""
    if entry.get("run_type") == "aggregate" or "aggregate_name" in entry:
        return str(entry.get("aggregate_name"))
    if "run_type" not in entry:
        suffix = str(entry.get("name")).rpartition("_")[2]
        if suffix in ("mean", "median", "stddev", "cv", "BigO", "RMS"):
            return suffix
    return "iteration"


def _results(entry: dict[str, Any], where: str, machine: str, time: int) -> Iterator[Result]:
    if entry.get("error_occurred") or entry.get("skipped"):
        message = entry.get("error_message") or entry.get("skip_message")
        raise FieldError(where, message, "the benchmark failed")
    name = text(entry.get("run_name") or entry.get("name"), at(where, "name"))
    test, args = _identity(name)
    repeated = _kind(entry) == "iteration" and entry.get("repetitions") not in (None, 1)
    run = str(entry.get("repetition_index", "")) if repeated else ""
    unit = text(entry.get("time_unit") or "ns", at(where, "time_unit"))
    for measurement, value in entry.items():
        if measurement in TIMES:
            kind, direction = unit, Direction.LOWER_IS_BETTER
        elif measurement in FIELDS or type(value) not in (int, float):
            continue
        elif measurement.endswith("_per_second"):
            kind, direction = f"{measurement[:-11]}/s", Direction.HIGHER_IS_BETTER
        else:
            known = measurement in MEMORY
            kind = MEMORY.get(measurement, "")
            direction = Direction.LOWER_IS_BETTER if known else Direction.UNKNOWN
        place = at(where, measurement)
        series = SeriesId("", machine, "", test, text(measurement, place), args)
        yield Result(series, number(value, place), place, kind, direction, time=time, run=run)


def _identity(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split "BM_sort/size:8/512/threads:2" into the test and its arguments."""
    first, *parts = name.split("/")
    labels, args, count = [first], {}, 0
    for part in parts:
        named = NAMED.fullmatch(part)
        if named and named[1] in EFFORT:
            continue
        if named:
            args[named[1]] = named[2]
        elif part.removeprefix("-").isdecimal():
            args[f"arg{count}"] = part
            count += 1
        else:
            labels.append(part)
    return "/".join(labels), tuple(args.items())


TITLE = "Google Benchmark: --benchmark_out=FILE --benchmark_out_format=json"
FORMAT = Format("google-benchmark", TITLE, "run", matches, read)

"""Rust: criterion.rs, and the text that `cargo bench` prints with the built-in harness.

Of criterion are read its folder `target/criterion` and the messages of cargo-criterion, which give
the median, and its text, which gives the estimate in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from barograph.results.series import SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.nodes import Node, each, lines_of, records

ESTIMATES = "new/estimates.json"
# "sort/8    time:   [2.5094 ms 2.5306 ms 2.5553 ms]"; a long name has a line of its own.
TIME = re.compile(r" +\[[\d.]+ [^\s%\]]+ ([\d.]+) ([^\s%\]]+) [\d.]+ [^\s%\]]+\]\s*")
HEAD = re.compile(r"time:" + TIME.pattern)
PROGRESS = ("Benchmarking ", "Found ", "Warning", "Gnuplot", "WARNING", "Compiling", "running ")


def matches(file: InputFile) -> bool:
    """Whether a folder holds estimates, or the head messages or lines of criterion."""
    if file.folder:
        return next(_estimates(file.folder), None) is not None
    return {"/reason", "/id"} <= file.places or bool(HEAD.search(file.head))


def read(file: InputFile) -> Items:
    """Yield the median of each benchmark; the estimate of its time where there is only text."""
    if file.folder:
        paths = sorted(_estimates(file.folder))
        names = (path.parent.parent.relative_to(file.folder).as_posix() for path in paths)
        yield from each(file, map(Node, paths, names), partial(_of_folder, file))
    elif file.text().lstrip().startswith("{"):
        yield from each(file, records(file), _message)
    else:
        yield from each(file, _times(file), _result)


def _estimates(folder: Path) -> Iterator[Path]:
    """Yield the files with estimates: group/function/value/new/estimates.json."""
    for depth in range(4):
        yield from folder.glob("*/" * depth + ESTIMATES)


def _of_folder(folder: InputFile, path: Node) -> Iterator[Result]:
    """Read the estimates of one benchmark: group, function and value are its identity."""
    about_path = path.value.with_name("benchmark.json")
    estimates = inner_file(folder, path.value, str(path.value)).json()
    about = Node(inner_file(folder, about_path, str(about_path)).json(), path.where)
    median = Node(estimates, f"{path.where}/{ESTIMATES}: ")["median"]["point_estimate"].number()
    keys = ("group_id", "function_id", "value_str")
    group, function, value = (about.get(key, "").text() for key in keys)
    task, test = (group, function) if function else ("", group or path.where)
    args = (("value", value),) if value else ()
    yield Result(SeriesId("", "", task, test, "median", args), median, "ns", LOWER)


def _message(message: Node) -> Iterator[Result]:
    """Read a message of cargo-criterion; other messages are passed over."""
    if not isinstance(message.value, dict) or message["reason"].value != "benchmark-complete":
        return
    series = SeriesId("", "", "", message["id"].text(), "median")
    median = message["median"]
    unit = (median if median["unit"].value else message).get("unit", "ns").text()
    yield Result(series, median["estimate"].number(), unit, LOWER)


def _times(file: InputFile) -> Iterator[Node]:
    """Yield the task, the name, the time and the unit of each benchmark that criterion prints."""
    before = ""
    for line in lines_of(file):
        name, colon, rest = line.value.partition(" time:")
        time = TIME.fullmatch(rest) if colon else None
        if time:
            yield Node(("", name.strip() or before or None, *time.groups(), None), line.where)
        before = "" if line.value.startswith((" ", *PROGRESS)) else line.value.strip()


def _result(entry: Node) -> Iterator[Result]:
    """Read the time of a line of text, and its throughput if there is one."""
    task, name, time, unit, throughput = entry.value
    test = Node(name, entry.where).text()
    yield Result(SeriesId("", "", task, test, "time"), numeric(time, entry.where), unit, LOWER)
    if throughput:
        series = SeriesId("", "", task, test, "throughput")
        yield Result(series, numeric(throughput, entry.where), "MB/s", HIGHER)


TITLE = "criterion.rs: the folder target/criterion, or cargo criterion --message-format json"
FORMAT = Format("criterion", TITLE, "run", matches, read)


BEFORE, BETWEEN = "test ", " ... bench: "
BENCH = re.compile(r" *([\d,.]+) (\S+)/iter \(\+/- [\d,.]+\)(?: = ([\d,.]+) MB/s)?\s*")
BENCH_HEAD = re.compile(r"^test .{1,500} \.\.\. bench: +[\d,.]+ \S+/iter", re.MULTILINE)
# Printed on stderr: "Running benches/sort.rs (target/release/deps/sort-0f3b2c1d)".
TARGET = re.compile(r"\s*Running (?:unittests |benches/)?(\S+?)(?:\.rs)? \(.*\)\s*")


def matches_cargo(file: InputFile) -> bool:
    """Whether the head holds a line with a result of the built-in harness."""
    return BETWEEN in file.head and bool(BENCH_HEAD.search(file.head))


def read_cargo(file: InputFile) -> Items:
    """Yield the time and the throughput of each benchmark."""
    yield from each(file, _benchmarks(file), _result)


def _benchmarks(file: InputFile) -> Iterator[Node]:
    """Yield the target, the name and the numbers of each line with a result."""
    task = ""
    for entry in lines_of(file):
        target = TARGET.fullmatch(entry.value) if "Running " in entry.value else None
        name, between, rest = entry.value.partition(BETWEEN)
        numbers = BENCH.fullmatch(rest) if between and name.startswith(BEFORE) else None
        if target:
            task = target[1]
        elif numbers:
            yield Node((task, name[len(BEFORE) :].strip(), *numbers.groups()), entry.where)


CARGO_TITLE = "Rust's built-in harness: cargo bench > FILE"
CARGO = Format("cargo-bench", CARGO_TITLE, "run", matches_cargo, read_cargo)

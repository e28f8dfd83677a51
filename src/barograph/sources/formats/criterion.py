"""criterion.rs: its folder `target/criterion`, the messages of cargo-criterion, and its text.

The folder and the messages give the median; the text gives the estimate in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from barograph.results.series import SeriesId
from barograph.results.units import LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.nodes import Node, each, lines_of, records
from barograph.sources.report import Skip

ESTIMATES = "new/estimates.json"
# "sort/8    time:   [2.5094 ms 2.5306 ms 2.5553 ms]"; a long name has a line of its own.
TIME = re.compile(r" +\[[\d.]+ [^\s%\]]+ ([\d.]+) ([^\s%\]]+) [\d.]+ [^\s%\]]+\]\s*")
HEAD = re.compile(r"time:" + TIME.pattern)
PROGRESS = ("Benchmarking ", "Found ", "Warning", "Gnuplot", "WARNING", "Compiling", "running ")


def matches(file: InputFile) -> bool:
    """Whether a folder holds estimates, or the head messages or lines of criterion."""
    if file.folder:
        return next(_estimates(file.folder), None) is not None
    keys = file.places
    return {"/reason", "/id"} <= keys or bool(HEAD.search(file.head))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark; the estimate of its time where there is only text."""
    if file.content is None and file.path is not None:
        paths = sorted(_estimates(file.path))
        names = (path.parent.parent.relative_to(file.path).as_posix() for path in paths)
        yield from each(file, map(Node, paths, names), partial(_of_folder, file))
    elif file.text().lstrip().startswith("{"):
        yield from each(file, records(file), _message)
    else:
        yield from each(file, _lines(file), _of_text)


def _estimates(folder: Path) -> Iterator[Path]:
    """Yield the files with estimates: group/function/value/new/estimates.json."""
    for depth in range(4):
        yield from folder.glob("*/" * depth + ESTIMATES)


def _of_folder(folder: InputFile, path: Node) -> Iterator[Result]:
    estimates = Node(_decoded(folder, path.value), f"{path.where}/{ESTIMATES}: ")
    benchmark = Node(_decoded(folder, path.value.with_name("benchmark.json")), path.where)
    median = estimates["median"]["point_estimate"].number()
    yield Result(_identity(benchmark), median, "ns", LOWER)


def _decoded(folder: InputFile, path: Path) -> object:
    """Return the JSON of a file of the folder."""
    return inner_file(folder, path, str(path)).json()


def _identity(benchmark: Node) -> SeriesId:
    """Return group, function and value as task, test and argument."""
    group, function, value = (
        benchmark.get(key, "").text() for key in ("group_id", "function_id", "value_str")
    )
    args = (("value", value),) if value else ()
    task, test = (group, function) if function else ("", group or benchmark.where)
    return SeriesId("", "", task, test, "median", args)


def _message(message: Node) -> Iterator[Result]:
    """Read a message of cargo-criterion; other messages are passed over."""
    if not isinstance(message.value, dict) or message["reason"].value != "benchmark-complete":
        return
    series = SeriesId("", "", "", message["id"].text(), "median")
    median = message["median"]
    unit = (median if median["unit"].value else message).get("unit", "ns").text()
    yield Result(series, median["estimate"].number(), unit, LOWER)


def _lines(file: InputFile) -> Iterator[Node]:
    """Yield the name, the time and the unit of each benchmark that `cargo bench` prints."""
    before = ""
    for line in lines_of(file):
        name, colon, rest = line.value.partition(" time:")
        time = TIME.fullmatch(rest) if colon else None
        if time:
            yield Node((name.strip() or before or None, *time.groups()), line.where)
        before = "" if line.value.startswith((" ", *PROGRESS)) else line.value.strip()


def _of_text(entry: Node) -> Iterator[Result]:
    name, time, unit = entry.value
    series = SeriesId("", "", "", Node(name, entry.where).text(), "time")
    yield Result(series, numeric(time, entry.where), unit, LOWER)


TITLE = "criterion.rs: the folder target/criterion, or cargo criterion --message-format json"
FORMAT = Format("criterion", TITLE, "run", matches, read)

"""Rust: the text that `cargo bench` prints with the built-in harness, or criterion in its form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from barograph.results.series import SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.nodes import Node, each, lines_of
from barograph.sources.report import Skip

BEFORE, BETWEEN = "test ", " ... bench: "
RESULT = re.compile(r" *([\d,.]+) (\S+)/iter \(\+/- [\d,.]+\)(?: = ([\d,.]+) MB/s)?\s*")
HEAD = re.compile(r"^test .{1,500} \.\.\. bench: +[\d,.]+ \S+/iter", re.MULTILINE)
# Printed on stderr: "Running benches/sort.rs (target/release/deps/sort-0f3b2c1d)".
TARGET = re.compile(r"\s*Running (?:unittests |benches/)?(\S+?)(?:\.rs)? \(.*\)\s*")


def matches(file: InputFile) -> bool:
    """Whether the head holds a line with a result."""
    head = file.head
    return BETWEEN in head and bool(HEAD.search(head))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the time and the throughput of each benchmark."""
    yield from each(file, _benchmarks(file), _results)


def _benchmarks(file: InputFile) -> Iterator[Node]:
    """Yield the target, the name and the numbers of each line with a result."""
    task = ""
    for entry in lines_of(file):
        line = entry.value
        target = TARGET.fullmatch(line) if "Running " in line else None
        name, between, rest = line.partition(BETWEEN)
        numbers = RESULT.fullmatch(rest) if between and name.startswith(BEFORE) else None
        if target:
            task = target[1]
        elif numbers:
            yield Node((task, name[len(BEFORE) :].strip(), *numbers.groups()), entry.where)


def _results(entry: Node) -> Iterator[Result]:
    task, name, time, unit, throughput = entry.value
    series = SeriesId("", "", task, name, "time")
    yield Result(series, numeric(time, entry.where), unit, LOWER)
    if throughput:
        series = SeriesId("", "", task, name, "throughput")
        yield Result(series, numeric(throughput, entry.where), "MB/s", HIGHER)


FORMAT = Format("cargo-bench", "Rust's built-in harness: cargo bench > FILE", "run", matches, read)

"""Rust: the text that `cargo bench` prints with the built-in harness, or criterion in its form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import skipped, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import head_text, lines_of, number_in

BEFORE, BETWEEN = "test ", " ... bench: "
RESULT = re.compile(r" *([\d,.]+) (\S+)/iter \(\+/- [\d,.]+\)(?: = ([\d,.]+) MB/s)?\s*")
HEAD = re.compile(r"^test .{1,500} \.\.\. bench: +[\d,.]+ \S+/iter", re.MULTILINE)
# Printed on stderr: "Running benches/sort.rs (target/release/deps/sort-0f3b2c1d)".
TARGET = re.compile(r"\s*Running (?:unittests |benches/)?(\S+?)(?:\.rs)? \(.*\)\s*")


def matches(sample: Sample) -> bool:
    """Whether the head holds a line with a result."""
    head = head_text(sample)
    return BETWEEN in head and bool(HEAD.search(head))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the time and the throughput of each benchmark."""
    task = ""
    for where, line in lines_of(file):
        target = TARGET.fullmatch(line) if "Running " in line else None
        name, between, rest = line.partition(BETWEEN)
        found = RESULT.fullmatch(rest) if between and name.startswith(BEFORE) else None
        if target:
            task = target[1]
        elif found:
            try:
                yield from _results(name[len(BEFORE) :].strip(), found, where, task)
            except FieldError as error:
                yield skipped(file, error.field, error.value, error.reason)


def _results(name: str, found: re.Match[str], where: str, task: str) -> Iterator[Result]:
    series = SeriesId("", "", task, text(name, where), "time")
    better = Direction.LOWER_IS_BETTER
    yield Result(series, number_in(found[1], where), where, found[2], better)
    if found[3]:
        series = SeriesId("", "", task, name, "throughput")
        better = Direction.HIGHER_IS_BETTER
        yield Result(series, number_in(found[3], where), where, "MB/s", better)


FORMAT = Format("cargo-bench", "Rust's built-in harness: cargo bench > FILE", "run", matches, read)

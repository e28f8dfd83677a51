"""criterion.rs: its folder `target/criterion`, the messages of cargo-criterion, and its text.

The folder and the messages give the median; the text gives the estimate in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barograph.errors import DataError
from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import at, mapping, number, skipped, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample, decode_json
from barograph.sources.formats.entries import each, head_text, lines_of, number_in
from barograph.sources.formats.outline import outline

ESTIMATES = "new/estimates.json"
BIGGEST = 1 << 20  # bytes of one file of the folder
# "sort/8    time:   [2.5094 ms 2.5306 ms 2.5553 ms]"; a long name has a line of its own.
TIME = re.compile(r" +\[[\d.]+ [^\s%\]]+ ([\d.]+) ([^\s%\]]+) [\d.]+ [^\s%\]]+\]\s*")
HEAD = re.compile(r"time:" + TIME.pattern)
PROGRESS = ("Benchmarking ", "Found ", "Warning", "Gnuplot", "WARNING", "Compiling", "running ")


def matches(sample: Sample) -> bool:
    """Whether a folder holds estimates, or the head messages or lines of criterion."""
    if sample.is_folder and sample.path is not None:
        return next(_estimates(sample.path), None) is not None
    keys = outline(sample)
    return {"/reason", "/id"} <= keys or bool(HEAD.search(head_text(sample)))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark; the estimate of its time where there is only text."""
    if file.content is None and file.path is not None:
        found = ((path.parent.parent.relative_to(file.path).as_posix(), path)
                 for path in sorted(_estimates(file.path)))  # fmt: skip
        yield from each(file, found, _of_folder)
    elif file.text().lstrip().startswith("{"):
        yield from each(
            file,
            lines_of(file, file.options.max_bytes),
            lambda line, where: _message(line, where, file.name),
        )
    else:
        yield from _lines(file)


def _estimates(folder: Path) -> Iterator[Path]:
    """Yield the files with estimates: group/function/value/new/estimates.json."""
    for depth in range(4):
        yield from folder.glob("*/" * depth + ESTIMATES)


def _of_folder(path: Path, where: str) -> Iterator[Result]:
    estimates = mapping(_decoded(path), where)
    benchmark = mapping(_decoded(path.with_name("benchmark.json")), where)
    place = f"{where}/{ESTIMATES}: median.point_estimate"
    estimate = mapping(estimates.get("median"), place)
    value = number(estimate.get("point_estimate"), place)
    yield _result(_identity(benchmark, where), "median", value, place, "ns")


def _decoded(path: Path) -> Any:
    """Return the JSON of a file of the folder."""
    try:
        if path.stat().st_size > BIGGEST:
            raise DataError(f"{path}: larger than {BIGGEST:,} bytes")
        return InputFile(str(path), path, path.read_bytes()).json()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def _identity(benchmark: dict[str, Any], where: str) -> SeriesId:
    """Return group, function and value as task, test and argument."""
    group, function, value = (
        text(benchmark.get(key) or "", at(where, key))
        for key in ("group_id", "function_id", "value_str")
    )
    args = (("value", value),) if value else ()
    if not function:
        return SeriesId("", "", "", group or where, "", args)
    return SeriesId("", "", group, function, "", args)


def _message(line: str, where: str, name: str) -> Iterator[Result]:
    """Read a message of cargo-criterion; other messages and blank lines are passed over."""
    message = decode_json(line, f"{name}: {where}") if line.strip() else None
    if not isinstance(message, dict) or message.get("reason") != "benchmark-complete":
        return
    series = SeriesId("", "", "", text(message.get("id"), f"{where}: id"), "")
    place = f"{where}: median"
    estimate = mapping(message.get("median"), place)
    unit = text(estimate.get("unit") or message.get("unit") or "ns", f"{where}: unit")
    yield _result(series, "median", number(estimate.get("estimate"), place), place, unit)


def _result(series: SeriesId, name: str, value: float, where: str, unit: str) -> Result:
    named = SeriesId("", "", series.task, series.test, name, series.args)
    return Result(named, value, where, unit, Direction.LOWER_IS_BETTER)


def _lines(file: InputFile) -> Iterator[Result | Skip]:
    """Read what `cargo bench` prints."""
    before = ""
    for where, line in lines_of(file):
        name, colon, rest = line.partition(" time:")
        found = TIME.fullmatch(rest) if colon else None
        if found:
            name = name.strip() or before
            try:
                series = SeriesId("", "", "", text(name or None, where), "")
                yield _result(series, "time", number_in(found[1], where), where, found[2])
            except FieldError as error:
                yield skipped(file, error.field, error.value, error.reason)
        before = "" if line.startswith((" ", *PROGRESS)) else line.strip()


TITLE = "criterion.rs: the folder target/criterion, or cargo criterion --message-format json"
FORMAT = Format("criterion", TITLE, "run", matches, read)

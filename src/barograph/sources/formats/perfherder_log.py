"""The lines PERFHERDER_DATA of a log, or the JSON of one such line: one run.

PERFHERDER_DATA: {"framework": {"name": "talos"}, "suites": [{"name": "tp5", "value": 210.5,
    "subtests": [{"name": "bbc.co.uk", "value": 190.2, "unit": "ms"}]}]}
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from barograph.errors import DataError
from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.access import array, at, label, mapping, optional_text, skipped, text
from barograph.sources.formats.base import (
    HEAD,
    Format,
    InputFile,
    Judgement,
    Result,
    Sample,
    decode_json,
)
from barograph.sources.formats.numbers import number
from barograph.sources.formats.outline import outline

MARKER = b"PERFHERDER_DATA:"
LINE = re.compile(r"PERFHERDER_DATA:\s*(\{.*\})")
LOGS = (".log", ".txt", ".out", "")  # suffixes of files that are searched as a whole


def matches(sample: Sample) -> bool:
    """Whether a file is a log with such a line, or the JSON of one."""
    if {"/framework/name", "/suites"} <= outline(sample):
        return True
    if MARKER in sample.head:
        return True
    path = sample.path
    if path is None or sample.is_folder or path.suffix not in LOGS or len(sample.head) < HEAD:
        return False
    try:  # the lines are usually at the end of a long log
        with path.open("rb") as log, mmap.mmap(log.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(MARKER) >= 0
    except (OSError, ValueError):
        return False


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the values of all suites and subtests of all lines."""
    content = (file.content or b"").decode("utf-8-sig", "replace")
    has_line = False
    line, start = 1, 0
    for match in LINE.finditer(content):
        line += content.count("\n", start, match.start())
        start, has_line = match.start(), True
        data = decode_json(match[1], f"{file.name} line {line}")
        yield from _artifact(file, data, f"line {line}: ")
    if not has_line:
        if MARKER.decode() in content:
            raise DataError(f"{file.name}: no JSON object after PERFHERDER_DATA:")
        yield from _artifact(file, file.json(), "")


def _artifact(file: InputFile, data: object, prefix: str) -> Iterator[Result | Skip]:
    """Yield the values of one artifact."""
    artifact = mapping(data, f"{prefix}artifact")
    framework = mapping(artifact.get("framework") or {}, f"{prefix}framework")
    name = optional_text(framework.get("name"), f"{prefix}framework.name")
    about = mapping(artifact.get("application") or {}, f"{prefix}application")
    application = optional_text(about.get("name"), f"{prefix}application.name")
    for index, item in enumerate(array(artifact.get("suites"), f"{prefix}suites")):
        where = f"{prefix}suites[{index}]"
        suite = mapping(item, where)
        labels = (name, text(suite.get("name"), f"{where}.name"))
        args = _args(suite, application, where)
        if suite.get("value") is not None:
            yield _result(suite, SeriesId(labels[0], "", labels[1], "", "", args), suite, where)
        for number_of, inner in enumerate(array(suite.get("subtests") or [], f"{where}.subtests")):
            here = f"{where}.subtests[{number_of}]"
            subtest = mapping(inner, here)
            test = text(subtest.get("name"), f"{here}.name")
            if subtest.get("value") is None and not subtest.get("replicates"):
                yield skipped(file, f"{here}.value", None, "value is missing")
                continue
            yield _result(subtest, SeriesId(labels[0], "", labels[1], test, "", args), suite, here)


def _args(suite: Mapping[str, Any], application: str, where: str) -> tuple[tuple[str, str], ...]:
    """Return what distinguishes suites of one name: their options, and the application."""
    place = f"{where}.extraOptions"
    options = [label(word, place) for word in array(suite.get("extraOptions") or [], place)]
    args = [("options", " ".join(options))] if options else []
    return (*args, *([("application", application)] if application else []))


def _result(
    item: Mapping[str, Any], series: SeriesId, suite: Mapping[str, Any], where: str
) -> Result:
    """Return the value of a suite or a subtest; without one, the median of its replicates."""
    value = item.get("value")
    if value is None:
        place = f"{where}.replicates"
        replicates = array(item["replicates"], place)
        value = median(number(each, at(place, i)) for i, each in enumerate(replicates))
    unit = item.get("unit", suite.get("unit"))
    lower = item.get("lowerIsBetter", suite.get("lowerIsBetter", True))  # as the schema says
    direction = Direction.LOWER_IS_BETTER if lower else Direction.HIGHER_IS_BETTER
    return Result(
        series,
        number(value, f"{where}.value"),
        where,
        optional_text(unit, f"{where}.unit"),
        direction,
    )


TITLE = "Perfherder: a log with PERFHERDER_DATA lines, or perfherder-data.json"
FORMAT = Format("perfherder-log", TITLE, "run", matches, read)

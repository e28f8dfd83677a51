"""The lines PERFHERDER_DATA of a log, or the JSON of one such line: one run.

PERFHERDER_DATA: {"framework": {"name": "talos"}, "suites": [{"name": "tp5", "value": 210.5,
    "subtests": [{"name": "bbc.co.uk", "value": 190.2, "unit": "ms"}]}]}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from barograph.results.series import Direction, SeriesId
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node
from barograph.sources.report import Skip

MARKER = b"PERFHERDER_DATA:"
LINE = re.compile(r"PERFHERDER_DATA:\s*(\{.*\})")


def matches(file: InputFile) -> bool:
    """Whether a file is a log with such a line, or the JSON of one."""
    if {"/framework/name", "/suites"} <= file.places:
        return True
    return not file.is_json and MARKER in (file.content or b"")


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the values of all suites and subtests of all lines."""
    content = (file.content or b"").decode("utf-8-sig", "replace")
    has_line = False
    line, start = 1, 0
    for match in LINE.finditer(content):
        line += content.count("\n", start, match.start())
        start, has_line = match.start(), True
        data = decode_json(match[1], f"{file.name} line {line}")
        yield from _artifact(file, Node(data, f"line {line}: "))
    if not has_line:
        if MARKER.decode() in content:
            raise DataError(f"{file.name}: no JSON object after PERFHERDER_DATA:")
        yield from _artifact(file, Node(file.json()))


def _artifact(file: InputFile, artifact: Node) -> Iterator[Result | Skip]:
    """Yield the values of one artifact."""
    framework = artifact.get("framework", {})["name"].optional_text()
    application = artifact.get("application", {})["name"].optional_text()
    for suite in artifact["suites"].entries():
        name, args = suite["name"].text(), _args(suite, application)
        if suite["value"].value is not None:
            yield _result(suite, SeriesId(framework, "", name, "", "", args), suite)
        for subtest in suite.get("subtests", []).entries():
            test = subtest["name"].text()
            if subtest["value"].value is None and not subtest["replicates"].value:
                yield subtest["value"].skip(file, "value is missing")
                continue
            yield _result(subtest, SeriesId(framework, "", name, test, "", args), suite)


def _args(suite: Node, application: str) -> tuple[tuple[str, str], ...]:
    """Return what distinguishes suites of one name: their options, and the application."""
    options = [option.label() for option in suite.get("extraOptions", []).entries()]
    args = [("options", " ".join(options))] if options else []
    return (*args, *([("application", application)] if application else []))


def _result(item: Node, series: SeriesId, suite: Node) -> Result:
    """Return the value of a suite or a subtest; without one, the median of its replicates."""
    value = item["value"]
    if value.value is None:
        value.value = median(each.number() for each in item["replicates"].entries())
    unit = (item if "unit" in item else suite)["unit"].optional_text()
    lower = item.value.get("lowerIsBetter", suite.value.get("lowerIsBetter", True))  # as defined
    direction = Direction.LOWER_IS_BETTER if lower else Direction.HIGHER_IS_BETTER
    return Result(series, value.number(), unit, direction)


TITLE = "Perfherder: a log with PERFHERDER_DATA lines, or perfherder-data.json"
FORMAT = Format("perfherder-log", TITLE, "run", matches, read)

"""github-action-benchmark: `data.js` on its pages branch, and the JSON of custom tools.

In `data.js` each suite has a list of entries, one a commit, and each entry has benchmarks with a
value and a unit. The JSON that it reads as customSmallerIsBetter or customBiggerIsBetter does not
say which of the two it is: the unit gives the direction, or an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node, each
from barograph.sources.formats.urls import project_of_url
from barograph.sources.report import Skip

ASSIGNMENT = re.compile(r"\s*window\.BENCHMARK_DATA\s*=")
# What the action itself compares by, for each value of `tool`.
TOOLS = {
    "cargo": LOWER,
    "go": LOWER,
    "benchmarkjs": HIGHER,
    "benchmarkluau": LOWER,
    "pytest": HIGHER,
    "googlecpp": LOWER,
    "catch2": LOWER,
    "julia": LOWER,
    "jmh": LOWER,
    "benchmarkdotnet": LOWER,
    "customBiggerIsBetter": HIGHER,
    "customSmallerIsBetter": LOWER,
}
REQUIRED = {"/*/name", "/*/unit", "/*/value"}
ALLOWED = REQUIRED | {f"/*/{key}" for key in ("range", "extra", "biggerIsBetter")}
TOP = {"[", "/*"}
RATE = re.compile(r".*/\s*s(ec(onds?)?)?|hz|fps|[otqr]ps|ops|[kmgt]?flops", re.IGNORECASE)


def matches(file: InputFile) -> bool:
    """Whether a file is `data.js`, or the same data as JSON."""
    if ASSIGNMENT.match(file.head):
        return True
    places = file.places
    return "/entries" in places and ("/lastUpdate" in places or "/repoUrl" in places)


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the benchmarks of all entries of all suites."""
    match = ASSIGNMENT.match(file.head)
    source = file.text()[match.end() :].rstrip().removesuffix(";") if match else ""
    data = Node(decode_json(source, file.name) if match else file.json())
    project = project_of_url(data["repoUrl"].optional_text())
    for suite, entries in data["entries"].items():
        for entry in entries.entries():
            yield from _entry(file, entry, project, suite)


def _entry(file: InputFile, entry: Node, project: str, suite: str) -> Iterator[Result | Skip]:
    """Yield the benchmarks of one entry."""
    commit, time = _commit(entry)
    tool = entry["tool"].optional_text()
    for bench in entry["benches"].entries():
        series = SeriesId(project, "", suite, bench["name"].text(), "")
        value = bench["value"]
        if value.value is None:
            yield value.skip(file, "value is missing")
            continue
        unit = bench["unit"].optional_text().partition("\t")[0].strip()  # Go's other metrics follow
        direction = direction_of(tool, unit)
        yield Result(series, value.numeric(), unit, direction, None, commit, time)


def _commit(entry: Node) -> tuple[str, int]:
    """Return the commit of an entry, and its time, else that of the entry."""
    commit = entry.get("commit", {})
    time = commit["timestamp"].time()
    return commit["id"].optional_text(), entry["date"].time() if time == UNKNOWN_TIME else time


@lru_cache(256)  # a file has few units, and many results
def direction_of(tool: str, unit: str) -> Direction:
    """Return which way is better: a rate is better higher, else the tool says it.

    Args:
        tool: The tool that the action was configured with.
        unit: The unit of the benchmark.

    Example:
        >>> direction_of("jmh", "ops/s"), direction_of("jmh", "ns/op")
        (<Direction.HIGHER_IS_BETTER: 1>, <Direction.LOWER_IS_BETTER: -1>)
    """
    if not tool.startswith("custom") and RATE.fullmatch(unit.strip()):
        return HIGHER
    return TOOLS.get(tool, Direction.UNKNOWN)


TITLE = "github-action-benchmark: data.js, which the action keeps on its pages branch"
FORMAT = Format("github-action-benchmark", TITLE, "history", matches, read)


def matches_custom(file: InputFile) -> bool:
    """Whether the entries have a name, a unit and a value, and nothing that a table would have."""
    keys = file.places
    return keys >= REQUIRED and all(key in ALLOWED | TOP or key.count("/") > 2 for key in keys)


def read_custom(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the value of each entry."""
    yield from each(file, Node(file.json()).entries(), _custom_results)


def _custom_results(entry: Node) -> Iterator[Result]:
    series = SeriesId("", "", "", entry["name"].text(), "")
    # Forks of the action read the direction that an entry states.
    directions = {True: HIGHER, False: LOWER}
    bigger = entry["biggerIsBetter"].value
    direction = directions[bigger] if isinstance(bigger, bool) else Direction.UNKNOWN
    yield Result(series, entry["value"].numeric(), entry["unit"].text(), direction)


CUSTOM_TITLE = "github-action-benchmark: an array of name, unit and value (customSmallerIsBetter)"
CUSTOM = Format("github-action-benchmark-custom", CUSTOM_TITLE, "run", matches_custom, read_custom)

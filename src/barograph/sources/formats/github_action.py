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
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.content import project_of_url
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node, each

ASSIGNMENT = re.compile(r"\s*window\.BENCHMARK_DATA\s*=")
LOWER_TOOLS = ("cargo", "go", "benchmarkluau", "googlecpp", "catch2", "julia", "jmh")
# What the action itself compares by, for each value of `tool`.
TOOLS = {
    **dict.fromkeys((*LOWER_TOOLS, "benchmarkdotnet", "customSmallerIsBetter"), LOWER),
    **dict.fromkeys(("benchmarkjs", "pytest", "customBiggerIsBetter"), HIGHER),
}
REQUIRED = {"/*/name", "/*/unit", "/*/value"}
ALLOWED = REQUIRED | {"[", "/*", "/*/range", "/*/extra", "/*/biggerIsBetter"}
RATE = re.compile(r".*/\s*s(ec(onds?)?)?|hz|fps|[otqr]ps|ops|[kmgt]?flops", re.IGNORECASE)
STATED = {True: HIGHER, False: LOWER}


def matches(file: InputFile) -> bool:
    """Whether a file is `data.js`, or the same data as JSON."""
    is_json = "/entries" in file.places and bool(file.places & {"/lastUpdate", "/repoUrl"})
    return is_json or ASSIGNMENT.match(file.head) is not None


def read(file: InputFile) -> Items:
    """Yield the benchmarks of all entries of all suites."""
    match = ASSIGNMENT.match(file.head)
    source = file.text()[match.end() :].rstrip().removesuffix(";") if match else ""
    data = Node(decode_json(source, file.name) if match else file.json())
    project = project_of_url(data["repoUrl"].optional_text())
    for suite, entries in data["entries"].items():
        for entry in entries.entries():
            commit, tool = entry.get("commit", {}), entry["tool"].optional_text()
            time, name = commit["timestamp"].time(), commit["id"].optional_text()
            time = entry["date"].time() if time == UNKNOWN_TIME else time
            for bench in entry["benches"].entries():
                series = SeriesId(project, "", suite, bench["name"].text(), "")
                value = bench["value"]
                if value.value is None:
                    yield value.skip(file, "value is missing")
                    continue
                # Go's other metrics follow the unit.
                unit = bench["unit"].optional_text().partition("\t")[0].strip()
                direction = direction_of(tool, unit)
                yield Result(series, value.numeric(), unit, direction, None, name, time)


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
    others = file.places - ALLOWED
    return file.places >= REQUIRED and all(place.count("/") > 2 for place in others)


def read_custom(file: InputFile) -> Items:
    """Yield the value of each entry."""
    yield from each(file, Node(file.json()).entries(), _custom_results)


def _custom_results(entry: Node) -> Iterator[Result]:
    series = SeriesId("", "", "", entry["name"].text(), "")
    bigger = entry["biggerIsBetter"].value  # which forks of the action read
    direction = STATED[bigger] if isinstance(bigger, bool) else Direction.UNKNOWN
    yield Result(series, entry["value"].numeric(), entry["unit"].text(), direction)


CUSTOM_TITLE = "github-action-benchmark: an array of name, unit and value (customSmallerIsBetter)"
CUSTOM = Format("github-action-benchmark-custom", CUSTOM_TITLE, "run", matches_custom, read_custom)

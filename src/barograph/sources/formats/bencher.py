"""The Bencher Metric Format (BMF): one run, as benchmarks with measures.

{"insert": {"latency": {"value": 88.0, "lower_value": 87.4, "upper_value": 88.9}}}
"""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.series import Direction, SeriesId
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.nodes import Node
from barograph.sources.report import Skip

VALUES = {"value", "lower_value", "upper_value"}
# The measures that Bencher defines, with their units.
MEASURES = {
    "latency": ("ns", Direction.LOWER_IS_BETTER),
    "throughput": ("ops/s", Direction.HIGHER_IS_BETTER),
    "build-time": ("s", Direction.LOWER_IS_BETTER),
    "file-size": ("bytes", Direction.LOWER_IS_BETTER),
    "json-size": ("bytes", Direction.LOWER_IS_BETTER),
    "instructions": ("", Direction.LOWER_IS_BETTER),
    "estimated-cycles": ("", Direction.LOWER_IS_BETTER),
    "total-accesses": ("", Direction.LOWER_IS_BETTER),
    "l1-accesses": ("", Direction.LOWER_IS_BETTER),
    "l2-accesses": ("", Direction.LOWER_IS_BETTER),
    "ram-accesses": ("", Direction.LOWER_IS_BETTER),
}
DEPTH = 3  # of the values: benchmark, measure, value
OTHERS = {"metrics", "records"}  # keys of records with a map of metrics, which have this shape, too


def matches(file: InputFile) -> bool:
    """Whether all places are values of measures of benchmarks."""
    places = file.places
    parts = [place.split("/")[1:] for place in places if len(place) > 1]
    leaves = [part for part in parts if len(part) == DEPTH]
    return (
        "{" in places
        and any(part[2] == "value" for part in leaves)
        and all(part[2] in VALUES for part in leaves)
        and not any(len(part) > DEPTH or "*" in part or part[0] in OTHERS for part in parts)
    )


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the value of every measure."""
    for name, measures in Node(file.json()).items():
        for measure, values in measures.items():
            unit, direction = MEASURES.get(measure, ("", Direction.UNKNOWN))
            value = values["value"]
            if value.value is None:
                yield value.skip(file, "value is missing")
                continue
            series = SeriesId("", "", "", name, measure)
            yield Result(series, value.number(), unit, direction)


FORMAT = Format("bencher", "Bencher Metric Format (BMF): the JSON of one run", "run", matches, read)

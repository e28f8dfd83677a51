"""The Bencher Metric Format (BMF): one run, as benchmarks with measures.

{"insert": {"latency": {"value": 88.0, "lower_value": 87.4, "upper_value": 88.9}}}
"""

from __future__ import annotations

from barograph.results.series import Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.nodes import Node

VALUES = {"value", "lower_value", "upper_value"}
COUNTS = ("instructions", "estimated-cycles", "total-accesses")
CACHES = ("l1-accesses", "l2-accesses", "ram-accesses")
# The measures that Bencher defines, with their units.
MEASURES = {
    "latency": ("ns", LOWER),
    "throughput": ("ops/s", HIGHER),
    "build-time": ("s", LOWER),
    **dict.fromkeys(("file-size", "json-size"), ("bytes", LOWER)),
    **dict.fromkeys((*COUNTS, *CACHES), ("", LOWER)),
}
DEPTH = 3  # of the values: benchmark, measure, value
OTHERS = {"metrics", "records"}  # keys of records with a map of metrics, which have this shape, too


def matches(file: InputFile) -> bool:
    """Whether all places are values of measures of benchmarks."""
    parts = [place.split("/")[1:] for place in file.places if len(place) > 1]
    leaves = {part[2] for part in parts if len(part) == DEPTH}
    return (
        "{" in file.places
        and "value" in leaves <= VALUES
        and not any(len(part) > DEPTH or "*" in part or part[0] in OTHERS for part in parts)
    )


def read(file: InputFile) -> Items:
    """Yield the value of every measure."""
    for name, measures in Node(file.json()).items():
        for measure, values in measures.items():
            unit, direction = MEASURES.get(measure, ("", Direction.UNKNOWN))
            value = values["value"]
            if value.value is None:
                yield value.skip(file, "value is missing")
            else:
                series = SeriesId("", "", "", name, measure)
                yield Result(series, value.number(), unit, direction)


FORMAT = Format("bencher", "Bencher Metric Format (BMF): the JSON of one run", "run", matches, read)

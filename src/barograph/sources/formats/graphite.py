"""The answer of Graphite's render API in JSON: a list of targets with their data points.

    [{"target": "perf.daily.read.p50", "datapoints": [[12.5, 1700000000], [null, 1700000060]]}]

A URL of the API as the location is downloaded first; the query names the targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import array, at, mapping, number, text, time_ms
from barograph.sources.formats.base import Format, InputFile, Judgement, Result, Sample
from barograph.sources.formats.outline import outline

POINT = 2  # numbers of a data point: the value and the time


def matches(sample: Sample) -> bool:
    """Whether a file is an answer of the render API."""
    places = outline(sample)
    return "/*/datapoints/*/*" in places or {"/*/target", "/*/datapoints"} <= places


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the points of all targets; a gap (null) is no result."""
    for index, item in enumerate(array(file.json(), "targets")):
        target = mapping(item, f"[{index}]")
        name = text(target.get("target"), f"[{index}].target")
        yield from points(target, f"[{index}]", SeriesId("", "", "", name, ""))


def points(
    target: Mapping[str, Any],
    where: str,
    series: SeriesId,
    direction: Direction = Direction.UNKNOWN,
    scale: float = 1.0,
) -> Iterator[Result]:
    """Yield the points of one target.

    Args:
        target: The decoded target.
        where: Its place.
        series: The identity.
        direction: Which way is better.
        scale: A factor for the values.
    """
    place = at(where, "datapoints")
    for index, point in enumerate(array(target.get("datapoints"), place)):
        if not isinstance(point, list) or len(point) != POINT:
            raise FieldError(f"{place}[{index}]", point, "is not a value and a time")
        value, moment = point
        if value is None:
            continue
        here = f"{place}[{index}]"
        value, time = number(value, here) * scale, time_ms(moment, here)
        yield Result(series, value, here, "", direction, None, "", time)


FORMAT = Format(
    "graphite",
    "Graphite render API: the URL of a query, or its answer saved with format=json",
    "history",
    matches,
    read,
)

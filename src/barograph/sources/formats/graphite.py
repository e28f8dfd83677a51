"""The answer of Graphite's render API in JSON: a list of targets with their data points.

    [{"target": "perf.daily.read.p50", "datapoints": [[12.5, 1700000000], [null, 1700000060]]}]

A URL of the API as the location is downloaded first; the query names the targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from barograph.series import Direction, Floats, Ints, SeriesId
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import SECONDS, array, at, mapping, number, text, time_ms
from barograph.sources.formats.base import Format, InputFile, ResultBatch, Sample
from barograph.sources.formats.batches import batch_of_series, finite_numbers
from barograph.sources.formats.outline import outline

POINT = 2  # numbers of a data point: the value and the time


def matches(sample: Sample) -> bool:
    """Whether a file is an answer of the render API."""
    places = outline(sample)
    return "/*/datapoints/*/*" in places or {"/*/target", "/*/datapoints"} <= places


def read(file: InputFile) -> Iterator[ResultBatch]:
    """Yield the points of all targets; a gap (null) is no result."""
    count = 0
    for index, item in enumerate(array(file.json(), "targets")):
        target = mapping(item, f"[{index}]")
        name = text(target.get("target"), f"[{index}].target")
        batch = points(target, f"[{index}]", SeriesId("", "", "", name, ""), count)
        count += batch.values.size
        yield batch


def points(
    target: Mapping[str, Any],
    where: str,
    series: SeriesId,
    first_row: int,
    direction: Direction = Direction.UNKNOWN,
    scale: float = 1.0,
) -> ResultBatch:
    """Return the points of one target.

    Args:
        target: The decoded target.
        where: Its place.
        series: The identity.
        first_row: The number of points before these.
        direction: Which way is better.
        scale: A factor for the values.
    """
    place = at(where, "datapoints")
    datapoints = array(target.get("datapoints"), place)
    sound = _sound(datapoints)
    values, times = _checked(datapoints, place) if sound is None else sound
    return batch_of_series(series, values * scale, times, first_row, direction=direction)


def _sound(datapoints: list[Any]) -> tuple[Floats, Ints] | None:
    """Return values and times of points without gaps whose times are Unix seconds."""
    try:
        measured, moments = zip(*datapoints, strict=True)
        if set(map(type, moments)) != {int} or set(map(type, datapoints)) != {list}:
            return None
        seconds = np.array(moments, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):  # not pairs, or no points at all
        return None
    values = finite_numbers(measured)
    if values is None or max(-int(seconds.min()), int(seconds.max())) >= SECONDS:
        return None
    return values, seconds * 1000


def _checked(datapoints: list[Any], place: str) -> tuple[Floats, Ints]:
    """Return values and times of points without the gaps, or name the first invalid point."""
    values, times = [], []
    for index, point in enumerate(datapoints):
        if not isinstance(point, list) or len(point) != POINT:
            raise FieldError(f"{place}[{index}]", point, "is not a value and a time")
        value, moment = point
        if value is not None:
            here = f"{place}[{index}]"
            values.append(number(value, here))
            times.append(time_ms(moment, here))
    return np.array(values, dtype=np.float64), np.array(times, dtype=np.int64)


TITLE = "Graphite render API: the URL of a query, or its answer saved with format=json"
FORMAT = Format("graphite", TITLE, "history", matches, read)

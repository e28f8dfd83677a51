"""The answer of Graphite's render API in JSON: a list of targets with their data points.

    [{"target": "perf.daily.read.p50", "datapoints": [[12.5, 1700000000], [null, 1700000060]]}]

A URL of the API as the location is downloaded first; the query names the targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from barograph.results.series import Direction, Floats, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import Format, InputFile, ResultBatch
from barograph.sources.formats.batches import SIZE, finite_numbers
from barograph.sources.formats.dates import SECONDS
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import has_places

POINT = 2  # numbers of a data point: the value and the time


class Target(NamedTuple):
    """The data points of one target.

    Attributes:
        series: The identity.
        points: The data points.
        direction: Which way is better.
        unit: The unit, if known.
        scale: A factor for the values.
    """

    series: SeriesId
    points: Node
    direction: Direction = Direction.UNKNOWN
    unit: str = ""
    scale: float = 1.0


matches = has_places({"/*/datapoints/*/*"}, {"/*/target", "/*/datapoints"})


def read(file: InputFile) -> Iterator[ResultBatch]:
    """Yield the points of all targets; a gap (null) is no result."""
    return batches(_targets(file))


def _targets(file: InputFile) -> Iterator[Target]:
    for target in Node(file.json_parts()).entries():
        yield Target(SeriesId("", "", "", target["target"].text(), ""), target["datapoints"])


def batches(targets: Iterable[Target]) -> Iterator[ResultBatch]:
    """Yield the points of targets without the gaps, those of many targets at once."""
    waiting: list[Target] = []
    size = row = 0
    for target in targets:
        waiting.append(target)
        size += len(target.points.array())
        if size >= SIZE:
            yield _batch(waiting, row)
            waiting, row, size = [], row + size, 0
    yield _batch(waiting, row)


def _batch(targets: list[Target], first_row: int) -> ResultBatch:
    counts = [len(target.points.array()) for target in targets]
    sound = _sound(list(chain.from_iterable(target.points.array() for target in targets)))
    if sound is None:
        checked = [_checked(target.points) for target in targets]
        counts = [len(values) for values, _ in checked]
        values = np.array([value for values, _ in checked for value in values], dtype=np.float64)
        times = np.array([time for _, times in checked for time in times], dtype=np.int64)
    else:
        values, times = sound
    owners = np.repeat(np.arange(len(targets)), counts)
    return ResultBatch(
        series=[target.series for target in targets],
        directions=[int(target.direction) for target in targets],
        owners=owners,
        values=values * np.array([target.scale for target in targets], dtype=np.float64)[owners],
        times=times,
        units=Texts.from_strings([target.unit for target in targets]).take(owners),
        rows=first_row + np.arange(values.size),
    )


def _sound(points: list[Any]) -> tuple[Floats, Ints] | None:
    """Return values and times of points without gaps whose times are Unix seconds."""
    if set(map(type, points)) != {list} or set(map(len, points)) != {POINT}:
        return None
    flat = list(chain.from_iterable(points))
    measured, moments = flat[::POINT], flat[1::POINT]
    values = finite_numbers(measured)
    if values is None or set(map(type, moments)) != {int}:
        return None
    try:
        seconds = np.array(moments, dtype=np.int64)
    except OverflowError:
        return None
    if max(-int(seconds.min()), int(seconds.max())) >= SECONDS:
        return None
    return values, seconds * 1000


def _checked(points: Node) -> tuple[list[float], list[int]]:
    """Return values and times of points without the gaps, or name the first invalid point."""
    values, times = [], []
    for point in points.entries():
        if not isinstance(point.value, list) or len(point.value) != POINT:
            raise FieldError(point.where, point.value, "is not a value and a time")
        value, moment = point.entries()
        if value.value is not None:
            values.append(value.number())
            times.append(moment.time())
    return values, times


TITLE = "Graphite render API: the URL of a query, or its answer saved with format=json"
FORMAT = Format("graphite", TITLE, "history", matches, read)

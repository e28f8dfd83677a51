"""The answer of Graphite's render API in JSON: a list of targets with their data points.

    [{"target": "perf.daily.read.p50", "datapoints": [[12.5, 1700000000], [null, 1700000060]]}]

A URL of the API as the location is downloaded first; the query names the targets.
"""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.fields import FieldError
from barograph.results.series import SeriesId
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.records import has_places

POINT = 2  # numbers of a data point: the value and the time

matches = has_places({"/*/datapoints/*/*"}, {"/*/target", "/*/datapoints"})


def read(file: InputFile) -> Iterator[Result]:
    """Yield the points of all targets; a gap (null) is no result."""
    for target in Node(file.json()).entries():
        series = SeriesId("", "", "", target["target"].text(), "")
        for value, time in points_of(target):
            yield Result(series, value, time=time)


def points_of(target: Node) -> Iterator[tuple[float, int]]:
    """Yield the value and the time of each data point without the gaps."""
    points = target["datapoints"]
    for index, point in enumerate(points.array()):
        if not isinstance(point, list) or len(point) != POINT:
            where = Node(point, points, index).where
            raise FieldError(where, point, "is not a value and a time")
        if point[0] is not None:
            value, moment = Node(point, points, index).entries()
            yield value.number(), moment.time()


TITLE = "Graphite render API: the URL of a query, or its answer saved with format=json"
FORMAT = Format("graphite", TITLE, "history", matches, read)

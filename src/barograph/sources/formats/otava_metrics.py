"""The metrics of a test of Otava: names, columns or suffixes, directions and scales."""

from __future__ import annotations

from typing import NamedTuple

from barograph.results.series import Direction
from barograph.sources.formats.nodes import Node


class Metric(NamedTuple):
    """A metric of a test.

    Attributes:
        name: Its name.
        source: Where the values are: the column of a CSV, or the suffix of a Graphite path.
        direction: Which way is better. Otava assumes "higher" where none is given; the unit or
            the reader's options decide here.
        scale: A factor for the values.
        unit: The unit, if given.
    """

    name: str
    source: str
    direction: Direction = Direction.UNKNOWN
    scale: float = 1.0
    unit: str = ""


def metrics_of(test: Node, key: str) -> list[Metric]:
    """Return the metrics of a test: a list of names, or a mapping of names to settings.

    Args:
        test: The test, with its templates.
        key: The setting that holds the source: "column" or "suffix".

    Raises:
        FieldError: A setting has a wrong type.

    Example:
        >>> test = Node({"metrics": {"p99": {"column": "read_p99", "scale": 0.5}}}, "tests.read")
        >>> metric = metrics_of(test, "column")[0]
        >>> metric.name, metric.source, metric.scale
        ('p99', 'read_p99', 0.5)
    """
    stated = test["metrics"]
    if isinstance(stated.value, list):
        return [Metric(name.label(), name.label()) for name in stated.entries()]
    metrics = []
    for name, about in stated.items():
        settings = Node({}, about.where) if about.value is None else about
        source = settings[key].optional_text() or name
        scale = settings["scale"].numeric() if "scale" in settings else 1.0
        unit, direction = settings["unit"].optional_text(), settings.direction(("direction",))
        metrics.append(Metric(name, source, direction, scale, unit))
    return metrics

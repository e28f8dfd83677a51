"""The metrics of a test of Otava: names, columns or suffixes, directions and scales."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barograph.series import Direction
from barograph.sources.formats.nodes import at, direction_in, label, mapping, optional_text, text
from barograph.sources.formats.numbers import numeric


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


def metrics_of(test: Mapping[str, Any], where: str, key: str) -> list[Metric]:
    """Return the metrics of a test: a list of names, or a mapping of names to settings.

    Args:
        test: The test, with its templates.
        where: Its place.
        key: The setting that holds the source: "column" or "suffix".

    Raises:
        FieldError: A setting has a wrong type.

    Example:
        >>> test = {"metrics": {"p99": {"column": "read_p99", "scale": 0.5}}}
        >>> metric = metrics_of(test, "tests.read", "column")[0]
        >>> metric.name, metric.source, metric.scale
        ('p99', 'read_p99', 0.5)
    """
    stated = test.get("metrics")
    place = f"{where}.metrics"
    if isinstance(stated, list):
        names = [label(name, at(place, index)) for index, name in enumerate(stated)]
        return [Metric(name, name) for name in names]
    metrics = []
    for key_of, value in mapping(stated, place).items():
        here = at(place, str(key_of))
        name = label(key_of, here)
        settings = {} if value is None else mapping(value, here)
        source = settings.get(key)
        metrics.append(
            Metric(
                name,
                name if source is None else text(source, f"{here}.{key}"),
                direction_in(settings, ("direction",), here),
                numeric(settings.get("scale", 1.0), f"{here}.scale"),
                optional_text(settings.get("unit"), f"{here}.unit"),
            )
        )
    return metrics

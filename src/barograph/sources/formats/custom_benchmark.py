"""The JSON that github-action-benchmark reads as customSmallerIsBetter or customBiggerIsBetter.

The file does not say which of the two it is: the unit gives the direction, or an option.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.access import array, at, mapping, number, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed, number_in
from barograph.sources.formats.outline import outline

REQUIRED = {"/*/name", "/*/unit", "/*/value"}
ALLOWED = REQUIRED | {f"/*/{key}" for key in ("range", "extra", "biggerIsBetter")}
TOP = {"[", "/*"}


def matches(sample: Sample) -> bool:
    """Whether the entries have a name, a unit and a value, and nothing that a table would have."""
    keys = outline(sample)
    return keys >= REQUIRED and all(key in ALLOWED | TOP or key.count("/") > 2 for key in keys)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the value of each entry."""
    yield from each(file, indexed(array(file.json(), "(file)"), ""), _results)


def _results(entry: Any, where: str) -> Iterator[Result]:
    benchmark = mapping(entry, where)
    name = text(benchmark.get("name"), at(where, "name"))
    unit = text(benchmark.get("unit"), at(where, "unit"))
    place, value = at(where, "value"), benchmark.get("value")
    measured = number_in(value, place) if isinstance(value, str) else number(value, place)
    yield Result(SeriesId("", "", "", name, ""), measured, place, unit, _direction(benchmark))


def _direction(benchmark: dict[str, Any]) -> Direction:
    """Return the direction that an entry states, which forks of the action read."""
    bigger = benchmark.get("biggerIsBetter")
    if isinstance(bigger, bool):
        return Direction.HIGHER_IS_BETTER if bigger else Direction.LOWER_IS_BETTER
    return Direction.UNKNOWN


TITLE = "github-action-benchmark: an array of name, unit and value (customSmallerIsBetter)"
FORMAT = Format("github-action-benchmark-custom", TITLE, "run", matches, read)

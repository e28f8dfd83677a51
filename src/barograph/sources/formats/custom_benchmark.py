"""The JSON that github-action-benchmark reads as customSmallerIsBetter or customBiggerIsBetter.

The file does not say which of the two it is: the unit gives the direction, or an option.
"""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.series import Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.records import each
from barograph.sources.report import Skip

REQUIRED = {"/*/name", "/*/unit", "/*/value"}
ALLOWED = REQUIRED | {f"/*/{key}" for key in ("range", "extra", "biggerIsBetter")}
TOP = {"[", "/*"}


def matches(file: InputFile) -> bool:
    """Whether the entries have a name, a unit and a value, and nothing that a table would have."""
    keys = file.places
    return keys >= REQUIRED and all(key in ALLOWED | TOP or key.count("/") > 2 for key in keys)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the value of each entry."""
    yield from each(file, Node(file.json()).entries(), _results)


def _results(entry: Node) -> Iterator[Result]:
    series = SeriesId("", "", "", entry["name"].text(), "")
    # Forks of the action read the direction that an entry states.
    directions = {True: HIGHER, False: LOWER}
    bigger = entry["biggerIsBetter"].value
    direction = directions[bigger] if isinstance(bigger, bool) else Direction.UNKNOWN
    yield Result(series, entry["value"].numeric(), entry["unit"].text(), direction)


TITLE = "github-action-benchmark: an array of name, unit and value (customSmallerIsBetter)"
FORMAT = Format("github-action-benchmark-custom", TITLE, "run", matches, read)

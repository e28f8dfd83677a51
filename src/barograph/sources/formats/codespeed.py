"""Results as they are posted to Codespeed: a list of objects, one a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.records import has_places, records
from barograph.sources.report import Skip

LABELS = ("project", "environment", "executable", "benchmark")
SERIES = (*LABELS, "units", "lessisbetter")
REVISION = ("commitid", "branch", "revision_date", "result_date")
T = TypeVar("T")
_Series = tuple[SeriesId, str, Direction]
_Revision = tuple[str, int, str]


matches = has_places(
    *({f"{top}/commitid", f"{top}/benchmark", f"{top}/result_value"} for top in ("/*", ""))
)


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the value of every result."""
    series_of: dict[tuple[Any, ...], _Series] = {}
    revision_of: dict[tuple[Any, ...], _Revision] = {}
    for result in records(file):
        value = result["result_value"]
        if value.value is None:
            yield value.skip(file, "value is missing")
            continue
        series, unit, direction = _cached(series_of, SERIES, _series, result)
        commit, time, branch = _cached(revision_of, REVISION, _revision, result)
        yield Result(series, value.numeric(), unit, direction, None, commit, time, "", branch)


def _cached(
    known: dict[tuple[Any, ...], T],
    keys: tuple[str, ...],
    read_of: Callable[[Node], T],
    result: Node,
) -> T:
    """Return what some fields of a result say; most results repeat those of others."""
    values = tuple(map(result.mapping().get, keys))
    try:
        described = known.get(values)
    except TypeError:  # a list or an object, which `read_of` refuses
        return read_of(result)
    if described is None:
        described = known[values] = read_of(result)
    return described


def _series(result: Node) -> _Series:
    """Return the identity, the unit and the direction."""
    project, environment, executable, benchmark = (result[key].optional_label() for key in LABELS)
    if not benchmark:
        raise FieldError(result["benchmark"].where, result["benchmark"].value, "is missing")
    unit = result["units"].optional_label()
    series = SeriesId(project, environment, executable, benchmark, "")
    return series, unit, result.direction(("lessisbetter",))


def _revision(result: Node) -> _Revision:
    """Return the commit, the time of it or else of the measurement, and the branch."""
    dates = (result[key] for key in ("revision_date", "result_date"))
    times = (date.time() for date in dates if date.value != "None")
    time = next((time for time in times if time != UNKNOWN_TIME), UNKNOWN_TIME)
    # Commits of Subversion are numbers.
    return result["commitid"].optional_label(), time, result["branch"].optional_label()


FORMAT = Format(
    "codespeed", "Codespeed: the JSON that is posted to /result/add/json/", "history", matches, read
)

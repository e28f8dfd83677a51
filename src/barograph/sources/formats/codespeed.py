"""Results as they are posted to Codespeed: a list of objects, one a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from barograph.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import direction_in, label, mapping, skipped
from barograph.sources.formats.base import Format, InputFile, Judgement, Result, Sample
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.numbers import numeric
from barograph.sources.formats.outline import outline
from barograph.sources.formats.records import records

LABELS = ("project", "environment", "executable", "benchmark")
SERIES = (*LABELS, "units", "lessisbetter")
REVISION = ("commitid", "branch", "revision_date", "result_date")
T = TypeVar("T")
_Series = tuple[SeriesId, str, Direction]
_Revision = tuple[str, int, str]


def matches(sample: Sample) -> bool:
    """Whether a file holds results for Codespeed."""
    places = outline(sample)
    return any(
        {f"{top}/commitid", f"{top}/benchmark", f"{top}/result_value"} <= places
        for top in ("/*", "")
    )


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the value of every result."""
    series_of: dict[tuple[Any, ...], _Series] = {}
    revision_of: dict[tuple[Any, ...], _Revision] = {}
    for place, item in records(file):
        result = mapping(item, place)
        value = result.get("result_value")
        if value is None:
            yield skipped(file, f"{place}.result_value", value, "value is missing")
            continue
        series, unit, direction = _cached(series_of, SERIES, _series, result, place)
        commit, time, branch = _cached(revision_of, REVISION, _revision, result, place)
        value = numeric(value, f"{place}.result_value")
        yield Result(series, value, place, unit, direction, None, commit, time, "", branch)


def _cached(
    known: dict[tuple[Any, ...], T],
    keys: tuple[str, ...],
    read_of: Callable[[Mapping[str, Any], str], T],
    result: Mapping[str, Any],
    place: str,
) -> T:
    """Return what some fields of a result say; most results repeat those of others."""
    values = tuple(map(result.get, keys))
    try:
        described = known.get(values)
    except TypeError:  # a list or an object, which `read_of` refuses
        return read_of(result, place)
    if described is None:
        described = known[values] = read_of(result, place)
    return described


def _series(result: Mapping[str, Any], place: str) -> _Series:
    """Return the identity, the unit and the direction."""
    direction = direction_in(result, ("lessisbetter",), place)
    return _identity(result, place), _text(result, "units", place), direction


def _revision(result: Mapping[str, Any], place: str) -> _Revision:
    """Return the commit, its time and the branch."""
    commit, branch = _text(result, "commitid", place), _text(result, "branch", place)
    return commit, _time(result, place), branch


def _identity(result: Mapping[str, Any], place: str) -> SeriesId:
    project, environment, executable, benchmark = (_text(result, key, place) for key in LABELS)
    if not benchmark:
        raise FieldError(f"{place}.benchmark", result.get("benchmark"), "is missing")
    return SeriesId(project, environment, executable, benchmark, "")


def _text(result: Mapping[str, Any], key: str, place: str) -> str:
    """Return a text; Subversion's commits are numbers."""
    value = result.get(key)
    return "" if value is None else label(value, f"{place}.{key}")


def _time(result: Mapping[str, Any], place: str) -> int:
    """Return the time of the revision, else that of the measurement."""
    for key in ("revision_date", "result_date"):
        value = result.get(key)
        time = UNKNOWN_TIME if value == "None" else time_ms(value, f"{place}.{key}")
        if time != UNKNOWN_TIME:
            return time
    return UNKNOWN_TIME


FORMAT = Format(
    "codespeed", "Codespeed: the JSON that is posted to /result/add/json/", "history", matches, read
)

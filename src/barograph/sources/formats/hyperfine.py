"""hyperfine: the JSON of `--export-json`; all times are seconds."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import arguments, array, at, mapping, number, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed
from barograph.sources.formats.outline import outline

MEMORY = "memory_usage_byte"


def matches(sample: Sample) -> bool:
    """Whether the head has the command and the mean of a result."""
    return {"/results/*/command", "/results/*/mean"} <= outline(sample)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each command, and its memory if it was measured."""
    document = mapping(file.json(), "")
    entries = indexed(array(document.get("results"), "results"), "results")
    yield from each(file, entries, _results)


def _results(entry: Any, where: str) -> Iterator[Result]:
    result = mapping(entry, where)
    codes = array(result.get("exit_codes") or [], at(where, "exit_codes"))
    if any(codes):
        failed = next(code for code in codes if code)
        raise FieldError(at(where, "exit_codes"), failed, "the command failed")
    command = text(result.get("command"), at(where, "command"))
    parameters = mapping(result.get("parameters") or {}, at(where, "parameters"))
    args = arguments(parameters, at(where, "parameters"))
    place = at(where, "median")
    yield _result(command, "median", args, number(result.get("median"), place), place, "s")
    sizes = array(result.get(MEMORY) or [], at(where, MEMORY))
    if sizes:
        place = at(where, MEMORY)
        used = median(number(size, place) for size in sizes)
        yield _result(command, "memory", args, used, place, "B")


def _result(
    command: str,
    name: str,
    args: tuple[tuple[str, str], ...],
    value: float,
    where: str,
    unit: str,
) -> Result:
    series = SeriesId("", "", "", command, name, args)
    return Result(series, value, where, unit, Direction.LOWER_IS_BETTER)


FORMAT = Format("hyperfine", "hyperfine: hyperfine --export-json FILE", "run", matches, read)

"""hyperfine: the JSON of `--export-json`; all times are seconds."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from barograph.results.fields import FieldError
from barograph.results.series import SeriesId
from barograph.results.units import LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.nodes import Node, each, has_places

matches = has_places({"/results/*/command", "/results/*/mean"})


def read(file: InputFile) -> Items:
    """Yield the median of each command, and its memory if it was measured."""
    yield from each(file, Node(file.json())["results"].entries(), _results)


def _results(entry: Node) -> Iterator[Result]:
    codes = entry.get("exit_codes", [])
    failed = next((code.value for code in codes.entries() if code.value), None)
    if failed:
        raise FieldError(codes.where, failed, "the command failed")
    command, args = entry["command"].text(), entry.get("parameters", {}).arguments()
    series = SeriesId("", "", "", command, "median", args)
    yield Result(series, entry["median"].number(), "s", LOWER)
    memory = entry.get("memory_usage_byte", [])
    sizes = [size.number() for size in memory.entries()]
    if sizes:
        series = SeriesId("", "", "", command, "memory", args)
        yield Result(series, median(sizes), "B", LOWER)


FORMAT = Format("hyperfine", "hyperfine: hyperfine --export-json FILE", "run", matches, read)

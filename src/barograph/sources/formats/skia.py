"""Skia Perf, version 1: one file a commit, in a folder, in a list, or alone.

{"version": 1, "git_hash": "...", "key": {"arch": "x86"},
 "results": [{"key": {"test": "draw", "units": "ms"}, "measurement": 1.2},
             {"key": {"test": "load"}, "measurements": {"stat": [{"value": "min",
                                                                  "measurement": 3}]}}]}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.content import inner_files
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import Node, also_in_folder, has_places, records

VERSION = 1
DIRECTIONS = {"up": Direction.HIGHER_IS_BETTER, "down": Direction.LOWER_IS_BETTER}
# Keys of a trace that are no arguments.
UNITS, STATISTICS = ("units", "unit"), ("stat", "statistic")
LABELS = {"test", "branch", "improvement_direction", *UNITS}
HOUR = re.compile(r"(?:^|/)(\d{4})/(\d\d)/(\d\d)/(\d\d)/")  # folders of Skia's storage


matches = also_in_folder(has_places(*({f"{top}/git_hash", f"{top}/results"} for top in ("/*", ""))))


def read(file: InputFile) -> Items:
    """Yield the measurements of all files, in the order of their paths."""
    if not file.folder:
        for run in records(file):
            yield from _run(file, run, UNKNOWN_TIME)
        return
    for inner in inner_files(file):
        hour, name = _hour(str(inner.path)), inner.name.removeprefix(f"{file.name}/")
        for run in records(inner):
            yield from _run(file, Node(run.value, f"{name}: {run.where}"), hour)


def _hour(path: str) -> int:
    """Return the hour that the folders of a path say."""
    match = HOUR.search(path)
    try:
        return time_ms("{}-{}-{} {}:00".format(*match.groups()), path) if match else UNKNOWN_TIME
    except FieldError:
        return UNKNOWN_TIME


def _run(file: InputFile, run: Node, time: int) -> Items:
    """Yield the measurements of one run, and the missing ones.

    Args:
        file: The file.
        run: The run.
        time: When the file was written, if its folders say it.
    """
    version = run["version"]
    if version.value != VERSION:
        raise FieldError(version.where, version.value, "is not 1")
    commit, common = run["git_hash"].text(), run.get("key", {}).mapping()
    for result in run["results"].entries():
        key = common | result.get("key", {}).mapping()
        for extra, value in _measurements(result):
            if value.value is None:
                yield value.skip(file, "value is missing")
            else:
                described = _described(Node(key | extra, f"{value.where}.key"))
                yield described._replace(value=value.number(), commit=commit, time=time)


def _measurements(result: Node) -> Iterator[tuple[dict[str, Any], Node]]:
    """Yield each measurement of a result, and what it adds to the key."""
    if "measurements" not in result:
        yield {}, result["measurement"]
        return
    for name, measurements in result["measurements"].items():
        for single in measurements.entries():
            yield {name: single["value"].label()}, single["measurement"]


def _described(key: Node) -> Result:
    """Return the identity, unit, direction and branch that a key says, without a value."""
    values = {name: value.label() for name, value in key.items()}
    [stat, *_] = [*(name for name in STATISTICS if name in values), ""]
    [unit, *_] = [*(values[name] for name in UNITS if name in values), ""]
    args = sorted((name, values[name]) for name in values if name not in {*LABELS, stat})
    series = SeriesId("", "", "", values.get("test", ""), values.get(stat, ""), tuple(args))
    direction = DIRECTIONS.get(values.get("improvement_direction", ""), Direction.UNKNOWN)
    return Result(series, 0.0, unit, direction, branch=values.get("branch", ""))


TITLE = "Skia Perf, version 1: a JSON file a commit, a list of them, or a folder"
FORMAT = Format("skia", TITLE, "history", matches, read)

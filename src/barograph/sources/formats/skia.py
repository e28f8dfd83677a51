"""Skia Perf, version 1: one file a commit, in a folder, in a list, or alone.

{"version": 1, "git_hash": "...", "key": {"arch": "x86"},
 "results": [{"key": {"test": "draw", "units": "ms"}, "measurement": 1.2},
             {"key": {"test": "load"}, "measurements": {"stat": [{"value": "min",
                                                                  "measurement": 3}]}}]}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import Format, InputFile, ResultBatch
from barograph.sources.formats.batches import RecordBatches
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import also_in_folder, has_places, json_contents
from barograph.sources.formats.records import records
from barograph.sources.report import Skip

VERSION = 1
DIRECTIONS = {"up": Direction.HIGHER_IS_BETTER, "down": Direction.LOWER_IS_BETTER}
# Keys of a trace that are labels; all others are arguments.
UNITS = ("units", "unit")
SPECIAL = {"test", "branch", "improvement_direction", *UNITS}
HOUR = re.compile(r"(?:^|/)(\d{4})/(\d\d)/(\d\d)/(\d\d)/")  # folders of Skia's storage


matches = also_in_folder(has_places(*({f"{top}/git_hash", f"{top}/results"} for top in ("/*", ""))))


def read(file: InputFile) -> Iterator[ResultBatch | Skip]:
    """Yield the measurements of all files, in the order of their paths."""
    reader = _Reader(file)
    if file.content is not None:
        for run in records(file):
            yield from reader.run(run, UNKNOWN_TIME)
            if reader.batches.is_full:
                yield reader.batches.take()
        yield reader.batches.take()
        return
    for name, inner in json_contents(file):
        hour = _hour(str(inner.path))
        for run in records(inner):
            yield from reader.run(Node(run.value, f"{name}: {run.where}"), hour)
        if reader.batches.is_full:
            yield reader.batches.take()
    yield reader.batches.take()


def _hour(path: str) -> int:
    """Return the hour that the folders of a path say."""
    match = HOUR.search(path)
    try:
        return time_ms("{}-{}-{} {}:00".format(*match.groups()), path) if match else UNKNOWN_TIME
    except FieldError:
        return UNKNOWN_TIME


@dataclass
class _Reader:
    """Reads runs, and keeps the identities."""

    file: InputFile
    batches: RecordBatches = field(default_factory=RecordBatches)
    traces: dict[tuple[Any, ...], tuple[int, str]] = field(default_factory=dict)

    def run(self, run: Node, time: int) -> Iterator[Skip]:
        """Take the measurements of one run, and yield the missing ones.

        Args:
            run: The run.
            time: When the file was written, if its folders say it.
        """
        version = run["version"]
        if version.value != VERSION:
            raise FieldError(version.where, version.value, "is not 1")
        commit, common = run["git_hash"].text(), run.get("key", {}).mapping()
        last = ""  # the branch of the results since the last record
        for result in run["results"].entries():
            quick = self._known(common, result.value)
            for each in self._checked(common, result) if quick is None else [quick]:
                if isinstance(each, Skip):
                    yield each
                    continue
                kind, branch, value = each
                if branch != last:
                    self.batches.end_record(commit, time, branch=last)
                    last = branch
                self.batches.kinds.append(kind)
                self.batches.values.append(value)
        self.batches.end_record(commit, time, branch=last)

    def _known(self, common: dict[str, Any], item: Any) -> tuple[int, str, float] | None:
        """Return the trace and the value of a result of a trace that was read before."""
        try:
            kind, branch = self.traces[tuple((common | item["key"]).items())]
            value = item["measurement"]
        except (KeyError, TypeError):
            return None
        if type(value) is not float or not isfinite(value) or "measurements" in item:
            return None
        return kind, branch, value

    def _checked(
        self, common: dict[str, Any], result: Node
    ) -> Iterator[tuple[int, str, float] | Skip]:
        """Yield the trace and the value of each measurement of a result."""
        key = common | result.get("key", {}).mapping()
        for extra, value in _measurements(result):
            if value.value is None:
                yield value.skip(self.file, "value is missing")
            else:
                kind, branch = self._trace(Node(key | extra, f"{value.where}.key"))
                yield kind, branch, value.number()

    def _trace(self, key: Node) -> tuple[int, str]:
        """Return the kind and the branch of a trace."""
        cached = tuple(key.mapping().items())
        try:
            trace = self.traces.get(cached)
        except TypeError:
            raise FieldError(key.where, key.value, "holds a value that is not text") from None
        if trace is None:
            series, unit, direction, branch = _described(key)
            trace = self.traces[cached] = self.batches.kind(series, direction, unit), branch
        return trace


def _measurements(result: Node) -> Iterator[tuple[dict[str, Any], Node]]:
    """Yield each measurement of a result, and what it adds to the key."""
    if "measurements" not in result:
        yield {}, result["measurement"]
        return
    for name, measurements in result["measurements"].items():
        for single in measurements.entries():
            yield {name: single["value"].label()}, single["measurement"]


def _described(key: Node) -> tuple[SeriesId, str, Direction, str]:
    """Return the identity, unit, direction and branch that a key says."""
    values = {name: value.label() for name, value in key.items()}
    stat = next((name for name in ("stat", "statistic") if name in values), "")
    rest = {name: values[name] for name in values if name not in SPECIAL and name != stat}
    args = Node(rest, key.where).arguments()
    series = SeriesId("", "", "", values.get("test", ""), values.get(stat, ""), args)
    unit = next((values[name] for name in UNITS if name in values), "")
    direction = DIRECTIONS.get(values.get("improvement_direction", ""), Direction.UNKNOWN)
    return series, unit, direction, values.get("branch", "")


TITLE = "Skia Perf, version 1: a JSON file a commit, a list of them, or a folder"
FORMAT = Format("skia", TITLE, "history", matches, read)

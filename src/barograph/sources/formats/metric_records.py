"""JSON or JSON lines whose records hold a map `metrics` or `records` of names to values.

{"commit": "8674f78", "timestamp": "2026-01-31T10:00:00Z",
 "metrics": {"p50": 1.2, "p99": {"value": 3, "unit": "ms"}, "insert": {"ops": 120}}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from barograph.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError, order_of
from barograph.sources.formats import nyrkio
from barograph.sources.formats.access import (
    arguments,
    at,
    label,
    mapping,
    numeric,
    optional_text,
    project_of_url,
    skipped,
    text,
    time_ms,
)
from barograph.sources.formats.base import Format, InputFile, Judgement, Result, Sample
from barograph.sources.formats.outline import outline
from barograph.sources.formats.records import KEYS, records

MAPS = ("metrics", "records")
# What records call their fields.
NAMES = {
    "project": ("project", "repository", "repo", "git_repo"),
    "variant": ("variant", "machine", "host", "hostname", "environment", "env", "platform"),
    "task": ("task", "suite", "group"),
    "test": ("test", "benchmark", "bench", "name", "test_name"),
    "commit": ("commit", "git_commit", "commit_id", "commit_hash", "git_hash", "sha", "revision"),
    "time": ("timestamp", "time", "date", "datetime", "commit_time", "commit_date"),
    "branch": ("branch", "git_branch"),
    "run": ("run", "run_id", "job", "job_id"),
    "order": ("order", "build_number"),
    "args": ("args", "params", "parameters"),
}
FIELDS = {name: field for field, names in NAMES.items() for name in names}
TIED = {name for field in ("commit", "time") for name in NAMES[field]}
LINES = re.compile(rb"\}\s*\n\s*\{")
HASHES = ("id", "hash", "sha", "oid")  # keys of a commit that is an object
TIMES = ("timestamp", "date", "time")
VALUES = ("value", "median", "mean")  # keys of a metric that is an object, in this order
DIRECTIONS = {
    "lower_is_better": Direction.LOWER_IS_BETTER,
    "lower": Direction.LOWER_IS_BETTER,
    "smaller_is_better": Direction.LOWER_IS_BETTER,
    "-1": Direction.LOWER_IS_BETTER,
    "higher_is_better": Direction.HIGHER_IS_BETTER,
    "higher": Direction.HIGHER_IS_BETTER,
    "bigger_is_better": Direction.HIGHER_IS_BETTER,
    "1": Direction.HIGHER_IS_BETTER,
}
Labels = tuple[str, str, str, str, tuple[tuple[str, str], ...]]


def matches(sample: Sample) -> bool:
    """Whether records have a map of metrics, and are several or name a commit or a time."""
    places = outline(sample)
    tops = {
        place.rpartition("/")[0] for name in MAPS for place in places if place.endswith(f"/{name}")
    }
    for top in tops & {"", "/*", *(f"/{key}/*" for key in KEYS)}:
        keys = {place.rpartition("/")[2] for place in places if place.rpartition("/")[0] == top}
        many = top or (LINES.search(sample.head) and b"[" not in sample.head.lstrip()[:1])
        if (many or keys & TIED) and not nyrkio.matches(sample):
            return "/git_hash" not in places and "/root_group" not in places
    return False


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the metrics of all records."""
    known: dict[Labels, dict[tuple[str, str], SeriesId]] = {}
    for place, item in records(file, KEYS):
        record = _Record(mapping(item, place or "record"), place)
        ids = known.setdefault(record.labels, {})
        for name, value, where in _values(record.fields, place):
            kind = type(value)
            if kind is float or kind is int:
                yield record.result(ids, ("", name), value, where)
            elif kind is dict and "value" in value:
                yield from _single(file, record, ids, ("", name), value, where)
            else:
                yield from _metric(file, record, ids, name, value, where)


def _values(fields: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the name, the value and the place of each metric of a record."""
    found = False
    for key in MAPS:
        metrics = fields.get(key)
        where = at(place, key)
        if isinstance(metrics, dict):
            found = True
            for name, value in metrics.items():
                yield text(name, where), value, at(where, name)
        elif isinstance(metrics, list):  # of objects with a name
            found = True
            for index, item in enumerate(metrics):
                metric = mapping(item, at(where, index))
                yield text(metric.get("name"), f"{at(where, index)}.name"), metric, at(where, index)
    if not found:
        raise FieldError(at(place, "metrics"), fields.get("metrics"), "is not an object")


def _metric(
    file: InputFile,
    record: _Record,
    ids: dict[tuple[str, str], SeriesId],
    name: str,
    value: object,
    where: str,
) -> Iterator[Result | Skip]:
    """Yield the results of a metric that is not a plain number.

    An object with a value is one metric, another object is a benchmark with metrics, and a list
    holds repetitions.
    """
    if isinstance(value, dict) and not any(key in value for key in VALUES):
        for inner, each in value.items():
            here = at(where, inner)
            yield from _single(file, record, ids, (name, text(inner, here)), each, here)
    else:
        yield from _single(file, record, ids, ("", name), value, where)


def _single(
    file: InputFile,
    record: _Record,
    ids: dict[tuple[str, str], SeriesId],
    name: tuple[str, str],
    value: object,
    where: str,
) -> Iterator[Result | Skip]:
    """Yield the value of a metric, or its repetitions as runs."""
    unit, direction = "", Direction.UNKNOWN
    if isinstance(value, dict):
        unit = optional_text(value.get("unit", value.get("units")), f"{where}.unit")
        direction = _direction(value, where)
        key = next((key for key in VALUES if key in value), "value")
        value, where = value.get(key), f"{where}.{key}"
    if type(value) is float or type(value) is int:
        yield record.result(ids, name, value, where, unit, direction)
        return
    for index, each in enumerate(value if isinstance(value, list) else [value]):
        here = f"{where}[{index}]" if isinstance(value, list) else where
        if each is None:
            yield skipped(file, here, each, "value is missing")
            continue
        try:
            result = record.result(ids, name, numeric(each, here), here, unit, direction)
            if result.run and here != where:  # repetitions of a run are runs of their own
                result = result._replace(run=f"{result.run}.{index + 1}")
            yield result
        except FieldError as error:  # people keep texts and truth values beside the metrics
            yield skipped(file, here, each, error.reason)


class _Record:
    """One record: who measured what, when and at which commit."""

    def __init__(self, fields: dict[str, Any], place: str) -> None:
        self.fields = fields
        self.commit = self.branch = self.run = ""
        self.time, self.order = UNKNOWN_TIME, None
        labels = dict.fromkeys(("project", "variant", "task", "test"), "")
        args: tuple[tuple[str, str], ...] = ()
        for key, value in fields.items():
            field = FIELDS.get(key)
            if field is None or value is None:
                continue
            where = at(place, key)
            if field in labels:
                labels[field] = label(value, where)
            elif field == "commit":
                self._commit(value, where)
            elif field == "time":
                self.time = time_ms(value, where)
            elif field == "args":
                args = arguments(mapping(value, where), where)
            elif field == "order":
                self.order = order_of(value, where)
            else:
                setattr(self, field, label(value, where))
        project = (
            project_of_url(labels["project"]) if "/" in labels["project"] else labels["project"]
        )
        self.labels = (project, labels["variant"], labels["task"], labels["test"], args)

    def _commit(self, value: object, where: str) -> None:
        """Take the commit, which may be an object with a hash and a time."""
        if isinstance(value, dict):
            for key in TIMES:
                if self.time == UNKNOWN_TIME:
                    self.time = time_ms(value.get(key), f"{where}.{key}")
            value = next((value[key] for key in HASHES if value.get(key) is not None), "")
        self.commit = label(value, where)

    def result(
        self,
        ids: dict[tuple[str, str], SeriesId],
        name: tuple[str, str],
        value: float,
        where: str,
        unit: str = "",
        direction: Direction = Direction.UNKNOWN,
    ) -> Result:
        """Return the result of a metric; `name` is the inner benchmark, if any, and the metric."""
        series = ids.get(name)
        if series is None:
            project, variant, task, test, args = self.labels
            if name[0] and test:
                task = f"{task}/{test}" if task else test
            series = ids[name] = SeriesId(project, variant, task, name[0] or test, name[1], args)
        number = numeric(value, where)
        return Result(
            series, number, where, unit, direction, self.order, self.commit, self.time, self.run,
            self.branch,
        )  # fmt: skip


def _direction(metric: Mapping[str, Any], where: str) -> Direction:
    """Return which way is better, if the metric says it."""
    stated = metric.get("direction")
    if stated is not None:
        found = DIRECTIONS.get(label(stated, f"{where}.direction").lower())
        if found is None:
            raise FieldError(f"{where}.direction", stated, "is not one of lower, higher, -1 and 1")
        return found
    for key in ("lower_is_better", "smaller_is_better", "higher_is_better", "bigger_is_better"):
        value = metric.get(key)
        if value is None:
            continue
        if not isinstance(value, bool):
            raise FieldError(f"{where}.{key}", value, "is neither true nor false")
        return Direction(int(DIRECTIONS[key]) * (1 if value else -1))
    return Direction.UNKNOWN


FORMAT = Format(
    "metric-records",
    "JSON or JSON lines: records with a map of metrics, a commit and a time",
    "history",
    matches,
    read,
)

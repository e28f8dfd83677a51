"""JSON or JSON lines whose records hold a map `metrics` or `records` of names to values.

{"commit": "8674f78", "timestamp": "2026-01-31T10:00:00Z",
 "metrics": {"p50": 1.2, "p99": {"value": 3, "unit": "ms"}, "insert": {"ops": 120}}}
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.fields import FieldError, order_of
from barograph.sources.formats import nyrkio
from barograph.sources.formats.base import Format, InputFile, ResultBatch, Sample
from barograph.sources.formats.batches import RecordBatches
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import outline
from barograph.sources.formats.records import KEYS, records
from barograph.sources.formats.urls import project_of_url
from barograph.sources.report import Skip

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
DIRECTIONS = (
    *("direction", "lower_is_better", "smaller_is_better", "higher_is_better"),
    "bigger_is_better",
)
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


def read(file: InputFile) -> Iterator[ResultBatch | Skip]:
    """Yield the metrics of all records."""
    metrics = _Metrics()
    for node in records(file, KEYS):
        record = _Record(node)
        kinds = metrics.kinds.setdefault(record.labels, {})
        for name, metric in _values(node):
            if not metrics.take(kinds, name, metric.value):
                yield from _metric(file, metrics, record, name, metric)
        metrics.end(record)
        if metrics.batches.is_full:
            yield metrics.batches.take()
    yield metrics.batches.take()


def _values(record: Node) -> Iterator[tuple[str, Node]]:
    """Yield the name and the value of each metric of a record."""
    maps = [record[key] for key in MAPS]
    if not any(isinstance(metrics.value, (dict, list)) for metrics in maps):
        raise FieldError(maps[0].where, maps[0].value, "is not an object")
    for metrics in maps:
        if isinstance(metrics.value, dict):
            yield from metrics.items()
        elif isinstance(metrics.value, list):  # of objects with a name
            for metric in metrics.entries():
                yield metric["name"].text(), metric


class _Metrics:
    """Collects values. Metrics that say the same as one of an earlier record are recognised."""

    def __init__(self) -> None:
        self.batches = RecordBatches()
        self.kinds: dict[Labels, dict[object, int]] = {}

    def take(self, kinds: Mapping[object, int], name: str, value: object) -> bool:
        """Take a metric that is a plain value with a known description, if it is one."""
        signature: object = name
        if type(value) is dict:
            signature = _signature(name, value)
            value = value.get("value")
        if type(value) is not float or not isfinite(value):
            return False
        try:
            kind = kinds.get(signature)
        except TypeError:  # the description holds a list or an object
            return False
        if kind is None:
            return False
        self.batches.kinds.append(kind)
        self.batches.values.append(value)
        return True

    def add(
        self,
        record: _Record,
        name: tuple[str, str],
        value: float,
        unit: str,
        direction: Direction,
    ) -> int:
        """Take a value; return its kind. `name` is the inner benchmark, if any, and the metric."""
        kind = self.batches.kind(record.series(name), direction, unit)
        self.batches.kinds.append(kind)
        self.batches.values.append(value)
        return kind

    def end(self, record: _Record, run: str | None = None) -> None:
        """End a record, or a part of it that has a run of its own."""
        name = record.run if run is None else run
        self.batches.end_record(record.commit, record.time, name, record.branch, record.order)


def _metric(
    file: InputFile, metrics: _Metrics, record: _Record, name: str, metric: Node
) -> Iterator[Skip]:
    """Take the results of a metric that says something new.

    An object with a value is one metric, another object is a benchmark with metrics, and a list
    holds repetitions.
    """
    value = metric.value
    if isinstance(value, dict) and not any(key in value for key in VALUES):
        for inner, each in metric.items():
            yield from _single(file, metrics, record, (name, inner), each)
        return
    signature = _signature(name, value) if isinstance(value, dict) else name
    kind = yield from _single(file, metrics, record, ("", name), metric)
    is_plain = not isinstance(value, dict) or "value" in value
    if kind is not None and is_plain:
        with suppress(TypeError):  # the description holds a list or an object
            metrics.kinds[record.labels][signature] = kind


def _single(
    file: InputFile, metrics: _Metrics, record: _Record, name: tuple[str, str], metric: Node
) -> Generator[Skip, None, int | None]:
    """Take the value of a metric, or its repetitions as runs; return the kind of a plain value."""
    unit, direction = "", Direction.UNKNOWN
    if isinstance(metric.value, dict):
        unit = metric["unit" if "unit" in metric else "units"].optional_text()
        direction = metric.direction(DIRECTIONS)
        metric = metric[next((key for key in VALUES if key in metric), "value")]
    if type(metric.value) is float or type(metric.value) is int:
        return metrics.add(record, name, metric.number(), unit, direction)
    is_list = isinstance(metric.value, list)
    for index, each in enumerate(metric.entries() if is_list else [metric]):
        if each.value is None:
            yield each.skip(file, "value is missing")
            continue
        try:
            number = each.numeric()
        except FieldError as error:  # people keep texts and truth values beside the metrics
            yield each.skip(file, error.reason)
            continue
        if is_list and record.run:  # repetitions of a run are runs of their own
            metrics.end(record)
            metrics.add(record, name, number, unit, direction)
            metrics.end(record, f"{record.run}.{index + 1}")
        else:
            metrics.add(record, name, number, unit, direction)
    return None


def _signature(name: str, metric: Mapping[str, Any]) -> tuple[object, ...]:
    """Return all that a metric says besides its value."""
    if len(metric) == 2 and "unit" in metric:  # the common case
        return name, metric["unit"]
    return name, *[pair for pair in metric.items() if pair[0] != "value"]


class _Record:
    """One record: who measured what, when and at which commit."""

    def __init__(self, record: Node) -> None:
        self.commit = self.branch = self.run = ""
        self.time, self.order = UNKNOWN_TIME, None
        labels = dict.fromkeys(("project", "variant", "task", "test"), "")
        args: tuple[tuple[str, str], ...] = ()
        for key, value in record.mapping().items():
            field = FIELDS.get(key)
            if field is None or value is None:
                continue
            node = Node(value, record, key)
            if field in labels:
                labels[field] = node.label()
            elif field == "commit":
                self._commit(node)
            elif field == "time":
                self.time = node.time()
            elif field == "args":
                args = node.arguments()
            elif field == "order":
                self.order = order_of(value, node.where)
            else:
                setattr(self, field, node.label())
        project = (
            project_of_url(labels["project"]) if "/" in labels["project"] else labels["project"]
        )
        self.labels = (project, labels["variant"], labels["task"], labels["test"], args)

    def _commit(self, commit: Node) -> None:
        """Take the commit, which may be an object with a hash and a time."""
        if isinstance(commit.value, dict):
            for key in TIMES:
                if self.time == UNKNOWN_TIME:
                    self.time = commit[key].time()
            commit = commit.first(HASHES)
        self.commit = commit.optional_label()

    def series(self, name: tuple[str, str]) -> SeriesId:
        """Return an identity; `name` is the inner benchmark, if any, and the metric."""
        project, variant, task, test, args = self.labels
        if name[0] and test:
            task = f"{task}/{test}" if task else test
        return SeriesId(project, variant, task, name[0] or test, name[1], args)


TITLE = "JSON or JSON lines: records with a map of metrics, a commit and a time"
FORMAT = Format("metric-records", TITLE, "history", matches, read)

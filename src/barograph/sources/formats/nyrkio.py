"""The JSON of Nyrkiö, which Otava reads, too: runs with a time, metrics and attributes.

[{"timestamp": 1706220908,
  "metrics": [{"name": "p50", "unit": "us", "value": 56, "direction": "lower_is_better"}],
  "attributes": {"git_repo": "...", "branch": "main", "git_commit": "..."}}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.access import (
    array,
    at,
    direction_in,
    label,
    mapping,
    optional_text,
    project_of_url,
    skipped,
    text,
)
from barograph.sources.formats.base import Format, InputFile, ResultBatch, Sample
from barograph.sources.formats.batches import RecordBatches
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.numbers import number
from barograph.sources.formats.outline import outline
from barograph.sources.formats.records import records

COMMITS = ("git_commit", "commit", "revision", "sha")
TESTS = ("test_name", "test", "benchmark")


def matches(sample: Sample) -> bool:
    """Whether a file is a list of runs whose metrics are a list of names and values."""
    places = outline(sample)
    return any({f"{top}/timestamp", f"{top}/metrics/*/name"} <= places for top in ("/*", ""))


def read(file: InputFile) -> Iterator[ResultBatch | Skip]:
    """Yield the metrics of all runs."""
    batches = RecordBatches()
    kinds: dict[tuple[object, ...], int] = {}
    for place, record in records(file):
        run = mapping(record, place)
        attributes = mapping(run.get("attributes") or {}, at(place, "attributes"))
        commit = _first(attributes, COMMITS, place)
        branch = _first(attributes, ("branch",), place)
        project = project_of_url(_first(attributes, ("git_repo",), place))
        test = _first(attributes, TESTS, place)
        time = time_ms(run.get("timestamp"), at(place, "timestamp"))
        metrics = at(place, "metrics")
        for index, item in enumerate(array(run.get("metrics"), metrics)):
            metric = mapping(item, f"{metrics}[{index}]" if type(item) is not dict else "")
            value = metric.get("value")
            if value is None:
                text(metric.get("name"), f"{metrics}[{index}].name")
                yield skipped(file, f"{metrics}[{index}].value", value, "value is missing")
                continue
            if type(value) is not float or not isfinite(value):
                text(metric.get("name"), f"{metrics}[{index}].name")
                value = number(value, f"{metrics}[{index}].value")
            way = metric.get("direction")
            key = (project, test, metric.get("name"), metric.get("unit"), way, type(way))
            try:
                kind = kinds.get(key)
            except TypeError:  # a list or an object, which `_described` names
                kind = None
            if kind is None:
                described = _described(metric, project, test, f"{metrics}[{index}]")
                kind = kinds[key] = batches.kind(*described)
            batches.kinds.append(kind)
            batches.values.append(value)
        batches.end_record(commit, time, "", branch)
        if batches.is_full:
            yield batches.take()
    yield batches.take()


def _described(
    metric: Mapping[str, Any], project: str, test: str, where: str
) -> tuple[SeriesId, Direction, str]:
    """Return the identity, the direction and the unit of a metric."""
    name = text(metric.get("name"), f"{where}.name")
    unit = optional_text(metric.get("unit"), f"{where}.unit")
    direction = direction_in(metric, ("direction",), where)
    return SeriesId(project, "", "", test, name), direction, unit


def _first(attributes: Mapping[str, Any], names: tuple[str, ...], place: str) -> str:
    """Return the first of some attributes that is present, as text; some tools write lists."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None:
            return label(value, at(at(place, "attributes"), name))
    return ""


TITLE = "Nyrkiö or Otava JSON: runs with a timestamp, a list of metrics, and attributes"
FORMAT = Format("nyrkio", TITLE, "history", matches, read)

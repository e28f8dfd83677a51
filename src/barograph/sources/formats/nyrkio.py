"""The JSON of Nyrkiö, which Otava reads, too: runs with a time, metrics and attributes.

[{"timestamp": 1706220908,
  "metrics": [{"name": "p50", "unit": "us", "value": 56, "direction": "lower_is_better"}],
  "attributes": {"git_repo": "...", "branch": "main", "git_commit": "..."}}]
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from barograph.results.series import Direction, SeriesId
from barograph.sources.formats.base import Format, InputFile, ResultBatch
from barograph.sources.formats.batches import RecordBatches
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import has_places
from barograph.sources.formats.records import records
from barograph.sources.formats.urls import project_of_url
from barograph.sources.report import Skip

COMMITS = ("git_commit", "commit", "revision", "sha")
TESTS = ("test_name", "test", "benchmark")


matches = has_places(*({f"{top}/timestamp", f"{top}/metrics/*/name"} for top in ("/*", "")))


def read(file: InputFile) -> Iterator[ResultBatch | Skip]:
    """Yield the metrics of all runs."""
    batches = RecordBatches()
    kinds: dict[tuple[object, ...], int] = {}
    for run in records(file):
        attributes = run.get("attributes", {})
        commit, branch = _first(attributes, COMMITS), _first(attributes, ("branch",))
        project = project_of_url(_first(attributes, ("git_repo",)))
        test = _first(attributes, TESTS)
        time = run["timestamp"].time()
        for metric in run["metrics"].entries():
            fields = metric.mapping()
            value, way = fields.get("value"), fields.get("direction")
            if value is None:
                metric["name"].text()
                yield metric["value"].skip(file, "value is missing")
                continue
            if type(value) is not float or not isfinite(value):
                value = metric["value"].number()
            key = (project, test, fields.get("name"), fields.get("unit"), way, type(way))
            try:
                kind = kinds.get(key)
            except TypeError:  # a list or an object, which `_described` names
                kind = None
            if kind is None:
                kind = kinds[key] = batches.kind(*_described(metric, project, test))
            batches.kinds.append(kind)
            batches.values.append(value)
        batches.end_record(commit, time, "", branch)
        if batches.is_full:
            yield batches.take()
    yield batches.take()


def _described(metric: Node, project: str, test: str) -> tuple[SeriesId, Direction, str]:
    """Return the identity, the direction and the unit of a metric."""
    series = SeriesId(project, "", "", test, metric["name"].text())
    return series, metric.direction(("direction",)), metric["unit"].optional_text()


def _first(attributes: Node, names: tuple[str, ...]) -> str:
    """Return the first of some attributes that is present, as text; some tools write lists."""
    attribute = attributes.first(names)
    if isinstance(attribute.value, list) and len(attribute.value) == 1:
        [attribute] = attribute.entries()
    return attribute.optional_label()


TITLE = "Nyrkiö or Otava JSON: runs with a timestamp, a list of metrics, and attributes"
FORMAT = Format("nyrkio", TITLE, "history", matches, read)

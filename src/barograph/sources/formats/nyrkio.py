"""The JSON of Nyrkiö, which Otava reads, too: runs with a time, metrics and attributes.

[{"timestamp": 1706220908,
  "metrics": [{"name": "p50", "unit": "us", "value": 56, "direction": "lower_is_better"}],
  "attributes": {"git_repo": "...", "branch": "main", "git_commit": "..."}}]
"""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.series import SeriesId
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.records import has_places, records
from barograph.sources.formats.urls import project_of_url
from barograph.sources.report import Skip

COMMITS = ("git_commit", "commit", "revision", "sha")
TESTS = ("test_name", "test", "benchmark")


matches = has_places(*({f"{top}/timestamp", f"{top}/metrics/*/name"} for top in ("/*", "")))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the metrics of all runs."""
    for run in records(file):
        attributes = run.get("attributes", {})
        commit, branch = _first(attributes, COMMITS), _first(attributes, ("branch",))
        project = project_of_url(_first(attributes, ("git_repo",)))
        test, time = _first(attributes, TESTS), run["timestamp"].time()
        for metric in run["metrics"].entries():
            series = SeriesId(project, "", "", test, metric["name"].text())
            value = metric["value"]
            if value.value is None:
                yield value.skip(file, "value is missing")
                continue
            unit, direction = metric["unit"].optional_text(), metric.direction(("direction",))
            number = value.number()
            yield Result(series, number, unit, direction, None, commit, time, "", branch)


def _first(attributes: Node, names: tuple[str, ...]) -> str:
    """Return the first of some attributes that is present, as text; some tools write lists."""
    attribute = attributes.first(names)
    if isinstance(attribute.value, list) and len(attribute.value) == 1:
        [attribute] = attribute.entries()
    return attribute.optional_label()


TITLE = "Nyrkiö or Otava JSON: runs with a timestamp, a list of metrics, and attributes"
FORMAT = Format("nyrkio", TITLE, "history", matches, read)

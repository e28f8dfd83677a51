"""JSON or JSON lines of records that hold metrics: in a map, as Nyrkiö's, and Codespeed's.

Records may hold a map `metrics` or `records` of names to values:

{"commit": "8674f78", "timestamp": "2026-01-31T10:00:00Z",
 "metrics": {"p50": 1.2, "p99": {"value": 3, "unit": "ms"}, "insert": {"ops": 120}}}

Nyrkiö's, which Otava reads, too, are runs with a time, a list of metrics and attributes:

[{"timestamp": 1706220908,
  "metrics": [{"name": "p50", "unit": "us", "value": 56, "direction": "lower_is_better"}],
  "attributes": {"git_repo": "...", "branch": "main", "git_commit": "..."}}]

Codespeed's are results as they are posted to it: a list of objects, one a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from barograph.results.fields import FieldError, order_of
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.content import project_of_url
from barograph.sources.formats.json_text import Lines
from barograph.sources.formats.nodes import Node, has_places, records

MAPS = ("metrics", "records")
KEYS = ("results", "records", "runs", "history", "data", "benchmarks")  # that wrap a list
# What records call their fields; the first that is there counts.
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
OF_NYRKIO = {
    "project": ("git_repo",),
    "test": ("test_name", "test", "benchmark"),
    "commit": ("git_commit", "commit", "revision", "sha"),
    "branch": ("branch",),
}
OF_CODESPEED = {
    "project": ("project",),
    "variant": ("environment",),
    "task": ("executable",),
    "test": ("benchmark",),
    "commit": ("commitid",),  # those of Subversion are numbers
    "time": ("revision_date", "result_date"),
    "branch": ("branch",),
}
TIED = {*NAMES["commit"], *NAMES["time"]}
HASHES = ("id", "hash", "sha", "oid")  # keys of a commit that is an object
TIMES = ("timestamp", "date", "time")
VALUES = ("value", "median", "mean")  # keys of a metric that is an object, in this order
BETTER = ("lower_is_better", "smaller_is_better", "higher_is_better", "bigger_is_better")


def matches(file: InputFile) -> bool:
    """Whether records have a map of metrics, and are several or name a commit or a time."""
    pairs = [place.rpartition("/")[::2] for place in file.places]
    tops = {top for top, key in pairs if key in MAPS}
    for top in tops & {"", "/*", *(f"/{key}/*" for key in KEYS)}:
        keys = {key for other, key in pairs if other == top}
        many = top or isinstance(file.json(), Lines)
        if (many or keys & TIED) and not matches_nyrkio(file):
            return file.places.isdisjoint(("/git_hash", "/root_group"))
    return False


def read(file: InputFile) -> Items:
    """Yield the metrics of all records."""
    for record in records(file, KEYS):
        common = _common(record, NAMES)
        for name, metric in _metrics(record):
            if isinstance(metric.value, dict) and not any(key in metric for key in VALUES):
                for inner, each in metric.items():  # a benchmark with metrics
                    yield from _values(file, _inner(common, name), inner, each)
            else:
                yield from _values(file, common, name, metric)


def _common(record: Node, names: Mapping[str, tuple[str, ...]]) -> Result:
    """Return who measured a record, when and at which commit, as a result without a value."""
    known = {name: record.first(names[name]) if name in names else Node(None) for name in NAMES}
    project, variant, task, test, run, branch = (
        known[name].optional_label()
        for name in ("project", "variant", "task", "test", "run", "branch")
    )
    if names is OF_NYRKIO or (names is NAMES and "/" in project):
        project = project_of_url(project)
    args = () if known["args"].value is None else known["args"].arguments()
    commit, time = known["commit"], known["time"].time()
    if isinstance(commit.value, dict) and names is NAMES:  # with a hash and a time
        times = [time, *(commit[key].time() for key in TIMES)]
        time = next((stated for stated in times if stated != UNKNOWN_TIME), UNKNOWN_TIME)
        commit = commit.first(HASHES)
    order = order_of(known["order"].value, known["order"].where)
    series, name = SeriesId(project, variant, task, test, "", args), commit.optional_label()
    return Result(series, 0.0, "", Direction.UNKNOWN, order, name, time, run, branch)


def _metrics(record: Node) -> Iterator[tuple[str, Node]]:
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


def _values(file: InputFile, common: Result, name: str, metric: Node) -> Items:
    """Yield the value of a metric, or its repetitions as runs."""
    common = common._replace(series=_measured(common.series, name))
    if isinstance(metric.value, dict):
        unit = metric["unit" if "unit" in metric else "units"].optional_text()
        common = common._replace(unit=unit, direction=metric.direction(("direction", *BETTER)))
        metric = metric[next((key for key in VALUES if key in metric), "value")]
    is_list = isinstance(metric.value, list)
    for index, each in enumerate(metric.entries() if is_list else [metric], 1):
        try:
            value = each.numeric()
        except FieldError as error:  # people keep texts and truth values beside the metrics
            yield each.skip(file, "value is missing" if each.value is None else error.reason)
            continue
        # Repetitions of a run are runs of their own.
        run = f"{common.run}.{index}" if is_list and common.run else common.run
        yield common._replace(value=value, run=run)


@lru_cache(1 << 14)  # most records name the same metrics
def _measured(series: SeriesId, name: str) -> SeriesId:
    """Return the identity of a metric."""
    return replace(series, measurement=name)


def _inner(common: Result, name: str) -> Result:
    """Return the identity of a benchmark of a record."""
    series = common.series
    task = "/".join(filter(None, (series.task, series.test)))
    return common._replace(series=replace(series, task=task, test=name))


TITLE = "JSON or JSON lines: records with a map of metrics, a commit and a time"
FORMAT = Format("metric-records", TITLE, "history", matches, read)


matches_nyrkio = has_places(*({f"{top}/timestamp", f"{top}/metrics/*/name"} for top in ("/*", "")))


def read_nyrkio(file: InputFile) -> Items:
    """Yield the metrics of all runs."""
    for run in records(file):
        stated = run.get("attributes", {})
        pairs = stated.mapping().items()  # some tools write lists of one value
        single = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in pairs}
        common = _common(Node(single, stated.where), OF_NYRKIO)
        common = common._replace(time=run["timestamp"].time())
        for metric in run["metrics"].entries():
            series, value = _measured(common.series, metric["name"].text()), metric["value"]
            if value.value is None:
                yield value.skip(file, "value is missing")
                continue
            unit, direction = metric["unit"].optional_text(), metric.direction(("direction",))
            described = common._replace(series=series, unit=unit, direction=direction)
            yield described._replace(value=value.number())


NYRKIO_TITLE = "Nyrkiö or Otava JSON: runs with a timestamp, a list of metrics, and attributes"
NYRKIO = Format("nyrkio", NYRKIO_TITLE, "history", matches_nyrkio, read_nyrkio)


matches_codespeed = has_places(
    *({f"{top}/commitid", f"{top}/benchmark", f"{top}/result_value"} for top in ("/*", ""))
)


def read_codespeed(file: InputFile) -> Items:
    """Yield the value of every result."""
    for result in records(file):
        value = result["result_value"]
        if value.value is None:
            yield value.skip(file, "value is missing")
            continue
        undated = {key for key in OF_CODESPEED["time"] if result[key].value in ("", "None")}
        stated = {key: cell for key, cell in result.mapping().items() if key not in undated}
        common = _common(Node(stated, result.where), OF_CODESPEED)
        if not common.series.test:
            raise FieldError(result["benchmark"].where, result["benchmark"].value, "is missing")
        unit, direction = result["units"].optional_label(), result.direction(("lessisbetter",))
        yield common._replace(value=value.numeric(), unit=unit, direction=direction)


CODESPEED_TITLE = "Codespeed: the JSON that is posted to /result/add/json/"
CODESPEED = Format("codespeed", CODESPEED_TITLE, "history", matches_codespeed, read_codespeed)

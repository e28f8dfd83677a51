"""The tests that an `otava.yaml` (formerly `hunter.yaml`) configures.

    templates: {common: {metrics: {p99: {direction: -1, scale: 1.0e-6}}}}
    tests:
      local.read:
        type: csv
        inherit: [common]
        file: data.csv
        attributes: [commit]
        metrics: {p99: {column: read_p99}}

Tests of the types `csv`, `graphite` and `json` are read; others are named and left out. Without a
type, a `prefix` or `tags` mean Graphite and a `file` means CSV, as in Fleming et al. 2023, 2.2.
There the suffixes of the server stand between the prefix and the name of a metric:

    graphite: {url: http://graphite.local, suffixes: [ebdse_read.result], days: 30}
    tests: {db.20k-rw-ts.fixed: {prefix: perf.db, metrics: {p99: {direction: -1}}}}

asks for `perf.db.ebdse_read.result.p99` of the last 30 days; without `days`, of the last 365.

A file of a stranger may be taken for one of these, so data files must lie below the folder of the
configuration or the current folder, messages show none of their content, and a server is contacted
only if the user names the format.

The answer of Graphite's render API in JSON is read, too: a list of targets with data points.

    [{"target": "perf.daily.read.p50", "datapoints": [[12.5, 1700000000], [null, 1700000060]]}]

A URL of the API as the location is downloaded first; the query names the targets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from barograph.results.fields import FieldError
from barograph.results.repeats import Results
from barograph.results.series import Direction, SeriesId
from barograph.runtime.errors import DataError, SourceError
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.content import download, inner_file, is_url, shown_url
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.metric_records import read_nyrkio
from barograph.sources.formats.nodes import Node, has_places
from barograph.sources.formats.roles import Roles, ValueColumn
from barograph.sources.formats.rows import read_delimited
from barograph.sources.formats.tables import read_roles
from barograph.sources.formats.yaml_text import decode_yaml
from barograph.sources.report import Skip

TESTS = re.compile(r"^tests\s*:", re.MULTILINE)
TEST_KEYS = re.compile(r"\b(?:type|inherit)\s*:")
HIDDEN = "(not shown)"
OUTSIDE = "is not below the folder of the configuration or the current folder"
NAMES = ("otava.yaml", "otava.yml", "hunter.yaml")  # in a folder
COMMITS = ("commit", "git_commit", "commit_id", "commit_hash", "git_hash", "sha", "revision")
DAYS = 365  # that a server is asked for
POINT = 2  # numbers of a data point: the value and the time
UNKNOWN = "null"  # what Otava's scripts write


Metric = tuple[ValueColumn, Direction, float]  # with the factor of its values


def _configuration(file: InputFile) -> InputFile:
    """Return the file, or that of a folder which has one of the usual names."""
    paths = [file.folder / name for name in NAMES] if file.folder else []
    found = next((path for path in paths if path.is_file()), None)
    return file if found is None else inner_file(file, found, file.name)


def matches(file: InputFile) -> bool:
    """Whether a file is YAML with tests of Otava, or a folder has one under its usual name."""
    if file.folder:
        return any((file.folder / name).is_file() for name in NAMES)
    return bool(TESTS.search(file.head) and TEST_KEYS.search(file.head))


def read(file: InputFile) -> Items:
    """Yield the results of all tests that can be read."""
    file = _configuration(file)
    config = Node(decode_yaml(file.text(), file.name))
    readers = {"csv": _of_file, "json": _of_file, "graphite": _of_server}
    readable = False
    for name, test in _tests(config):
        kind = _kind(test)
        if kind in readers:
            readable = True
            yield from readers[kind](file, config, name, test)
        else:
            yield test["type"].skip(file, "test type is not supported")
    if not readable:
        raise DataError(f"{file.name}: no test of the type csv, graphite or json")


def _kind(test: Node) -> str:
    """Return the type of a test: the one it states, or the one that its settings mean."""
    if test["type"].value is None:
        implied = {"prefix": "graphite", "tags": "graphite", "file": "csv"}
        found = next((kind for key, kind in implied.items() if key in test), None)
        test.value = test.mapping() | {"type": found}
    return test["type"].text()


def _tests(config: Node) -> Iterator[tuple[str, Node]]:
    """Yield each test with the templates that it inherits merged in."""
    templates = config.get("templates", {})
    for name, test in config.get("tests", {}).items():
        inherited = test.get("inherit", [])
        names = inherited.value if isinstance(inherited.value, list) else [inherited.value]
        merged: dict[str, Any] = {}
        for template in names:
            if not isinstance(template, str) or template not in templates:
                raise FieldError(inherited.where, template, "is not one of the templates")
            merged = _merged(merged, templates[template].mapping())
        yield name, Node(_merged(merged, test.mapping()), test.where)


def _merged(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return two mappings merged: the second has priority, mappings in both are merged, too."""
    both = [key for key in base.keys() & other.keys() if isinstance(base[key], dict)]
    inner = {key: _merged(base[key], other[key]) for key in both if isinstance(other[key], dict)}
    return base | other | inner


def _metrics(test: Node, key: str) -> list[Metric]:
    """Return the metrics of a test: a list of names, or a mapping of names to settings.

    Otava takes higher for better where no direction is given; here the unit decides, or an option.

    Args:
        test: The test, with its templates.
        key: The setting that holds the source: "column" of a CSV, or "suffix" of a Graphite path.
    """
    stated = test["metrics"]
    if isinstance(stated.value, list):
        names = [name.label() for name in stated.entries()]
        return [(ValueColumn(name, name), Direction.UNKNOWN, 1.0) for name in names]
    metrics = []
    for name, about in stated.items():
        settings = Node({}, about.where) if about.value is None else about
        source, unit = (settings[field].optional_text() for field in (key, "unit"))
        scale = settings["scale"].numeric() if "scale" in settings else 1.0
        column = ValueColumn(source or name, name, unit)
        metrics.append((column, settings.direction(("direction",)), scale))
    return metrics


def _of_file(file: InputFile, config: Node, name: str, test: Node) -> Items:
    """Yield the results of the data files of a test; skips and errors show no value of them."""
    is_csv = test["type"].value == "csv"
    for path in _paths(file, test["file"]):
        data = inner_file(file, path, f"{file.name}: {path.name}")
        try:
            for item in _csv(data, config, name, test) if is_csv else read_nyrkio(data):
                if isinstance(item, Skip):
                    yield replace(item, value=HIDDEN)
                elif isinstance(item, Result) and not item.series.test:
                    yield item._replace(series=replace(item.series, test=name))
                else:
                    yield item
        except FieldError as fault:
            raise FieldError(fault.field, HIDDEN, fault.reason) from None


def _paths(file: InputFile, stated: Node) -> list[Path]:
    """Return the data files of a test, relative to the configuration, else to this folder."""
    folders = [Path()] if file.path is None else [file.path.parent, Path()]
    found: list[Path] = []
    for folder in folders:
        names = sorted(glob(stated.text(), root_dir=folder))  # noqa: PTH207
        found = found or [folder / name for name in names if (folder / name).is_file()]
    if not found:
        raise FieldError(stated.where, stated.value, "is not an existing file")
    roots = [folder.resolve() for folder in folders]
    if not all(any(path.resolve().is_relative_to(root) for root in roots) for path in found):
        raise FieldError(stated.where, stated.value, OUTSIDE)
    return found


def _csv(data: InputFile, config: Node, name: str, test: Node) -> Items:
    """Yield the results of one CSV file: a table whose configuration says what its columns are."""
    options = test.get("csv_options", {})
    options.value = options.mapping() | config.get("csv", {}).mapping()
    delimiter = _character(options["delimiter"], ",")
    quotes = _character(options.first(("quote_char", "quotechar")), '"')
    table_options = replace(data.options, delimiter=delimiter, quote=quotes)
    table = read_delimited(replace(data, options=table_options))
    header, metrics = list(table.cells), _metrics(test, "column")
    attributes = [item.label() for item in test.get("attributes", []).entries()]
    fields: dict[str, str] = {role: role for role in ("time", "branch", "run") if role in header}
    if test["time_column"].value is not None:
        fields["time"] = test["time_column"].text()
    values = [value for value, _, _ in metrics]
    needed = [*(value.column for value in values), *attributes, fields.get("time", header[0])]
    missing = next((title for title in needed if title not in header), None)
    if missing is not None:
        raise DataError(f"{data.name}: no column {missing!r} in the first line")
    commits = [title for title in (*attributes, *header) if title.lower() in COMMITS]
    fields |= {"commit": commits[0]} if commits else {}
    if not metrics or not table.rows:
        yield from table.skips
        return
    scales = np.array([scale for _, _, scale in metrics])
    directions = np.array([direction for _, direction, _ in metrics], dtype=np.int64)
    for item in read_roles(data, table, Roles(fields, values), name):
        if isinstance(item, Results):
            with np.errstate(over="ignore"):  # an error that names the file follows
                scaled = item.values * scales[item.owners]
            yield replace(item, values=scaled, directions=directions)
        else:
            yield item


def _character(stated: Node, default: str) -> str:
    """Return a setting of CSV files."""
    value = default if stated.value is None else stated.value
    if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0":
        raise FieldError(stated.where, value, "is not a single character")
    return value


def _of_server(file: InputFile, config: Node, name: str, test: Node) -> Items:
    """Yield the results of one test, which are asked for at the server that `url` names.

    Raises:
        SourceError: The server cannot be reached.
        DataError: The user did not name the format, or the answer is not valid.
    """
    if file.options.kind != "otava":
        raise DataError(
            f'tests.{name} asks a server: add --kind otava, or kind = "otava" to [input] of '
            "barograph.toml, to contact it"
        )
    url, period = _server(config["graphite"]["url"]), _period(config["graphite"]["days"])
    prefix = test["prefix"].text().replace("%{BRANCH}", "main")
    answers = []
    for metric in _server_metrics(config, test):
        target = quote(f"{prefix}.{metric[0].column}", safe="*{},()")
        query = f"render?target={target}&format=json&{period}"
        answers += [(metric, list(_points(answer))) for answer in _ask(file, url, query)]
    # Graphite rounds times to the steps between points, of which gaps are some.
    pairs = (pair for _, points in answers for pair in pairwise(time for _, time in points))
    step = min((later - earlier for earlier, later in pairs if later > earlier), default=1000)
    events: dict[int, tuple[str, str]] = {}
    if test["tags"].value:
        try:
            events = _events(file, url, test["tags"], step, period)
        except SourceError as error:
            yield Node(str(error), test["tags"].where).skip(file, "no events")
    for (column, direction, scale), points in answers:
        series = SeriesId("", "", "", name, column.measurement)
        common = Result(series, 0.0, column.unit, direction)
        for value, time in points:
            if value.value is not None:
                commit, branch = events.get(time // step, ("", ""))
                scaled = value.number() * scale
                yield common._replace(value=scaled, commit=commit, time=time, branch=branch)


def _server_metrics(config: Node, test: Node) -> Iterator[Metric]:
    """Yield the metrics of a test; those without a suffix of their own are below the server's."""
    common = [entry.text() for entry in config["graphite"].get("suffixes", []).entries()]
    for metric in _metrics(test, "suffix"):
        value = metric[0]
        is_own = value.column != value.measurement
        if is_own or not common:
            yield metric
        for suffix in [] if is_own else common:
            path = f"{suffix}.{value.column}"
            name = value.measurement if len(common) == 1 else path
            yield value._replace(column=path, measurement=name), *metric[1:]


def _period(days: Node) -> str:
    """Return the part of a query that limits its answer to the last days."""
    count = DAYS if days.value is None else days.value
    if type(count) is not int or count < 1:
        raise FieldError(days.where, count, "is not a number of days, at least 1")
    return f"from=-{count}d&until=now"


def _server(address: Node) -> str:
    """Return the address of the server, with variables of the environment filled in."""
    stated = address.text()
    url = os.path.expandvars(stated)
    if not is_url(url):
        shown = stated if "$" in stated else shown_url(url)
        raise FieldError(address.where, shown, "is not a URL of http or https")
    return url if url.endswith("/") else f"{url}/"


def _ask(file: InputFile, url: str, query: str) -> Iterator[Node]:
    """Yield the entries of the array that the server answers a query with."""
    shown = shown_url(f"{url}{query}")
    body = download(f"{url}{query}")
    yield from Node(decode_json(body, f"{file.name}: {shown}"), f"{shown}: ").entries()


def _events(
    file: InputFile, url: str, tags: Node, step: int, period: str
) -> dict[int, tuple[str, str]]:
    """Return the commits and branches by their times, in steps between points."""
    quoted = "+".join(quote(tag.text()) for tag in tags.entries())
    known = {}
    for event in _ask(file, url, f"events/get_data?tags={quoted}&{period}&set=intersection"):
        data = Node(_data(event["data"].value), f"{event.where}.data")
        names = (data[key].optional_text() for key in ("commit", "branch"))
        commit, branch = ("" if name == UNKNOWN else name for name in names)
        known[event["when"].time() // step] = commit, branch
    return known


def _data(value: object) -> object:
    """Return the data of an event: an object, its JSON, or a Python literal as Otava expects."""
    try:
        data = decode_yaml(value, "event") if isinstance(value, str) else value
    except DataError:
        data = None
    return data if isinstance(data, dict) else {}


TITLE = "Otava: an otava.yaml (or hunter.yaml), whose csv, graphite and json tests are read"
FORMAT = Format("otava", TITLE, "history", matches, read)


matches_graphite = has_places({"/*/datapoints/*/*"}, {"/*/target", "/*/datapoints"})


def read_graphite(file: InputFile) -> Items:
    """Yield the points of all targets; a gap (null) is no result."""
    for target in Node(file.json()).entries():
        series = SeriesId("", "", "", target["target"].text(), "")
        for value, time in _points(target):
            if value.value is not None:
                yield Result(series, value.number(), time=time)


def _points(target: Node) -> Iterator[tuple[Node, int]]:
    """Yield the value and the time of each data point; the value of a gap is missing."""
    for point in target["datapoints"].entries():
        if not isinstance(point.value, list) or len(point.value) != POINT:
            raise FieldError(point.where, point.value, "is not a value and a time")
        value, moment = point.entries()
        yield value, moment.time()


GRAPHITE_TITLE = "Graphite render API: the URL of a query, or its answer saved with format=json"
GRAPHITE = Format("graphite", GRAPHITE_TITLE, "history", matches_graphite, read_graphite)

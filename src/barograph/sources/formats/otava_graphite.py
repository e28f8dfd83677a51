"""Tests of Otava whose results are in Graphite: the queries, and events that name commits."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from barograph.results.series import SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError, SourceError
from barograph.sources.fields import FieldError
from barograph.sources.formats import graphite
from barograph.sources.formats.base import InputFile, ResultBatch
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.otava_metrics import Metric, metrics_of
from barograph.sources.formats.urls import is_url, shown_url
from barograph.sources.report import Skip

PERIOD = "from=-365d&until=now"
QUERY = 3_500  # characters of targets in one URL; servers refuse long ones
DATA = 10_000  # characters of an event's data
UNKNOWN = "null"  # what Otava's scripts write
Events = dict[int, tuple[str, str]]  # commits and branches


def read(file: InputFile, config: Node, name: str, test: Node) -> Iterator[ResultBatch | Skip]:
    """Yield the results of one test, which are asked for at the server that `url` names.

    Args:
        file: The configuration.
        config: The whole configuration.
        name: The name of the test.
        test: The test, with its templates.

    Raises:
        SourceError: The server cannot be reached.
        DataError: The user did not name the format, or the answer is not valid.
    """
    if file.options.kind != "otava":
        raise DataError(
            f'tests.{name} asks a server: add --kind otava, or kind = "otava" to [input] of '
            "barograph.toml, to contact it"
        )
    url = _server(config["graphite"]["url"])
    paths = _paths(config, test)
    queries = (f"{query}&format=json&{PERIOD}" for query in _queries(list(paths)))
    answers = [answer for query in queries for answer in _ask(file, url, "render", query)]
    targets: list[graphite.Target] = []
    for answer in answers:
        metric = paths.get(answer["target"].text())
        if metric is None:
            yield answer["target"].skip(file, "not a metric of the test")
            continue
        series = SeriesId("", "", "", name, metric.name)
        described = metric.direction, metric.unit, metric.scale
        targets.append(graphite.Target(series, answer["datapoints"], *described))
    batches = list(graphite.batches(targets))
    if not test["tags"].value:
        yield from batches
        return
    events: Events = {}
    step = _resolution(targets)
    try:
        events = _events(file, url, test["tags"], step)
    except SourceError as error:
        yield Node(str(error), test["tags"].where).skip(file, "no events")
    for batch in batches:
        named = [events.get(time // step, ("", "")) for time in batch.times.tolist()]
        commits = Texts.from_strings(commit for commit, _branch in named)
        branches = Texts.from_strings(branch for _commit, branch in named)
        yield batch._replace(commits=commits, branches=branches)


def _server(address: Node) -> str:
    """Return the address of the server, with variables of the environment filled in."""
    stated = address.text()
    url = os.path.expandvars(stated)
    if not is_url(url):
        shown = stated if "$" in stated else shown_url(url)
        raise FieldError(address.where, shown, "is not a URL of http or https")
    return url if url.endswith("/") else f"{url}/"


def _paths(config: Node, test: Node) -> dict[str, Metric]:
    """Return the metrics by their targets: `targets`, or `prefix` with suffixes."""
    if test["targets"].value is not None:
        names = [target.text() for target in test["targets"].entries()]
        return {name: Metric(name, name) for name in names}
    prefix = test["prefix"].text().replace("%{BRANCH}", "main")
    if test["metrics"].value is not None:
        metrics = metrics_of(test, "suffix")
    else:
        suffixes = test["suffixes"] if "suffixes" in test else config["graphite"]["suffixes"]
        metrics = [Metric(suffix.text(), suffix.text()) for suffix in suffixes.entries()]
    return {f"{prefix}.{metric.source}": metric for metric in metrics}


def _queries(targets: list[str]) -> Iterator[str]:
    """Yield queries for all targets, none of which is too long for a URL."""
    query: list[str] = []
    size = 0
    for target in targets:
        part = f"target={quote(target, safe='*{},()')}"
        if query and size + len(part) > QUERY:
            yield "&".join(query)
            query, size = [], 0
        query.append(part)
        size += len(part) + 1
    if query:
        yield "&".join(query)


def _ask(file: InputFile, url: str, path: str, query: str) -> Iterator[Node]:
    """Return the entries of the array that the server answers a query with."""
    from barograph.sources.formats.download import download

    shown = f"{shown_url(url)}{path}"
    body = download(f"{url}{path}?{query}")
    return Node(decode_json(body, f"{file.name}: {shown}"), f"{shown}: ").entries()


def _resolution(targets: list[graphite.Target]) -> int:
    """Return the milliseconds between points, also gaps, which Graphite rounds the times to."""
    series = (
        [time_ms(point[1], target.points.where) for point in target.points.array()]
        for target in targets
    )
    steps = {later - earlier for times in series for earlier, later in pairwise(times)}
    return min((step for step in steps if step > 0), default=1000)


def _events(file: InputFile, url: str, tags: Node, step: int) -> Events:
    """Return the commits and branches by their times, in steps between points."""
    quoted = "+".join(quote(tag.text()) for tag in tags.entries())
    query = f"tags={quoted}&{PERIOD}&set=intersection"
    known: Events = {}
    for event in _ask(file, url, "events/get_data", query):
        data = Node(_data(event["data"].value), f"{event.where}.data")
        names = (data[key].optional_text() for key in ("commit", "branch"))
        commit, branch = ("" if name == UNKNOWN else name for name in names)
        known[event["when"].time() // step] = commit, branch
    return known


def _data(value: object) -> dict[str, Any]:
    """Return the data of an event: an object, its JSON, or a Python literal as Otava expects."""
    data = value
    if isinstance(value, str) and len(value) <= DATA:
        try:
            data = decode_json(value, "event")
        except DataError:
            try:
                data = ast.literal_eval(value)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                data = None
    return data if isinstance(data, dict) else {}

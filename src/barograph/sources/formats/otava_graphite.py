"""Tests of Otava whose results are in Graphite: the queries, and events that name commits."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from barograph.errors import DataError, SourceError
from barograph.series import SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats import graphite
from barograph.sources.formats.base import InputFile, ResultBatch, decode_json
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import array, at, mapping, optional_text, skipped, text
from barograph.sources.formats.otava_metrics import Metric, metrics_of
from barograph.sources.formats.urls import is_url, shown_url
from barograph.texts import Texts

PERIOD = "from=-365d&until=now"
QUERY = 3_500  # characters of targets in one URL; servers refuse long ones
DATA = 10_000  # characters of an event's data
Events = dict[int, tuple[str, str]]  # commits and branches


def read(
    file: InputFile, config: Mapping[str, Any], name: str, test: Mapping[str, Any]
) -> Iterator[ResultBatch | Skip]:
    """Yield the results of one test, which are asked for at the server that `url` names.

    Args:
        file: The configuration.
        config: The whole configuration.
        name: The name of the test.
        test: The test, with its templates.

    Raises:
        SourceError: The server cannot be reached.
        DataError: The answer is not valid.
    """
    where = at("tests", name)
    url = _server(config)
    paths = _paths(config, test, where)
    answers = [answer for query in _queries(list(paths)) for answer in _ask(file, url, query)]
    targets: list[graphite.Target] = []
    for index, answer in enumerate(answers):
        place = f"{shown_url(url)}: [{index}]"
        target = text(answer.get("target"), f"{place}.target")
        metric = paths.get(target)
        if metric is None:
            yield skipped(file, f"{place}.target", target, "not a metric of the test")
            continue
        series = SeriesId("", "", "", name, metric.name)
        points = array(answer.get("datapoints"), f"{place}.datapoints")
        described = metric.direction, metric.unit, metric.scale
        targets.append(graphite.Target(series, points, f"{place}.datapoints", *described))
    batches = list(graphite.batches(targets))
    if not test.get("tags"):
        yield from batches
        return
    events: Events = {}
    step = _resolution(targets)
    try:
        events = _events(file, url, test, where, step)
    except SourceError as error:
        yield skipped(file, f"{where}.tags", str(error), "no events")
    for batch in batches:
        named = [events.get(time // step, ("", "")) for time in batch.times.tolist()]
        commits = Texts.from_strings(commit for commit, _branch in named)
        branches = Texts.from_strings(branch for _commit, branch in named)
        yield batch._replace(commits=commits, branches=branches)


def _server(config: Mapping[str, Any]) -> str:
    """Return the address of the server, with variables of the environment filled in."""
    settings = mapping(config.get("graphite"), "graphite")
    stated = text(settings.get("url"), "graphite.url")
    url = os.path.expandvars(stated)
    if not is_url(url):
        reason = "is not a URL of http or https"
        raise FieldError("graphite.url", stated if "$" in stated else shown_url(url), reason)
    return url if url.endswith("/") else f"{url}/"


def _paths(config: Mapping[str, Any], test: Mapping[str, Any], where: str) -> dict[str, Metric]:
    """Return the metrics by their targets: `targets`, or `prefix` with suffixes."""
    if test.get("targets") is not None:
        targets = array(test["targets"], f"{where}.targets")
        names = [text(target, f"{where}.targets") for target in targets]
        return {name: Metric(name, name) for name in names}
    prefix = text(test.get("prefix"), f"{where}.prefix").replace("%{BRANCH}", "main")
    if test.get("metrics") is not None:
        metrics = metrics_of(test, where, "suffix")
    else:
        general = mapping(config.get("graphite") or {}, "graphite").get("suffixes")
        suffixes = array(test.get("suffixes", general), f"{where}.suffixes")
        metrics = [Metric(text(s, f"{where}.suffixes"), s) for s in suffixes]
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


def _ask(file: InputFile, url: str, query: str) -> list[dict[str, Any]]:
    """Return the targets that the server answers a query with."""
    from barograph.sources.formats.download import download

    shown = f"{shown_url(url)}render"
    body = download(f"{url}render?{query}&format=json&{PERIOD}")
    answer = decode_json(body, f"{file.name}: {shown}")
    return [mapping(item, at(shown, index)) for index, item in enumerate(array(answer, shown))]


def _resolution(targets: list[graphite.Target]) -> int:
    """Return the milliseconds between points, also gaps, which Graphite rounds the times to."""
    series = ([time_ms(point[1], target.where) for point in target.points] for target in targets)
    steps = {later - earlier for times in series for earlier, later in pairwise(times)}
    return min((step for step in steps if step > 0), default=1000)


def _events(file: InputFile, url: str, test: Mapping[str, Any], where: str, step: int) -> Events:
    """Return the commits and branches by their times, in steps between points."""
    tags = [text(tag, f"{where}.tags") for tag in array(test["tags"], f"{where}.tags")]
    query = f"tags={'+'.join(quote(tag) for tag in tags)}&{PERIOD}&set=intersection"
    from barograph.sources.formats.download import download

    shown = f"{shown_url(url)}events/get_data"
    body = download(f"{url}events/get_data?{query}")
    events = array(decode_json(body, f"{file.name}: {shown}"), shown)
    known: Events = {}
    for index, item in enumerate(events):
        event = mapping(item, at(shown, index))
        data = _data(event.get("data"))
        commit = optional_text(data.get("commit"), f"{at(shown, index)}.data.commit")
        branch = optional_text(data.get("branch"), f"{at(shown, index)}.data.branch")
        time = time_ms(event.get("when"), f"{at(shown, index)}.when")
        unknown = "null"  # what Otava's scripts write
        known[time // step] = (
            commit if commit != unknown else "",
            branch if branch != unknown else "",
        )
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

"""Read any source into a history, or write its three Parquet tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from barograph.results.candidates import Candidates
from barograph.results.fields import (
    FieldError,
    identity_of,
    order_of,
    stated_direction,
    text_of,
    time_of,
    value_of,
    verdict_of,
)
from barograph.results.history import History
from barograph.results.series import Direction, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.base import Document, Source
from barograph.sources.formats.base import Judgement, ReadOptions
from barograph.sources.formats.candidates import FIRST_POINT, place_candidates
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.report import KINDS, LoadReport, Place, Skip, check_share

Row = tuple[int, int, float, str]  # order, time, value, commit
Read = TypeVar("Read")
OPTIONS = {field.name for field in fields_of(ReadOptions)} - {"kind", "max_skipped_share"}
TIME_FIELDS = ("commit_date", "evg_create_date")
IDENTITY = "project/variant/task/test/measurement/args"
FIRST = "the first point of its series"
SEEN = "an earlier series has the same identity"


class Files:
    """A file, a folder or a pattern such as `runs/*.json`, read as one history.

    Args:
        location: The path, the pattern or a URL.
        form: The name of the format; by default it is recognised by the content.
        **options: Other options of reading, as in `ReadOptions`.

    Raises:
        ConfigError: There is no such option, or its value is not allowed.
    """

    def __init__(self, location: str, *, form: str = "", **options: Any) -> None:
        if unknown := options.keys() - OPTIONS:
            allowed = ", ".join(sorted({"form", *OPTIONS}))
            raise ConfigError(f"source files: no option {min(unknown)!r}; options: {allowed}")
        self.name = location
        lists = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
        self._options = ReadOptions(kind=form, **options | lists)

    def read(self, max_skipped_share: float = 1.0) -> FilesRead:
        """Read the files into memory.

        Args:
            max_skipped_share: The maximum share of results that may be unusable.
        """
        options = replace(self._options, max_skipped_share=max_skipped_share)
        return read_files([self.name], options, context=RunContext())


def load(
    source: Source | Files, folder: str | Path, *, max_skipped_share: float = 0.05
) -> LoadReport:
    """Read a source once and write `series`, `points` and `candidates`, all three or none.

    Args:
        source: From `open_source`, or any other `Source`.
        folder: The folder for the tables. It is created if missing; older tables are replaced.
        max_skipped_share: As for `read_source`.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
        ConfigError: The share is not between 0 and 1.
    """
    history, report = read_source(source, max_skipped_share=max_skipped_share)
    history.write(folder)
    return report


def read_source(
    source: Source | Files, *, max_skipped_share: float = 0.05
) -> tuple[History, LoadReport]:
    """Read a source once into memory; return the history, and what was read and skipped.

    Args:
        source: From `open_source`, or any other `Source`.
        max_skipped_share: The maximum share of the series, of the points and of the candidates
            that may be skipped as unusable.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
        ConfigError: The share is not between 0 and 1.
    """
    check_share(max_skipped_share)
    if isinstance(source, Files):
        files = source.read()
        history, report = files.history, files.report
        report.read["series"] += len(history)
        report.labels = Counter(history.candidates.verdict.tolist())
    else:
        report = LoadReport(source.name)
        history = _read_points(source, report)
        report.check_shares(("series", "points"), max_skipped_share)
        if not len(history):
            raise DataError(f"{source.name}: contains no time series")
        history = replace(history, candidates=_read_candidates(source, history, report))
    report.corrected = +report.corrected
    report.verdicts = Counter(history.candidates.verdict.tolist())
    sizes = len(history), history.values.size, len(history.candidates)
    report.kept = Counter(dict(zip(KINDS, sizes, strict=True)))
    report.check_shares(KINDS, max_skipped_share)
    return history, report


def _read_points(source: Source, report: LoadReport) -> History:
    """Read the series of a source; count those that are skipped."""
    directions: dict[SeriesId, Direction] = {}
    sizes: list[int] = []
    rows: list[Row] = []
    for item in source.time_series():
        report.read["series"] += 1
        if isinstance(item, Skip):
            report.skip("series", item)
            continue
        try:
            identity, direction, of_series = _read_series(item, report)
            if identity in directions:
                seen = Skip(item.place, IDENTITY, str(identity), SEEN)
                report.skip("points", seen, len(of_series))
                raise FieldError(IDENTITY, str(identity), SEEN)
        except FieldError as fault:
            report.skip("series", _skip(item, fault))
            continue
        directions[identity] = direction
        sizes.append(len(of_series))
        rows += of_series
    orders, times, values, commits = zip(*rows, strict=True) if rows else ((), (), (), ())
    return History(
        ids=list(directions),
        directions=np.array(list(directions.values()), dtype=np.int64),
        offsets=np.cumsum([0, *sizes]),
        orders=np.array(orders, dtype=np.int64),
        values=np.array(values, dtype=np.float64),
        commits=Texts.from_strings(commits),
        times=np.array(times, dtype=np.int64),
    )


def _skip(document: Document, fault: FieldError) -> Skip:
    return Skip(document.place, fault.field, fault.value, fault.reason)


def _read_series(document: Document, report: LoadReport) -> tuple[SeriesId, Direction, list[Row]]:
    """Read a document point by point; count everything that is skipped or corrected.

    Raises:
        FieldError: The series cannot be used.
    """
    place, fields = document
    data = fields.get("data")
    if not isinstance(data, list):
        raise FieldError("data", data, "data is not a list")
    report.read["points"] += len(data)
    try:
        identity, direction = identity_of(fields), stated_direction(fields.get("direction"))
    except FieldError:
        if data:
            report.skip("points", Skip(place, "data", data, "its series was skipped"), len(data))
        raise
    rows = list(_rows(place, data, report))
    if not rows:
        raise FieldError("data", data, "no usable point")
    return identity, direction, _in_order(rows, report)


def _rows(place: Place, data: Sequence[Any], report: LoadReport) -> Iterator[Row]:
    """Read the points of a series; count those that are skipped."""
    unordered = not any(isinstance(p, Mapping) and p.get("order") is not None for p in data)
    for number, point in enumerate(data):
        prefix = f"data.{number}"
        try:
            if not isinstance(point, Mapping):
                raise FieldError(prefix, point, "point is not a document")
            order = number if unordered else order_of(point.get("order"), f"{prefix}.order")
            if order is None:
                raise FieldError(f"{prefix}.order", None, "order is missing")
            value = value_of(point.get("value"), f"{prefix}.value")
        except FieldError as fault:
            report.skip("points", Skip(place, fault.field, fault.value, fault.reason))
            continue
        when = next((point[name] for name in TIME_FIELDS if point.get(name) is not None), None)
        commit = _or_missing(text_of, point.get("commit"), "commits", report)
        report.corrected["points without an order, numbered as listed"] += unordered
        yield order, _or_missing(time_of, when, "times", report), value, commit


def _or_missing(
    read: Callable[[object, str], Read], value: object, what: str, report: LoadReport
) -> Read:
    """Read a field; one that cannot be read is counted and taken for a missing one."""
    try:
        return read(value, what)
    except FieldError:
        report.corrected[f"unreadable {what}, left empty"] += 1
        return read(None, what)


def _in_order(rows: list[Row], report: LoadReport) -> list[Row]:
    """Sort by order; of several points with the same order keep the last listed, a rerun."""
    kept: dict[int, Row] = {}
    last = rows[0][0]
    for row in rows:
        report.corrected["points out of order, sorted"] += row[0] < last
        last = max(last, row[0])
        if row[0] in kept:
            same = "equal" if kept[row[0]][2] == row[2] else "different"
            report.corrected[f"duplicate points of {same} value, the last kept"] += 1
        kept[row[0]] = row
    return [kept[order] for order in sorted(kept)]


def _read_candidates(source: Source, history: History, report: LoadReport) -> Candidates:
    """Read the candidates and place them at their points; count those that are skipped."""
    numbers = {identity: number for number, identity in enumerate(history.ids)}
    read: list[tuple[Place, Judgement]] = []
    for item in source.change_points():
        report.read["candidates"] += 1
        if isinstance(item, Skip):
            report.skip("candidates", item)
            continue
        try:
            read.append((item.place, _read_judgement(item.fields, numbers, report)))
        except FieldError as fault:
            report.skip("candidates", _skip(item, fault))
    judgements = [judgement for _, judgement in read]
    owners = [numbers[judgement.series] for judgement in judgements]
    candidates, unplaced, corrected = place_candidates(history, owners, judgements)
    report.corrected.update(corrected)
    for k, why in unplaced:
        place, judgement = read[k]
        value = judgement.commit if judgement.order is None else judgement.order
        reason = FIRST if why == FIRST_POINT else "no such point in its series"
        report.skip("candidates", Skip(place, judgement.where, value, reason))
    return candidates


def _read_judgement(
    fields: Mapping[str, Any], known: Collection[SeriesId], report: LoadReport
) -> Judgement:
    """Read the series, the point and the verdict of a change point.

    Raises:
        FieldError: The document cannot be used.
    """
    info, prefix = fields.get("time_series_info"), "time_series_info"
    if info is None:
        identity = identity_of(fields)
    else:
        identity = identity_of(_mapping(info, prefix), f"{prefix}.")
    if identity not in known:
        raise FieldError(prefix, str(identity), "no such series")
    triage = _mapping(fields.get("triage"), "triage")
    status = triage.get("triage_status")
    verdict = verdict_of(status, "triage.triage_status")
    order = order_of(fields.get("order"), "order")
    commit = text_of(fields.get("commit"), "commit")
    if order is None and not commit:
        raise FieldError("order", None, "neither order nor commit")
    report.labels["none" if status is None else str(status)] += 1
    algorithm = fields.get("algorithm")
    parts = [algorithm]
    if isinstance(algorithm, Mapping):
        parts = [algorithm.get("name"), algorithm.get("version")]
    name = " ".join(str(part) for part in parts if part is not None)
    return Judgement(
        identity,
        verdict,
        "commit" if order is None else "order",
        commit=commit,
        order=order,
        algorithm=name.encode(errors="replace").decode(),
        calculated_on=_or_missing(time_of, fields.get("calculated_on"), "times", report),
        triaged_on=_or_missing(time_of, triage.get("triaged_on"), "times", report),
    )


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(field, value, "not a document")
    return value

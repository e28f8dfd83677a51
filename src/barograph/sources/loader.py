"""Read any source into a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields as fields_of
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from barograph.results.candidates import Candidates
from barograph.results.fields import EPOCH as EPOCH_UTC
from barograph.results.fields import (
    MILLISECOND,
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
from barograph.results.series import LARGEST_ORDER, Direction, Floats, Ints, SeriesId
from barograph.results.texts import Codes, Texts
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.base import Judgement, ReadOptions
from barograph.sources.formats.candidates import FIRST_POINT, place_candidates
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.report import KINDS, LoadReport, Place, Skip, check_share

if TYPE_CHECKING:
    from barograph.sources.mongodump import Document, Source

Row = tuple[int, int, float, str]  # order, time, value, commit
Columns = tuple[Ints, Ints, Floats, Codes]  # the same
OPTIONS = {field.name for field in fields_of(ReadOptions)} - {"kind", "max_skipped_share"}
TIME_FIELDS = ("commit_date", "evg_create_date")
# Points with all of these fields, of these types, are read column by column.
PLAIN_FIELDS = itemgetter("order", TIME_FIELDS[0], "value", "commit")
PLAIN_KINDS = ({"int", "Int64"}, {"float", "int", "Int64"}, {"str"})  # times are datetimes
EPOCH = EPOCH_UTC.replace(tzinfo=None)  # BSON has no zones
INFO = "time_series_info"  # else the identity is in the change point itself
IDENTITY = "project/variant/task/test/measurement/args"
_NO_POINTS = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int32)
FIRST = "the first point of its series"


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


def read_source(
    source: Source | Files, *, max_skipped_share: float = 0.05
) -> tuple[History, LoadReport]:
    """Read a source once into memory; return the history, and what was read and skipped.

    Args:
        source: From `open_source`.
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


def _documents(
    items: Iterator[Document | Skip], kind: str, report: LoadReport
) -> Iterator[Document]:
    """Yield the documents of a collection; count them, and those that are skipped."""
    for item in items:
        report.read[kind] += 1
        if isinstance(item, Skip):
            report.skip(kind, item)
        else:
            yield item


@contextmanager
def _skipping(report: LoadReport, kind: str, place: Place, prefix: str = "") -> Iterator[None]:
    """Count what the block cannot use because of an invalid field."""
    try:
        yield
    except FieldError as fault:
        field = f"{prefix}{fault.field}".rstrip(".")
        report.skip(kind, Skip(place, field, fault.value, fault.reason))


def _read_points(source: Source, report: LoadReport) -> History:
    """Read the series of a source; count those that are skipped."""
    directions: dict[SeriesId, Direction] = {}
    parts: list[Columns] = [_NO_POINTS]
    known = {"": 0}  # the code of each commit
    for place, fields in _documents(source.time_series(), "series", report):
        with _skipping(report, "series", place):
            data = fields.get("data")
            if not isinstance(data, list):
                raise FieldError("data", data, "data is not a list")
            report.read["points"] += len(data)
            try:
                identity, direction = _described(fields, directions)
            except FieldError:
                skip = Skip(place, "data", data, "its series was skipped")
                report.skip("points", skip, len(data))
                raise
            columns = _plain_columns(data) or _checked_columns(place, data, report)
            if columns is None:
                raise FieldError("data", data, "no usable point")
            directions[identity] = direction
            codes = [known.setdefault(commit, len(known)) for commit in columns[-1]]
            parts.append((*columns[:-1], np.array(codes, dtype=np.int32)))
    orders, times, values, commits = (np.concatenate(each) for each in zip(*parts, strict=True))
    return History(
        ids=list(directions),
        directions=np.array(list(directions.values()), dtype=np.int64),
        offsets=np.cumsum([part[0].size for part in parts]),
        orders=orders,
        values=values,
        commits=Texts(commits, list(known)),
        times=times,
    )


def _described(
    fields: Mapping[str, Any], known: Mapping[SeriesId, Direction]
) -> tuple[SeriesId, Direction]:
    """Return the identity and the direction of a series, of which there must be only one."""
    identity = identity_of(fields)
    if identity in known:
        raise FieldError(IDENTITY, str(identity), "an earlier series has the same identity")
    return identity, stated_direction(fields.get("direction"))


def _plain_columns(data: list[Any]) -> tuple[Ints, Ints, Floats, Sequence[str]] | None:
    """Return the columns of points that need no correction, as in MongoDB's own data.

    Their fields have the usual types, and their orders rise. They are checked column by column,
    several times as fast as one by one; for any other points the result is None.
    """
    try:
        order, date, value, commit = zip(*map(PLAIN_FIELDS, data), strict=True)
        times = [(moment - EPOCH) // MILLISECOND for moment in date]
    except (KeyError, TypeError, ValueError):
        return None
    for column, usual in zip((order, value, commit), PLAIN_KINDS, strict=True):
        if not usual.issuperset(kind.__name__ for kind in set(map(type, column))):
            return None
    orders, values = np.array(order, dtype=np.int64), np.array(value, dtype=np.float64)
    is_inside = orders[0] >= -LARGEST_ORDER and orders[-1] <= LARGEST_ORDER
    if not (is_inside and (orders[1:] > orders[:-1]).all() and np.isfinite(values).all()):
        return None
    return orders, np.array(times, dtype=np.int64), values, commit


def _checked_columns(
    place: Place, data: list[Any], report: LoadReport
) -> tuple[Ints, Ints, Floats, Sequence[str]] | None:
    """Return the columns of the usable points by order, None if there are none.

    Of several points with one order the last is kept, a rerun.
    """
    rows: dict[int, Row] = {}
    for number, point in enumerate(data):
        with _skipping(report, "points", place, f"data.{number}."):
            row = _row(point)
            report.corrected["duplicate points, the last kept"] += row[0] in rows
            rows[row[0]] = row
    if not rows:
        return None
    order, time, value, commits = zip(*(rows[order] for order in sorted(rows)), strict=True)
    orders, times = np.array(order, dtype=np.int64), np.array(time, dtype=np.int64)
    return orders, times, np.array(value, dtype=np.float64), commits


def _row(point: Any) -> Row:
    """Return the order, time, value and commit of a point."""
    if not isinstance(point, Mapping):
        raise FieldError("", point, "point is not a document")
    order = order_of(point.get("order"), "order")
    if order is None:
        raise FieldError("order", None, "order is missing")
    name = next((name for name in TIME_FIELDS if point.get(name) is not None), TIME_FIELDS[0])
    time, value = time_of(point.get(name), name), value_of(point.get("value"), "value")
    return order, time, value, text_of(point.get("commit"), "commit")


def _read_candidates(source: Source, history: History, report: LoadReport) -> Candidates:
    """Read the candidates and place them at their points; count those that are skipped."""
    numbers = {identity: number for number, identity in enumerate(history.ids)}
    places: list[Place] = []
    judgements: list[Judgement] = []
    for place, fields in _documents(source.change_points(), "candidates", report):
        with _skipping(report, "candidates", place):
            judgements.append(_judgement(fields, numbers, report))
            places.append(place)
    owners = [numbers[judgement.series] for judgement in judgements]
    candidates, unplaced, corrected = place_candidates(history, owners, judgements)
    report.corrected.update(corrected)
    for k, why in unplaced:
        judgement = judgements[k]
        value = judgement.commit if judgement.order is None else judgement.order
        reason = FIRST if why == FIRST_POINT else "no such point in its series"
        report.skip("candidates", Skip(places[k], judgement.where, value, reason))
    return candidates


def _judgement(
    fields: Mapping[str, Any], known: Mapping[SeriesId, int], report: LoadReport
) -> Judgement:
    """Read the series, the point and the verdict of a change point.

    Raises:
        FieldError: The document cannot be used.
    """
    inner, prefix = fields.get(INFO), f"{INFO}."
    identity = identity_of(_mapping(inner, INFO), prefix) if inner else identity_of(fields)
    if identity not in known:
        raise FieldError(INFO, str(identity), "no such series")
    triage = _mapping(fields.get("triage"), "triage")
    status = triage.get("triage_status")
    verdict = verdict_of(status, "triage.triage_status")
    order, commit = order_of(fields.get("order"), "order"), text_of(fields.get("commit"), "commit")
    if order is None and not commit:
        raise FieldError("order", None, "neither order nor commit")
    found = fields.get("algorithm")
    parts = [found.get("name"), found.get("version")] if isinstance(found, Mapping) else [found]
    algorithm = " ".join(str(part) for part in parts if part is not None)
    read = Judgement(
        identity,
        verdict,
        "commit" if order is None else "order",
        commit=commit,
        order=order,
        algorithm=algorithm.encode(errors="replace").decode(),
        calculated_on=time_of(fields.get("calculated_on"), "calculated_on"),
        triaged_on=time_of(triage.get("triaged_on"), "triage.triaged_on"),
    )
    report.labels["none" if status is None else str(status)] += 1
    return read


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise FieldError(field, value, "not a document")
    return value or {}

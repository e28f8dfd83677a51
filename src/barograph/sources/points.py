"""Read documents: time series into columns, change points into verdicts.

The points of a series are checked and sorted, one for each order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from barograph.results.series import LARGEST_ORDER, UNKNOWN_TIME, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.sources.base import Document, SeriesColumns
from barograph.sources.fields import (
    FieldError,
    direction_of,
    identity_of,
    order_of,
    text_of,
    time_of,
    value_of,
    verdict_of,
)
from barograph.sources.formats.base import Judgement
from barograph.sources.report import LoadReport, Skip

Row = tuple[int, int, float, str | None]  # order, time, value, commit
TIME_FIELDS = ("commit_date", "evg_create_date")
# The number of a series says which it is: a name for each candidate would take most of the memory.
UNNAMED = SeriesId("", "", "", "", "")


def columns_of(documents: Sequence[Document]) -> Iterator[SeriesColumns | Document]:
    """Turn valid documents into columns, as many as possible at once; yield others unchanged."""
    columns = _valid_columns(documents)
    if columns is not None:
        yield columns
    elif len(documents) == 1:
        yield documents[0]
    elif documents:
        half = len(documents) // 2
        yield from columns_of(documents[:half])
        yield from columns_of(documents[half:])


def _valid_columns(documents: Sequence[Document]) -> SeriesColumns | None:
    """Read documents whose points all have the usual types and increasing orders, else None."""
    try:
        ids = [identity_of(fields) for _, fields in documents]
        directions = [direction_of(fields.get("direction")) for _, fields in documents]
        data = [fields["data"] for _, fields in documents]
        points = [point for points in data for point in points]
        orders = [point["order"] for point in points]
        values = [point["value"] for point in points]
        dates = [point["commit_date"] for point in points]
        commits = [point.get("commit") for point in points]
        if not (
            all(type(points) is list and points for points in data)
            and all(map(_is_integer, {type(order) for order in orders}))
            and all(kind is float or _is_integer(kind) for kind in {type(v) for v in values})
            and {type(date) for date in dates} <= {datetime}
            and {type(commit) for commit in commits} <= {str, NoneType}
            and "" not in commits
        ):
            return None
        "".join(filter(None, {*commits})).encode()  # no table holds half a surrogate
        counts = np.array([len(points) for points in data], dtype=np.int64)
        columns = SeriesColumns(
            file=documents[0].place.file,
            first=documents[0].place.document,
            ids=ids,
            directions=directions,
            counts=counts,
            orders=np.array(orders, dtype=np.int64),
            times=_milliseconds(dates),
            values=np.array(values, dtype=np.float64),
            commits=Texts.from_strings(commits),
        )
    except (FieldError, LookupError, TypeError, AttributeError, ValueError, OverflowError):
        return None
    rises = np.diff(columns.orders) > 0
    rises[np.cumsum(counts)[:-1] - 1] = True
    is_small = -LARGEST_ORDER <= columns.orders.min() <= columns.orders.max() <= LARGEST_ORDER
    valid = rises.all() and is_small and np.isfinite(columns.values).all()
    return columns if valid else None


def _milliseconds(dates: list[datetime]) -> Ints:
    """Convert datetimes; Arrow does it eight times as fast as NumPy, and knows time zones."""
    times: Ints = pa.array(dates, pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
    return times


def _is_integer(kind: type) -> bool:
    return issubclass(kind, int) and kind is not bool  # BSON's Int64 is a subclass


def read_series(document: Document, report: LoadReport) -> SeriesColumns | None:
    """Read a document point by point; one that cannot be used is counted and returns None."""
    columns = _valid_columns([document])
    if columns is not None:
        report.read["points"] += columns.orders.size
        return columns
    place, fields = document
    data = fields.get("data")
    count = len(data) if isinstance(data, list) else 0
    report.read["points"] += count
    try:
        if not isinstance(data, list):
            raise FieldError("data", data, "data is not a list")
        identity, direction = identity_of(fields), direction_of(fields.get("direction"))
        rows = _rows(document, data, report)
        if not rows:
            raise FieldError("data", data, "no usable point")
    except FieldError as fault:
        report.skip("series", Skip(place, fault.field, fault.value, fault.reason))
        if count and fault.reason != "no usable point":
            report.skip("points", Skip(place, "data", data, "its series was skipped"), count)
        return None
    orders, times, values, commits = zip(*rows, strict=True)
    return SeriesColumns(
        file=place.file,
        first=place.document,
        ids=[identity],
        directions=[direction],
        counts=np.array([len(rows)], dtype=np.int64),
        orders=np.array(orders, dtype=np.int64),
        times=np.array(times, dtype=np.int64),
        values=np.array(values, dtype=np.float64),
        commits=Texts.from_strings(commits),
    )


def _rows(document: Document, data: Sequence[Any], report: LoadReport) -> list[Row]:
    """Read point by point; count everything that is skipped or corrected."""
    unordered = not any(isinstance(p, Mapping) and p.get("order") is not None for p in data)
    rows = []
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
            place = document.place
            report.skip("points", Skip(place, fault.field, fault.value, fault.reason))
            continue
        when = next((point[f] for f in TIME_FIELDS if point.get(f) is not None), None)
        rows.append((order, time_or_unknown(when, report), value, _commit(point, report)))
    if unordered and rows:
        report.corrected["points without an order, numbered as listed"] += len(rows)
    return _in_order(rows, report)


def time_or_unknown(value: object, report: LoadReport) -> int:
    """Read a time like `time_of`; an unreadable one is counted and becomes unknown."""
    try:
        return time_of(value, "")
    except FieldError:
        report.corrected["unreadable times, left empty"] += 1
        return UNKNOWN_TIME


def _commit(point: Mapping[str, Any], report: LoadReport) -> str | None:
    try:
        return text_of(point.get("commit"), "commit")
    except FieldError:
        report.corrected["unreadable commits, left empty"] += 1
        return None


def _in_order(rows: list[Row], report: LoadReport) -> list[Row]:
    """Sort by order; of several points with the same order keep the last listed, a rerun."""
    orders = np.array([row[0] for row in rows], dtype=np.int64)
    late = orders[1:] < np.maximum.accumulate(orders)[:-1]
    kept: dict[int, Row] = {}
    for row in rows:
        before = kept.get(row[0])
        if before is not None:
            same = "equal" if before[2] == row[2] else "different"
            report.corrected[f"duplicate points of {same} value, the last kept"] += 1
        kept[row[0]] = row
    if late.any():
        report.corrected["points out of order, sorted"] += int(late.sum())
    return [kept[order] for order in sorted(kept)]


def read_candidate(
    document: Document, numbers: Mapping[bytes, int], report: LoadReport
) -> tuple[int, Judgement] | None:
    """Return the number of the series of a change point, and its verdict.

    A document that cannot be used is counted and returns None.

    Args:
        document: The document.
        numbers: The number of each series by the digest of its identity.
        report: Counts what is read and skipped.
    """
    report.read["candidates"] += 1
    place, fields = document
    try:
        number = _series_of(fields, numbers)
        triage = _mapping(fields.get("triage"), "triage")
        status = triage.get("triage_status")
        verdict = verdict_of(status, "triage.triage_status")
        order = order_of(fields.get("order"), "order")
        commit = text_of(fields.get("commit"), "commit")
        if order is None and commit is None:
            raise FieldError("order", None, "neither order nor commit")
    except FieldError as fault:
        report.skip("candidates", Skip(place, fault.field, fault.value, fault.reason))
        return None
    report.labels["none" if status is None else str(status)] += 1
    judgement = Judgement(
        UNNAMED,
        verdict,
        "commit" if order is None else "order",
        commit=commit or "",
        order=order,
        algorithm=_algorithm(fields.get("algorithm")),
        calculated_on=time_or_unknown(fields.get("calculated_on"), report),
        triaged_on=time_or_unknown(triage.get("triaged_on"), report),
    )
    return number, judgement


def _series_of(fields: Mapping[str, Any], numbers: Mapping[bytes, int]) -> int:
    """Return the number of the series in `time_series_info`, or in the document itself."""
    info = fields.get("time_series_info")
    if info is None:
        identity = identity_of(fields)
    else:
        identity = identity_of(_mapping(info, "time_series_info"), "time_series_info.")
    number = numbers.get(identity.digest)
    if number is None:
        raise FieldError("time_series_info", str(identity), "no such series")
    return number


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(field, value, "not a document")
    return value


def _algorithm(value: object) -> str:
    """Return the name and the version, separated by a space."""
    parts = [value.get("name"), value.get("version")] if isinstance(value, Mapping) else [value]
    text = " ".join(str(part) for part in parts if part is not None)
    return text.encode(errors="replace").decode()

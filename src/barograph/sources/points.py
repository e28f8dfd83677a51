"""Turn one time series document into columns: checked, in order, one point an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from barograph.series import UNKNOWN_TIME
from barograph.sources.contract import Document, SeriesColumns, Skip
from barograph.sources.fields import (
    EPOCH,
    MILLISECOND,
    FieldError,
    direction_of,
    identity_of,
    order_of,
    text_of,
    time_of,
    value_of,
)
from barograph.sources.report import LoadReport

Row = tuple[int, int, float, str | None]  # order, time, value, commit
NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
TIME_FIELDS = ("commit_date", "evg_create_date")


def read_series(document: Document, report: LoadReport) -> SeriesColumns | None:
    """Read a document; None, and counted, where it cannot be used at all."""
    place, fields = document
    data = fields.get("data")
    count = len(data) if isinstance(data, list) else 0
    try:
        if not isinstance(data, list):
            raise FieldError("data", data, "data is not a list")
        identity, direction = identity_of(fields), direction_of(fields.get("direction"))
        rows = _sound_rows(data) or _rows(document, data, report)
        if not rows:
            raise FieldError("data", data, "no usable point")
    except FieldError as fault:
        report.read["points"] += count
        report.skip("series", Skip(place, fault.field, fault.value, fault.reason))
        if count and fault.reason != "no usable point":
            report.skip("points", Skip(place, "data", data, "its series was skipped"), count)
        return None
    report.read["points"] += count
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
        commits=pa.array(commits, pa.string()),
    )


def _rows(document: Document, data: Sequence[Any], report: LoadReport) -> list[Row]:
    """Read point by point, and count whatever is not as it should be."""
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
        report.put_right["points without an order, numbered as listed"] += len(rows)
    return _in_order(rows, report)


def time_or_unknown(value: object, report: LoadReport) -> int:
    """Read a time as `time_of` does; one that cannot be read is left empty, and counted."""
    try:
        return time_of(value, "")
    except FieldError:
        report.put_right["unreadable times, left empty"] += 1
        return UNKNOWN_TIME


def _commit(point: Mapping[str, Any], report: LoadReport) -> str | None:
    try:
        return text_of(point.get("commit"), "commit")
    except FieldError:
        report.put_right["unreadable commits, left empty"] += 1
        return None


def _in_order(rows: list[Row], report: LoadReport) -> list[Row]:
    """Sort by order; of several results at one order the last listed stays: a rerun replaces."""
    orders = np.array([row[0] for row in rows], dtype=np.int64)
    late = orders[1:] < np.maximum.accumulate(orders)[:-1]
    kept: dict[int, Row] = {}
    for row in rows:
        before = kept.get(row[0])
        if before is not None:
            same = "equal" if before[2] == row[2] else "different"
            report.put_right[f"duplicate points of {same} value, the last kept"] += 1
        kept[row[0]] = row
    if late.any():
        report.put_right["points out of order, sorted"] += int(late.sum())
    return [kept[order] for order in sorted(kept)]


def _sound_rows(data: Sequence[Any]) -> list[Row]:
    """Read all points at once where everything is as it should be; else nothing."""
    if not all(type(point) is dict for point in data):
        return []
    orders = [point.get("order") for point in data]
    values = [point.get("value") for point in data]
    dates = [point.get("commit_date") for point in data]
    commits = [point.get("commit") for point in data]
    plain = (
        all(issubclass(kind, int) and kind is not bool for kind in {type(o) for o in orders})
        and {type(value) for value in values} <= {float}
        and {type(date) for date in dates} <= {datetime}
        and all(type(commit) is str and commit.isascii() and commit for commit in commits)
    )
    if not plain or not np.isfinite(values).all():
        return []
    try:
        rising = bool((np.diff(np.array(orders, dtype=np.int64)) > 0).all())
    except OverflowError:
        return []
    if not rising:
        return []
    return list(zip(orders, [_milliseconds(date) for date in dates], values, commits, strict=True))


def _milliseconds(date: datetime) -> int:
    return (date - (EPOCH if date.tzinfo else NAIVE_EPOCH)) // MILLISECOND

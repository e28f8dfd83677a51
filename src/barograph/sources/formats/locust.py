"""locust: the statistics as CSV (`--csv`) and as JSON (`--json`); all times are milliseconds."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from barograph.errors import DataError
from barograph.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import array, at, mapping, number, text, time_ms
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, head_text, indexed, number_in
from barograph.sources.formats.outline import outline

HEADER = "Type,Name,Request Count,Failure Count,"
LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
# Column, measurement, unit, direction. Old versions name the first column differently.
COLUMNS = (
    ("Median Response Time", "median", "ms", LOWER),
    ("95%", "p95", "ms", LOWER),
    ("Requests/s", "requests", "1/s", HIGHER),
    ("Failures/s", "failures", "1/s", LOWER),
)
FIRST_TIME = 10_000_000  # seconds; earlier start times are not times of day


def matches(sample: Sample) -> bool:
    """Whether the head is the header of the CSV, or has the keys of the JSON."""
    if head_text(sample).lstrip().replace('"', "")[: len(HEADER)] == HEADER:
        return True
    return {"/*/num_requests", "/*/num_failures"} <= outline(sample)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield response times, requests and failures per second of each request and of all."""
    if file.text().lstrip().startswith("["):
        yield from each(file, indexed(array(file.json(), "(file)"), ""), _entry)
    else:
        yield from each(file, _rows(file), _row)


def _rows(file: InputFile) -> Iterator[tuple[str, dict[str, str]]]:
    rows = csv.reader(file.text().lstrip().splitlines(keepends=True))
    try:
        header = [name.strip() for name in next(rows, [])]
        for row in rows:
            if row:
                yield f"line {rows.line_num}", dict(zip(header, row, strict=False))
    except csv.Error as error:
        raise DataError(f"{file.name}: line {rows.line_num}: {error}") from None


def _row(row: dict[str, str], where: str) -> Iterator[Result]:
    if row.get("Request Count", "").strip() == "0":
        raise FieldError(where, row.get("Name"), "no requests")
    for column, measurement, unit, better in COLUMNS:
        value = number_in(row.get(column, ""), f"{where}: {column}")
        series = _series(row.get("Name"), row.get("Type"), measurement, where)
        yield Result(series, value, where, unit, better)


def _series(name: object, method: object, measurement: str, where: str) -> SeriesId:
    kind = text(method or "", at(where, "method"))
    args = (("method", kind),) if kind not in ("", "None") else ()
    return SeriesId("", "", "", text(name, at(where, "name")), measurement, args)


def _entry(entry: Any, where: str) -> Iterator[Result]:
    """Read an entry of the JSON, which holds a histogram of the response times."""
    stats = mapping(entry, where)
    count = number(stats.get("num_requests"), at(where, "num_requests"))
    if count <= 0:
        raise FieldError(at(where, "num_requests"), count, "no requests")
    started = number(stats.get("start_time"), at(where, "start_time"))
    ended = number(stats.get("last_request_timestamp"), at(where, "last_request_timestamp"))
    failures = number(stats.get("num_failures"), at(where, "num_failures"))
    histogram = _histogram(stats, where)
    values = [_quantile(histogram, 0.5), _quantile(histogram, 0.95)]
    if ended > started:
        values += [count / (ended - started), failures / (ended - started)]
    time = time_ms(started, at(where, "start_time")) if started > FIRST_TIME else UNKNOWN_TIME
    for (_, measurement, unit, better), value in zip(COLUMNS, values, strict=False):
        series = _series(stats.get("name"), stats.get("method"), measurement, where)
        place = at(where, measurement)
        yield Result(series, number(value, place), place, unit, better, time=time)


def _histogram(stats: dict[str, Any], where: str) -> list[tuple[float, float]]:
    """Return the response times in order, each with its count."""
    place = at(where, "response_times")
    counts = mapping(stats.get("response_times"), place)
    pairs = [(number_in(key, place), number(value, place)) for key, value in counts.items()]
    if not any(count > 0 for _, count in pairs):
        raise FieldError(place, None, "is empty")
    return sorted(pairs)


def _quantile(histogram: list[tuple[float, float]], share: float) -> float:
    """Return the smallest time that at least this share of the requests did not exceed."""
    remaining = share * sum(count for _, count in histogram)
    for value, count in histogram:
        remaining -= count
        if remaining <= 0:
            return value
    return histogram[-1][0]


TITLE = "locust: locust --headless --csv PREFIX (PREFIX_stats.csv), or --json > FILE"
FORMAT = Format("locust", TITLE, "run", matches, read)

"""locust: the statistics as CSV (`--csv`) and as JSON (`--json`); all times are milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.nodes import Node, csv_rows, each
from barograph.sources.report import Skip

HEADER = "Type,Name,Request Count,Failure Count,"
# Column, measurement, unit, direction. Old versions name the first column differently.
COLUMNS = (
    ("Median Response Time", "median", "ms", LOWER),
    ("95%", "p95", "ms", LOWER),
    ("Requests/s", "requests", "1/s", HIGHER),
    ("Failures/s", "failures", "1/s", LOWER),
)
FIRST_TIME = 10_000_000  # seconds; earlier start times are not times of day


def matches(file: InputFile) -> bool:
    """Whether the head is the header of the CSV, or has the keys of the JSON."""
    if file.head.lstrip().replace('"', "")[: len(HEADER)] == HEADER:
        return True
    return {"/*/num_requests", "/*/num_failures"} <= file.places


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield response times, requests and failures per second of each request and of all."""
    if file.text().lstrip().startswith("["):
        yield from each(file, Node(file.json()).entries(), _entry)
    else:
        yield from each(file, csv_rows(file), _row)


def _row(row: Node) -> Iterator[Result]:
    if row.get("Request Count", "").value.strip() == "0":
        raise FieldError(row.where, row["Name"].value, "no requests")
    for column, measurement, unit, better in COLUMNS:
        value = row.get(column, "").numeric()
        yield Result(_series(row["Name"], row["Type"], measurement), value, unit, better)


def _series(name: Node, method: Node, measurement: str) -> SeriesId:
    kind = "" if not method.value else method.text()
    args = (("method", kind),) if kind not in ("", "None") else ()
    return SeriesId("", "", "", name.text(), measurement, args)


def _entry(stats: Node) -> Iterator[Result]:
    """Read an entry of the JSON, which holds a histogram of the response times."""
    count = stats["num_requests"].number()
    if count <= 0:
        raise FieldError(stats["num_requests"].where, count, "no requests")
    started, ended = stats["start_time"].number(), stats["last_request_timestamp"].number()
    failures = stats["num_failures"].number()
    histogram = _histogram(stats["response_times"])
    values = [_quantile(histogram, 0.5), _quantile(histogram, 0.95)]
    if ended > started:
        values += [count / (ended - started), failures / (ended - started)]
    time = stats["start_time"].time() if started > FIRST_TIME else UNKNOWN_TIME
    for (_, measurement, unit, better), value in zip(COLUMNS, values, strict=False):
        series = _series(stats["name"], stats["method"], measurement)
        measured = Node(value, stats, measurement).number()
        yield Result(series, measured, unit, better, time=time)


def _histogram(times: Node) -> list[tuple[float, float]]:
    """Return the response times in order, each with its count."""
    pairs = [(numeric(key, count.where), count.number()) for key, count in times.items()]
    if not any(count > 0 for _, count in pairs):
        raise FieldError(times.where, None, "is empty")
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

"""locust: the statistics as CSV (`--csv`) and as JSON (`--json`); all times are milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.nodes import Node, csv_rows, each

HEADER = "Type,Name,Request Count,Failure Count,"
# Column, measurement, unit, direction.
COLUMNS = (
    ("Median Response Time", "median", "ms", LOWER),
    ("95%", "p95", "ms", LOWER),
    ("Requests/s", "requests", "1/s", HIGHER),
    ("Failures/s", "failures", "1/s", LOWER),
)
FIRST_TIME = 10_000_000  # seconds; earlier start times are not times of day


def matches(file: InputFile) -> bool:
    """Whether the head is the header of the CSV, or has the keys of the JSON."""
    is_csv = file.head.lstrip().replace('"', "")[: len(HEADER)] == HEADER
    return is_csv or {"/*/num_requests", "/*/num_failures"} <= file.places


def read(file: InputFile) -> Items:
    """Yield response times, requests and failures per second of each request and of all."""
    if file.text().lstrip().startswith("["):
        yield from each(file, Node(file.json()).entries(), _entry)
    else:
        yield from each(file, csv_rows(file), _row)


def _row(row: Node) -> Iterator[Result]:
    """Read a row of the CSV."""
    if row.get("Request Count", "").value.strip() == "0":
        raise FieldError(row.where, row["Name"].value, "no requests")
    yield from _results(row["Name"], row["Type"], [row.get(name, "") for name, *_ in COLUMNS])


def _results(
    name: Node, method: Node, values: list[Node], time: int = UNKNOWN_TIME
) -> Iterator[Result]:
    """Yield the values of a request, or of all requests together, which have no method."""
    kind = method.text() if method.value else ""
    args = (("method", kind),) if kind not in ("", "None") else ()
    for (_, measurement, unit, better), value in zip(COLUMNS, values, strict=False):
        series = SeriesId("", "", "", name.text(), measurement, args)
        yield Result(series, value.numeric(), unit, better, time=time)


def _entry(stats: Node) -> Iterator[Result]:
    """Read an entry of the JSON, which holds a histogram of the response times."""
    count = stats["num_requests"].number()
    if count <= 0:
        raise FieldError(stats["num_requests"].where, count, "no requests")
    started, ended = stats["start_time"].number(), stats["last_request_timestamp"].number()
    failures, times = stats["num_failures"].number(), stats["response_times"]
    pairs = sorted((numeric(key, each.where), each.number()) for key, each in times.items())
    if not any(number > 0 for _, number in pairs):
        raise FieldError(times.where, None, "is empty")
    values = [_quantile(pairs, share) for share in (0.5, 0.95)]
    if ended > started:
        values += [count / (ended - started), failures / (ended - started)]
    time = stats["start_time"].time() if started > FIRST_TIME else UNKNOWN_TIME
    nodes = [
        Node(value, stats, name) for (_, name, *_), value in zip(COLUMNS, values, strict=False)
    ]
    yield from _results(stats["name"], stats["method"], nodes, time)


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

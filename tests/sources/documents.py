"""Documents like those in MongoDB, and a source of documents in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import bson

from barograph.learning.simulation import dump_files
from barograph.results.history import History
from barograph.sources import Document, LoadReport, Place, Skip, Source, read_source
from barograph.sources.loader import Files

START = datetime(2020, 1, 1, tzinfo=UTC)


def identity(test: str = "insert", **args: object) -> dict[str, Any]:
    """Return the fields of an identity."""
    return {
        "project": "sys-perf",
        "variant": "linux-standalone",
        "task": "bulk",
        "test": test,
        "measurement": "ops_per_sec",
        "args": args or {"thread_level": 16},
    }


def point(order: int, value: object = 1.5, **fields: object) -> dict[str, Any]:
    """Return a point with every field."""
    return {
        "order": order,
        "value": value,
        "commit": f"{order:040x}",
        "commit_date": START + timedelta(hours=order),
        "evg_create_date": START + timedelta(hours=order + 1),
        "version": f"version_{order}",
        "cedar_perf_result_id": f"{order:024x}",
        **fields,
    }


def series(test: str = "insert", count: int = 5, **fields: object) -> dict[str, Any]:
    """Return a time series document."""
    data = [point(10 * n, value=100.0 + n) for n in range(count)]
    return {**identity(test), "updateFailures": 0, "data": data, **fields}


def change_point(test: str = "insert", order: int = 20, **fields: object) -> dict[str, Any]:
    """Return a confirmed change point document."""
    return {
        "time_series_info": identity(test),
        "order": order,
        "commit": f"{order:040x}",
        "calculated_on": START + timedelta(days=30),
        "triage": {"triage_status": "true_positive", "triaged_on": START + timedelta(days=31)},
        "algorithm": {"name": "e_divisive_means", "version": 2},
        **fields,
    }


def triaged(status: str, day: int = 31) -> dict[str, Any]:
    """Return a triage field."""
    return {"triage_status": status, "triaged_on": START + timedelta(days=day)}


def write_dump(
    folder: Path, series: Iterable[Mapping[str, Any]], change_points: Iterable[Mapping[str, Any]]
) -> None:
    """Write a mongodump directory."""
    numbers = count(1)
    with dump_files(folder) as files:
        for file, documents in zip(files, (series, change_points), strict=True):
            for fields in documents:
                identifier = bson.ObjectId(next(numbers).to_bytes(12, "big"))
                file.write(bson.encode({"_id": identifier, **fields}))


@dataclass
class Memory(Source):
    """A source of documents in lists."""

    series: Sequence[Mapping[str, Any]] = ()
    candidates: Sequence[Mapping[str, Any]] = ()

    name = "memory"

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        raise NotImplementedError  # they need not be BSON

    def time_series(self) -> Iterator[Document | Skip]:
        for number, fields in enumerate(self.series, 1):
            yield Document(Place("series", number), fields)

    def change_points(self) -> Iterator[Document | Skip]:
        for number, fields in enumerate(self.candidates, 1):
            yield Document(Place("candidates", number), fields)


def load(
    source: Source | Files, folder: str | Path, *, max_skipped_share: float = 0.05
) -> LoadReport:
    """Read a source, and write its three tables."""
    history, report = read_source(source, max_skipped_share=max_skipped_share)
    history.write(folder)
    return report


def loaded(
    folder: Path,
    documents: Sequence[Mapping[str, Any]],
    candidates: Sequence[Mapping[str, Any]] = (),
    share: float = 1.0,
) -> tuple[History, LoadReport]:
    """Load documents into the tables of a folder, and read these."""
    report = load(Memory(documents, candidates), folder, max_skipped_share=share)
    return History.read(folder), report

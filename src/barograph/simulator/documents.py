"""Simulated series and candidates as documents of a MongoDB performance database, and their dump.

The fields are those of the published dump (Zenodo 5138516), so the same reader reads both.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import bson
import numpy as np

from barograph.results.fields import EPOCH
from barograph.results.series import ChangePoint, SeriesId
from barograph.runtime.files import published
from barograph.simulator.people import Triage
from barograph.simulator.projects import commit_hash
from barograph.simulator.world import SimulatedSeries

COLLECTIONS = ("time_series", "change_points")
FILES = [f"{name}{end}" for name in COLLECTIONS for end in (".metadata.json", ".bson")]
AUTHORS = ("Ada", "Barbara", "Edsger", "Frances", "Grace", "Ken", "Leslie", "Margaret", "Tony")


def series_document(series: SimulatedSeries) -> dict[str, Any]:
    """Return the document of the collection time_series."""
    digest, name = series.identity.digest, series.home.name
    rows = zip(
        series.orders.tolist(),
        series.values.tolist(),
        series.committed().tolist(),
        series.created().tolist(),
        strict=True,
    )
    return {
        "_id": object_id(digest, 0),
        **identity_fields(series.identity),
        "direction": int(series.direction),
        "updateFailures": 0,
        "data": [
            {
                "order": order,
                "value": value,
                "commit": (commit := commit_hash(name, order)),
                "commit_date": date(committed),
                "evg_create_date": date(created),
                "version": f"{name}_{commit}",
                "cedar_perf_result_id": result_id(digest, order),
            }
            for order, value, committed, created in rows
        ],
    }


def candidate_document(
    series: SimulatedSeries,
    change: ChangePoint,
    triaged: Triage,
    algorithm: dict[str, Any],
) -> dict[str, Any]:
    """Return the document of the collection change_points."""
    order, name = int(series.orders[change.index]), series.home.name
    digest, commit = series.identity.digest, commit_hash(name, order)
    committed, created = series.committed()[change.index], series.created()[change.index]
    author = AUTHORS[order % len(AUTHORS)]
    before, step = change.before, change.after.mean - change.before.mean
    spread = float(np.sqrt(before.variance))
    return {
        "_id": object_id(digest, order),
        "time_series_info": identity_fields(series.identity),
        "order": order,
        "commit": commit,
        "commit_date": date(int(committed)),
        "evg_create_date": date(int(created)),
        "calculated_on": date(triaged.calculated_on),
        "version": f"{name}_{commit}",
        "branch": "main",
        "repo_full_name": f"simulated/{name}",
        "author": author,
        "author_email": f"{author.lower()}@example.org",
        "message": f"Commit {order} of {name}",
        "build_failures": [],
        "cedar_perf_result_id": result_id(digest, order),
        "percent_change": 100.0 * step / abs(before.mean) if before.mean else None,
        "z_score_change": step / spread if spread else None,
        "triage": {
            "triage_status": triaged.verdict.value,
            "triaged_on": None if triaged.triaged_on is None else date(triaged.triaged_on),
        },
        "algorithm": algorithm,
    }


def identity_fields(identity: SeriesId) -> dict[str, Any]:
    """Return the fields of an identity."""
    return {**identity.labels, "args": dict(identity.args)}


def object_id(digest: bytes, order: int) -> bson.ObjectId:
    """Return an _id that depends only on the series and the order."""
    return bson.ObjectId(_blake(digest, order, 12).digest())


def result_id(digest: bytes, order: int) -> str:
    """Return the id of one result."""
    return _blake(digest, order, 20).hexdigest()


def _blake(digest: bytes, order: int, size: int) -> hashlib.blake2b:
    return hashlib.blake2b(digest, digest_size=size, salt=order.to_bytes(16, "little"))


def date(milliseconds: int) -> datetime:
    """Return milliseconds since 1970 as BSON stores them."""
    return EPOCH + timedelta(milliseconds=milliseconds)


class DumpWriter:
    """Writes documents of both collections, in any order; see `dump_writer`."""

    def __init__(self, series: BinaryIO, change_points: BinaryIO) -> None:
        self._series, self._change_points = series, change_points
        self._count = 0

    def add_series(self, fields: Mapping[str, Any]) -> None:
        """Write one time series document."""
        self._series.write(self._encoded(fields))

    def add_change_point(self, fields: Mapping[str, Any]) -> None:
        """Write one change point document."""
        self._change_points.write(self._encoded(fields))

    def _encoded(self, fields: Mapping[str, Any]) -> bytes:
        """Encode a document; a missing _id is replaced by a counter."""
        self._count += 1
        if "_id" not in fields:
            fields = {"_id": bson.ObjectId(self._count.to_bytes(12, "big")), **fields}
        return bson.encode(fields)


@contextmanager
def dump_writer(folder: str | Path) -> Iterator[DumpWriter]:
    """Yield a writer of a mongodump directory, which appears in `folder` unless an error occurs."""
    with published(folder, FILES) as draft:
        for name in COLLECTIONS:
            text = json.dumps(_metadata(name), separators=(",", ":"))
            (draft / f"{name}.metadata.json").write_text(text, encoding="utf-8")
        with (
            (draft / "time_series.bson").open("wb") as series,
            (draft / "change_points.bson").open("wb") as change_points,
        ):
            yield DumpWriter(series, change_points)


def _metadata(collection: str) -> dict[str, Any]:
    """Return what mongodump writes about a collection with its only index."""
    index = {"v": {"$numberInt": "2"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_"}
    # A database draws it at random; here it is fixed, so that equal dumps have equal bytes.
    identifier = uuid.uuid5(uuid.NAMESPACE_URL, f"barograph:{collection}").hex
    names = {"collectionName": collection, "type": "collection"}
    return {"indexes": [index], "uuid": identifier, **names}

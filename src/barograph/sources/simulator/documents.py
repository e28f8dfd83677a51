"""Simulated series and candidates as the documents of a MongoDB performance database.

The fields are those of the published dump (Zenodo 5138516), so that what reads one reads both.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import bson
import numpy as np

from barograph.series import ChangePoint, SeriesId
from barograph.sources.simulator.projects import commit_hash
from barograph.sources.simulator.triage import Judged
from barograph.sources.simulator.world import SimulatedSeries

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AUTHORS = ("Ada", "Barbara", "Edsger", "Frances", "Grace", "Ken", "Leslie", "Margaret", "Tony")


def series_document(series: SimulatedSeries) -> dict[str, Any]:
    """Return the document of collection time_series."""
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
                "commit": commit_hash(name, order),
                "commit_date": date(committed),
                "evg_create_date": date(created),
                "version": version(name, order),
                "cedar_perf_result_id": result_id(digest, order),
            }
            for order, value, committed, created in rows
        ],
    }


def candidate_document(
    series: SimulatedSeries, found: ChangePoint, judged: Judged, algorithm: dict[str, Any]
) -> dict[str, Any]:
    """Return the document of collection change_points."""
    order, name = int(series.orders[found.index]), series.home.name
    digest = series.identity.digest
    committed, created = series.committed()[found.index], series.created()[found.index]
    author = AUTHORS[order % len(AUTHORS)]
    return {
        "_id": object_id(digest, order),
        "time_series_info": identity_fields(series.identity),
        "order": order,
        "commit": commit_hash(name, order),
        "commit_date": date(int(committed)),
        "evg_create_date": date(int(created)),
        "calculated_on": date(judged.calculated_on),
        "version": version(name, order),
        "branch": "main",
        "repo_full_name": f"simulated/{name}",
        "author": author,
        "author_email": f"{author.lower()}@example.org",
        "message": f"Commit {order} of {name}",
        "build_failures": [],
        "cedar_perf_result_id": result_id(digest, order),
        "percent_change": percent_change(found),
        "z_score_change": z_score_change(found),
        "triage": {
            "triage_status": judged.verdict.value,
            "triaged_on": None if judged.triaged_on is None else date(judged.triaged_on),
        },
        "algorithm": algorithm,
    }


def identity_fields(identity: SeriesId) -> dict[str, Any]:
    """Return the fields that tell one series from another."""
    return {
        "project": identity.project,
        "variant": identity.variant,
        "task": identity.task,
        "test": identity.test,
        "measurement": identity.measurement,
        "args": dict(identity.args),
    }


def percent_change(found: ChangePoint) -> float | None:
    """Return by how many percent the mean changed; None from a mean of zero."""
    before = found.before.mean
    return 100.0 * (found.after.mean - before) / abs(before) if before else None


def z_score_change(found: ChangePoint) -> float | None:
    """Return the change of the mean in standard deviations of before; None without spread."""
    spread = float(np.sqrt(found.before.variance))
    return (found.after.mean - found.before.mean) / spread if spread else None


def object_id(digest: bytes, order: int) -> bson.ObjectId:
    """Return an _id that depends on nothing but what it names."""
    return bson.ObjectId(hashlib.blake2b(digest, digest_size=12, salt=_salt(order)).digest())


def result_id(digest: bytes, order: int) -> str:
    """Return the name of one result."""
    return hashlib.blake2b(digest, digest_size=20, salt=_salt(order)).hexdigest()


def _salt(order: int) -> bytes:
    return order.to_bytes(16, "little")


@lru_cache(maxsize=4096)
def version(name: str, order: int) -> str:
    """Return the name of one build."""
    return f"{name}_{commit_hash(name, order)}"


def date(milliseconds: int) -> datetime:
    """Return a point in time as BSON writes it."""
    return EPOCH + timedelta(milliseconds=milliseconds)

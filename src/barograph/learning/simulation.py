"""Simulate a performance database: the default data, and the prior of scarce verdicts.

A detector runs over simulated series, simulated people judge its candidates, and the result is
written in the format of mongodump. docs/simulator.md describes every parameter. The documents have
the fields of the published dump (Zenodo 5138516), so the same reader reads both.
"""

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import bson
import numpy as np

from barograph.detection import Hunter
from barograph.learning.limits import Count, Fraction, OpenFraction, Range, Seed, WholeNumber
from barograph.results.fields import EPOCH
from barograph.results.series import ChangePoint
from barograph.runtime.files import published
from barograph.runtime.parallel import map_parallel
from barograph.simulator.people import Triage, survey, triage_candidates
from barograph.simulator.profiles import CI, LONG, SHORT, Profile
from barograph.simulator.projects import Stream, commit_hash, stream
from barograph.simulator.world import SimulatedSeries, World

CHUNK = 50  # series of one task; independent of the number of workers
COLLECTIONS = ("time_series", "change_points")
FILES = [f"{name}{end}" for name in COLLECTIONS for end in (".metadata.json", ".bson")]
AUTHORS = ("Ada", "Barbara", "Edsger", "Frances", "Grace", "Ken", "Leslie", "Margaret", "Tony")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateParams:
    """How much is simulated, how people judge it, and the parameters of the detector."""

    seed: Seed = 1
    long_series: WholeNumber = 400
    short_series: WholeNumber = 2000
    ci_series: WholeNumber = 0
    long_pvalue: OpenFraction = 0.001
    short_pvalue: OpenFraction = 0.007
    ci_pvalue: OpenFraction = 0.001
    window: Annotated[int, Range(2)] = 50
    short_relative_scale: Annotated[float, Range(0, is_open=True)] = SHORT.relative_scale
    people: Count = 5
    investigated: Fraction = 0.5


def simulate(params: SimulateParams, out: Path) -> dict[str, int]:
    """Write `out/dump`; return the number of each kind."""
    counts: Counter[str] = Counter()
    with dump_files(out / "dump") as files:
        calls = [(params, *task) for task in tasks(params)]
        for *documents, of_task in map_parallel(make, calls, label="simulate"):
            for file, encoded in zip(files, documents, strict=True):
                file.write(encoded)
            counts.update(of_task)
    return dict(sorted(counts.items()))


def tasks(params: SimulateParams) -> Iterator[tuple[Profile, float, int, int]]:
    """Cut the work into tasks: a profile, its p-value, and the first and last series."""
    short = replace(SHORT, relative_scale=params.short_relative_scale)
    for profile, count, pvalue in (
        (LONG, params.long_series, params.long_pvalue),
        (short, params.short_series, params.short_pvalue),
        (CI, params.ci_series, params.ci_pvalue),
    ):
        for start in range(0, count, CHUNK):
            yield profile, pvalue, start, min(start + CHUNK, count)


def make(
    params: SimulateParams, profile: Profile, pvalue: float, start: int, stop: int
) -> tuple[bytes, bytes, Counter[str]]:
    """Simulate the series `start` to `stop - 1` of a profile.

    Returns:
        The encoded series, their candidates with verdicts, and the number of each kind.
    """
    options = {"window": params.window, "pvalue": pvalue}
    algorithm = {"name": "hunter", "version": 1, "options": options}
    detector = Hunter(window=params.window, pvalue=pvalue)
    documents, change_points = bytearray(), bytearray()
    counts: Counter[str] = Counter()
    for series in World(params.seed, profile).stream(start, stop):
        rng = stream(params.seed, Stream.CROWD, profile.key, series.number)
        marks = survey(series.values, series.events, params.people, rng)
        changes = detector.detect(series.values)
        indices = [change.index for change in changes]
        triaged = triage_candidates(series, marks, indices, params.investigated, params.seed)
        documents += bson.encode(series_document(series))
        for change, triage in zip(changes, triaged, strict=True):
            change_points += bson.encode(candidate_document(series, change, triage, algorithm))
        counts.update(series=1, points=series.values.size, candidates=len(triaged))
        counts.update(triage.verdict.value for triage in triaged)
    return bytes(documents), bytes(change_points), counts


def series_document(series: SimulatedSeries) -> dict[str, Any]:
    """Return the document of the collection time_series."""
    name = series.home.name
    columns = series.orders, series.values, series.committed(), series.created()
    return {
        "_id": bson.ObjectId(_digest(series, 0, 12).digest()),
        **_identity(series),
        "direction": int(series.direction),
        "updateFailures": 0,
        "data": [
            {
                "order": order,
                "value": value,
                "commit": (commit := commit_hash(name, order)),
                "commit_date": _date(committed),
                "evg_create_date": _date(created),
                "version": f"{name}_{commit}",
                "cedar_perf_result_id": _digest(series, order, 20).hexdigest(),
            }
            for order, value, committed, created in zip(*(c.tolist() for c in columns), strict=True)
        ],
    }


def candidate_document(
    series: SimulatedSeries, change: ChangePoint, triage: Triage, algorithm: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the document of the collection change_points."""
    order, name = int(series.orders[change.index]), series.home.name
    commit, author = commit_hash(name, order), AUTHORS[order % len(AUTHORS)]
    before, step = change.before, change.after.mean - change.before.mean
    spread = float(np.sqrt(before.variance))
    return {
        "_id": bson.ObjectId(_digest(series, order, 12).digest()),
        "time_series_info": _identity(series),
        "order": order,
        "commit": commit,
        "commit_date": _date(int(series.committed()[change.index])),
        "evg_create_date": _date(int(series.created()[change.index])),
        "calculated_on": _date(triage.calculated_on),
        "version": f"{name}_{commit}",
        "branch": "main",
        "repo_full_name": f"simulated/{name}",
        "author": author,
        "author_email": f"{author.lower()}@example.org",
        "message": f"Commit {order} of {name}",
        "build_failures": [],
        "cedar_perf_result_id": _digest(series, order, 20).hexdigest(),
        "percent_change": 100.0 * step / abs(before.mean) if before.mean else None,
        "z_score_change": step / spread if spread else None,
        "triage": {
            "triage_status": triage.verdict.value,
            "triaged_on": None if triage.triaged_on is None else _date(triage.triaged_on),
        },
        "algorithm": algorithm,
    }


def _identity(series: SimulatedSeries) -> dict[str, Any]:
    return {**series.identity.labels, "args": dict(series.identity.args)}


def _digest(series: SimulatedSeries, order: int, size: int) -> hashlib.blake2b:
    """Return a digest that depends only on the identity of the series and the order."""
    salt = order.to_bytes(16, "little")
    return hashlib.blake2b(series.identity.digest, digest_size=size, salt=salt)


def _date(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


@contextmanager
def dump_files(folder: str | Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield the files for the encoded documents of both `COLLECTIONS` of a mongodump directory.

    The directory appears in `folder` unless an error occurs.
    """
    with published(folder, FILES) as draft:
        for name in COLLECTIONS:
            text = json.dumps(_metadata(name), separators=(",", ":"))
            (draft / f"{name}.metadata.json").write_text(text, encoding="utf-8")
        series, change_points = (draft / f"{name}.bson" for name in COLLECTIONS)
        with series.open("wb") as first, change_points.open("wb") as second:
            yield first, second


def _metadata(collection: str) -> dict[str, Any]:
    """Return what mongodump writes about a collection with its only index."""
    index = {"v": {"$numberInt": "2"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_"}
    # A database draws it at random; here it is fixed, so that equal dumps have equal bytes.
    identifier = uuid.uuid5(uuid.NAMESPACE_URL, f"barograph:{collection}").hex
    names = {"collectionName": collection, "type": "collection"}
    return {"indexes": [index], "uuid": identifier, **names}

"""Simulate a performance database: the default data, and the prior of scarce verdicts.

A detector runs over simulated series, simulated people judge its candidates, and the result is
written in the format of mongodump. docs/simulator.md describes every parameter.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import bson
from bson.raw_bson import RawBSONDocument

from barograph.detection import Hunter
from barograph.learning.limits import (
    Count,
    Fraction,
    OpenFraction,
    Range,
    Seed,
    WholeNumber,
)
from barograph.runtime.parallel import map_parallel
from barograph.simulator.documents import candidate_document, dump_writer, series_document
from barograph.simulator.people import survey, triage_candidates
from barograph.simulator.profiles import CI, LONG, SHORT, Profile
from barograph.simulator.projects import Stream, stream
from barograph.simulator.world import World

CHUNK = 50  # series of one task; independent of the number of workers


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
    with dump_writer(out / "dump") as dump:
        calls = [(params, *task) for task in tasks(params)]
        for series, change_points, of_task in map_parallel(make, calls, label="simulate"):
            for document in series:
                dump.add_series(RawBSONDocument(document))
            for document in change_points:
                dump.add_change_point(RawBSONDocument(document))
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
) -> tuple[list[bytes], list[bytes], Counter[str]]:
    """Simulate the series `start` to `stop - 1` of a profile.

    Returns:
        The encoded series, their candidates with verdicts, and the number of each kind.
    """
    options = {"window": params.window, "pvalue": pvalue}
    algorithm = {"name": "hunter", "version": 1, "options": options}
    detector = Hunter(window=params.window, pvalue=pvalue)
    documents: list[bytes] = []
    change_points: list[bytes] = []
    counts: Counter[str] = Counter()
    for series in World(params.seed, profile).stream(start, stop):
        rng = stream(params.seed, Stream.CROWD, profile.key, series.number)
        marks = survey(series.values, series.events, params.people, rng)
        changes = detector.detect(series.values)
        indices = [change.index for change in changes]
        triaged = triage_candidates(series, marks, indices, params.investigated, params.seed)
        documents.append(bson.encode(series_document(series)))
        change_points += (
            bson.encode(candidate_document(series, *pair, algorithm))
            for pair in zip(changes, triaged, strict=True)
        )
        counts.update(series=1, points=series.values.size, candidates=len(triaged))
        counts.update(candidate.verdict.value for candidate in triaged)
    return documents, change_points, counts

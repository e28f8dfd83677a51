"""The store of `barograph serve --demo`: simulated results, change points, verdicts and tickets."""

from __future__ import annotations

import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from barograph.cli.models import read_params
from barograph.models import TriageModel
from barograph.results.series import Verdict
from barograph.server.store import Measurement, arrivals, commit_details
from barograph.server.store.audit import now
from barograph.server.store.candidate_records import candidates_of_series, date_candidates
from barograph.server.store.commit_details import CommitDetails
from barograph.server.triage import tickets, verdicts
from barograph.server.triage.patterns import set_patterns
from barograph.server.triage.refresh import USE, CandidateRefresher
from barograph.simulator.demonstration import DemoSeries, demo_series

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.detection.base import Detector
    from barograph.learning.retrain import RetrainParams
    from barograph.results.series import Floats
    from barograph.server.store import Store

WHO = "demo"
PEOPLE = ("Mira Jansen", "Wen Li", "Tom Okafor")  # invented
HOUR = 3_600_000
DAY = 24 * HOUR
OPEN = 6 * DAY  # everything younger is still open ...
BACKLOG = 20 * DAY  # ... and every third commit that is younger than this
REAL = 2  # of five people: with fewer votes, a change is noise ...
RELEVANT = 0.05  # ... as is a smaller one, which this team does not care about
WINDOW = 20  # results on each side of a change whose levels are compared
SUBJECTS = (
    "Take locks later in retryable writes",
    "Keep compiled filters in the plan cache",
    "Read foreign documents in batches",
    "Reconcile dirty pages sooner",
    "Upgrade the toolchain",
    "Log slow connections",
    "Sort small results in memory",
    "Avoid a copy when parsing numbers",
)
LATE = (30, 66)  # series one of whose results comes after that of the next commit
NOTES = ("", "", "seen before on this host", "bisected", "known noisy test")
PATTERNS = {"canary": ["*/canary/*"], "low_priority": ["plover-queue/sharded/*"]}
REJECTED = {
    "value: Expected `float`, got `str`": 14,
    "commit: order 88 of this series is '3f9a1c7'": 3,
}

# Candidates by the day, the project, the order and the verdict.
Groups = dict[tuple[int, str, int, Verdict], list[int]]


@contextmanager
def demo_folder() -> Iterator[Path]:
    """Make a folder, and delete it at the end, also after SIGTERM, Ctrl-C and a closed terminal."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)  # as shells report it

    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:  # under `nohup` SIGHUP is ignored
            signal.signal(number, leave)
    with tempfile.TemporaryDirectory(prefix="barograph-demo-") as name:
        yield Path(name)


def demo_params() -> RetrainParams:
    """Return how models are learned in a demonstration: smaller, and so within a minute or two."""
    params = read_params()
    train = replace(
        params.train,
        trees=40,
        points=6000,
        simulated=replace(params.train.simulation("simulated"), long_series=20),
        reporting=replace(params.train.simulation("reporting"), long_series=10, short_series=20),
    )
    tuning = replace(params.tune, trials=1)
    prior = replace(params.prior, long_series=10, short_series=60)
    return replace(params, train=train, tune=tuning, prior=prior, profile="demo")


def fill(store: Store, detector: Detector, name: str) -> None:
    """Fill an empty store.

    Args:
        store: The store, with a judge.
        detector: Finds the change points.
        name: Its name in the store.
    """
    moment = now()
    many = list(demo_series(moment))
    numbers = _ingest(store, many)
    CandidateRefresher(detector, name, TriageModel.default(USE)).recompute(store)
    with store.read() as connection:
        rows = arrivals.observe(connection, numbers)

    def work(connection: sa.Connection) -> None:
        arrivals.write(connection, rows)
        arrivals.note_rejections(connection, REJECTED, moment - DAY)
        set_patterns(connection, PATTERNS, WHO, moment)
        commit_details.save(connection, _described(many))
        _decide(connection, dict(zip(numbers, many, strict=True)), moment)

    store.write(work)


def _ingest(store: Store, many: Sequence[DemoSeries]) -> list[int]:
    """Send all results, some of them late; return the number of each series."""
    batch: list[Measurement] = []
    late: list[Measurement] = []
    for number, series in enumerate(many):
        values, orders, times = (c.tolist() for c in (series.values, series.orders, series.times))
        known = series.direction, series.unit
        rows = [
            Measurement(series.id, value, order, commit, "", time, *known)
            for value, order, commit, time in zip(
                values, orders, series.commits, times, strict=True
            )
        ]
        batch += [
            first._replace(value=value, run=str(run))
            for both, first in zip(series.reruns[::-1], rows[::-1], strict=False)
            for run, value in enumerate(both.tolist(), 2)
        ]
        late += [rows.pop(-3)] if number in LATE else []
        batch += rows
    points = store.ingest(batch, WHO).points
    store.ingest(late, WHO)
    by_id = {sent.series: point.series for sent, point in zip(batch, points, strict=True)}
    return [by_id[series.id] for series in many]


def _described(many: Sequence[DemoSeries]) -> list[CommitDetails]:
    """Return subjects, authors and parents of the commits."""
    names = {
        (series.id.project, order): commit
        for series in many
        for order, commit in zip(series.orders.tolist(), series.commits, strict=True)
    }
    return [
        CommitDetails(
            *(project, commit, SUBJECTS[order * order % len(SUBJECTS)]),
            PEOPLE[(order + len(project)) % len(PEOPLE)],
            f"https://git.example/{project}/commit/{commit}",
            names.get((project, order - 1), ""),
        )
        for (project, order), commit in names.items()
    ]


def _decide(connection: sa.Connection, many: Mapping[int, DemoSeries], moment: int) -> None:
    """Give verdicts on what is older than some days, and file tickets."""
    generator = np.random.default_rng(0)
    groups: Groups = defaultdict(list)
    dates: dict[int, int] = {}
    for number, candidates in candidates_of_series(connection, list(many)).items():
        series = many[number]
        for candidate in candidates:
            index = int(np.searchsorted(series.orders, candidate.order))
            votes, time = series.votes(index), int(series.times[index])
            dates[candidate.id] = min(time + (1 + candidate.order % 5) * HOUR, moment)
            real = votes >= REAL and _step(series.values, index) >= RELEVANT
            age = moment - time
            if age < OPEN or (age < BACKLOG and candidate.order % 3 == 0):
                continue
            verdict = Verdict.TRUE_POSITIVE if real else Verdict.FALSE_POSITIVE
            if generator.random() < 0.04:
                verdict = Verdict.UNDER_INVESTIGATION
            elif votes == REAL - 1 and generator.random() < 0.25:
                verdict = Verdict.UNSURE
            day = (time + (1 + candidate.order % 3) * DAY) // DAY
            groups[day, series.id.project, candidate.order, verdict].append(candidate.id)
    date_candidates(connection, dates)
    for (day, project, order, verdict), members in sorted(groups.items()):
        who = PEOPLE[(order + len(project)) % len(PEOPLE)]
        note = NOTES[order % len(NOTES)] if verdict is Verdict.FALSE_POSITIVE else ""
        decided = min(day * DAY + (9 + order % 8) * HOUR, moment - HOUR)
        items = [(member, 0) for member in members]
        verdicts.record_batch(connection, items, verdict, who, note, timestamp=decided)
    _file_tickets(connection, groups)


def _step(values: Floats, index: int) -> float:
    """Return how far the level moves at an index, as a share of the level."""
    before, after = values[max(0, index - WINDOW) : index], values[index : index + WINDOW]
    level = float(np.median(before))
    return abs(float(np.median(after)) - level) / level


def _file_tickets(connection: sa.Connection, groups: Groups) -> None:
    """File tickets about the largest groups of real changes."""
    real = [key for key in groups if key[3] is Verdict.TRUE_POSITIVE]
    largest = sorted(real, key=lambda key: (-len(groups[key]), key))[:6]
    for number, key in enumerate(sorted(largest), 412):
        name, members = f"{key[1].upper()}-{number}", groups[key]
        title = f"{len(members)} series changed at commit {key[2]}"
        url = f"https://tracker.example/{name}"
        tickets.file(connection, name, url, title, members, PEOPLE[number % len(PEOPLE)])
        if number % 2:
            tickets.close(connection, name, PEOPLE[0])

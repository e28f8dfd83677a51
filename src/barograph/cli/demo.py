"""The store of `barograph serve --demo`: simulated results, change points, verdicts and tickets.

A cold machine would compile for ten seconds before it found the first change point. So those of the
simulated series were computed in advance by the default detector and model (`tools/demo_changes.py`
writes them), and the results are judged by a plain rule. The background worker of the service
recomputes all of it later, with the same outcome.
"""

from __future__ import annotations

import json
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from barograph.cli.retrain import read_params
from barograph.detection.base import RawChangePoint, describe
from barograph.detection.online import ANSWERS, AlarmLog, Answer, BatchDecisions
from barograph.models import TriageModel
from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import ChangePoint, Verdict
from barograph.server.store import Measurement, arrivals, commit_details, rejections
from barograph.server.store.audit import now
from barograph.server.store.candidate_records import candidates_of_series, date_candidates
from barograph.server.store.commit_details import CommitDetails
from barograph.server.store.judging import STEP
from barograph.server.store.reading import read_series
from barograph.server.triage import tickets, verdicts
from barograph.server.triage.identity import identify
from barograph.server.triage.patterns import set_patterns
from barograph.server.triage.refresh import USE, CandidateRefresher
from barograph.simulator.demonstration import DemoSeries, demo_series

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.detection.base import Detector
    from barograph.detection.online import PendingSeries
    from barograph.learning.retrain import RetrainParams
    from barograph.results.series import Floats
    from barograph.server.store import Store

CHANGES = "demo.json"
WHO = "demo"
PEOPLE = ("Mira Jansen", "Wen Li", "Tom Okafor")  # invented
HOUR = 3_600_000
DAY = 24 * HOUR
OPEN = 6 * DAY  # everything younger is still open ...
BACKLOG = 20 * DAY  # ... and every third commit that is younger than this
REAL = 2  # of five people: with fewer votes, a change is noise ...
RELEVANT = 0.05  # ... as is a smaller one, which this team does not care about
WINDOW = 20  # results before the newest one that the rule looks at
FAR = 8.0  # robust standard deviations
RERUNS = 2
SUBJECTS = (
    "Take locks later in retryable writes",
    "Keep compiled filters in the plan cache",
    "Read foreign documents in batches",
    "Reconcile dirty pages sooner",
    "Upgrade the toolchain",
    "Log slow connections",
    "Sort small results in memory",
    "Avoid a copy when parsing numbers",
    "Correct the documentation of time series",
    "Count index keys only once",
    "Revert: sort small results in memory",
)
LATE = (30, 66)  # series one of whose results comes after that of the next commit
NOTES = ("", "", "seen before on this host", "bisected", "known noisy test")
PATTERNS = {"canary": ["*/canary/*"], "low_priority": ["plover-queue/sharded/*"]}
REJECTED = {
    "value: Expected `float`, got `str`": 14,
    "commit: order 88 of this series is '3f9a1c7'": 3,
}


@dataclass(frozen=True)
class DemoRule:
    """Judges results by their distance from the median of those before."""

    version: str = "demo-rule"
    threshold: float = 0.5
    history: int = 50

    def judge(self, stretches: Sequence[PendingSeries]) -> BatchDecisions:
        """Return the decisions; a far newest result is a suspect, a far earlier one a change."""
        parts = [_far(stretch.values, stretch.first) for stretch in stretches]
        far = np.concatenate([flags for flags, _ in parts])
        sizes = np.concatenate([sizes for _, sizes in parts])
        answers = np.where(far, ANSWERS.index(Answer.CHANGE), ANSWERS.index(Answer.QUIET))
        ends = np.cumsum([flags.size for flags, _ in parts]) - 1
        answers[ends[far[ends]]] = ANSWERS.index(Answer.SUSPECT)
        none = np.full(far.size, -1, dtype=np.int64)
        probability = np.where(far, 0.9, 0.1)
        return BatchDecisions(
            newest=probability,
            probability=probability,
            answer=answers.astype(np.int8),
            surprise=np.where(far, FAR, 0.0),
            settled=np.concatenate([stretch.values[stretch.first :] for stretch in stretches]),
            reruns=np.where(answers == ANSWERS.index(Answer.SUSPECT), RERUNS, 0),
            known_since=none,
            baseline_size=sizes,
            logs=[AlarmLog() for _ in stretches],
        )


class _Terminated(BaseException):
    """The process was asked to end."""


@contextmanager
def demo_folder() -> Iterator[Path]:
    """Make a folder, and delete it at the end, also after SIGTERM, Ctrl-C and a closed terminal."""
    former = signal.signal(signal.SIGTERM, _leave)
    # Not every system has SIGHUP, and under `nohup` it is ignored.
    hang_up = getattr(signal, "SIGHUP", signal.SIGTERM)
    is_handled = signal.getsignal(hang_up) is signal.SIG_DFL
    if is_handled:
        signal.signal(hang_up, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        with tempfile.TemporaryDirectory(prefix="barograph-demo-") as name:
            yield Path(name)
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)  # end as any process that is asked to
    finally:
        signal.signal(signal.SIGTERM, former)
        if is_handled:
            signal.signal(hang_up, signal.SIG_DFL)


def demo_params() -> RetrainParams:
    """Return how models are learned in a demonstration: smaller, and so within a minute or two."""
    params = read_params()
    train = replace(
        params.train,
        trees=40,
        points=6000,
        simulated={**params.train.simulated, "long_series": 20},
        reporting={**params.train.reporting, "long_series": 10, "short_series": 20},
    )
    tuning = replace(params.tune, trials=1)
    prior = replace(params.prior, long_series=10, short_series=60)
    return replace(params, train=train, tune=tuning, prior=prior, profile="demo")


def fill(store: Store, detector: Detector, name: str) -> None:
    """Fill an empty store.

    Args:
        store: The store; it gets a judge if it has none.
        detector: The default detector, which the change points are from.
        name: Its name in the store.
    """
    moment, model = now(), TriageModel.default(USE)
    former, store.judge = store.judge, DemoRule()
    many = list(demo_series(moment))
    numbers = _ingest(store, many)
    store.judge = former
    refresher = CandidateRefresher(detector, name, model)
    with store.read() as connection:
        known = read_series(connection, numbers)
        stored = candidates_of_series(connection, numbers)
        rows = arrivals.observe(connection, numbers)
    changes_of_all = recorded_changes(many)
    plans = [
        identify(number, known[number], stored[number], changes)
        for number, changes in zip(numbers, changes_of_all, strict=True)
    ]

    def work(connection: sa.Connection) -> None:
        refresher.write(connection, store, plans, moment)
        arrivals.write(connection, rows)
        rejections.note(connection, REJECTED, moment - DAY)
        set_patterns(connection, PATTERNS, WHO, moment)
        key = store.model(connection, model.version, model.threshold)
        commit_details.save(connection, _described(many))
        _decide(connection, dict(zip(numbers, many, strict=True)), key, moment)

    store.write(work)


def recorded_changes(many: Sequence[DemoSeries]) -> Iterator[list[ChangePoint]]:
    """Yield the change points of each series, as they were computed in advance."""
    text = resources.files("barograph.cli").joinpath(CHANGES).read_text(encoding="utf-8")
    for series, rows in zip(many, json.loads(text), strict=True):
        found = [
            RawChangePoint(index, statistic, pvalue, probability=probability)
            for _, index, _, statistic, pvalue, probability in rows
        ]
        yield describe(series.values, np.arange(series.values.size), found)


def _leave(_number: int, _frame: object) -> None:
    raise _Terminated


def _far(values: Floats, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which new values are far from those before, and with how many each was compared."""
    places = np.arange(first, values.size)
    sizes = np.minimum(places, WINDOW)
    far = np.zeros(places.size, dtype=np.bool_)
    for k, place in enumerate(places.tolist()):
        before = values[max(0, place - WINDOW) : place]
        if before.size == WINDOW:
            middle = np.median(before)
            noise = MAD_TO_SD * np.median(np.abs(before - middle))
            far[k] = abs(values[place] - middle) > FAR * noise
    return far, sizes


def _ingest(store: Store, many: Sequence[DemoSeries]) -> list[int]:
    """Send all results, some of them late; return the number of each series."""
    batch: list[Measurement] = []
    late: list[Measurement] = []
    for number, series in enumerate(many):
        columns = (
            series.values.tolist(),
            series.orders.tolist(),
            series.commits,
            series.times.tolist(),
        )
        rows, known = list(zip(*columns, strict=True)), (series.direction, series.unit)
        for place, (value, order, commit, time) in enumerate(rows):
            sent = Measurement(series.id, value, order, commit, "", time, *known)
            is_late = number in LATE and place == series.orders.size - 3
            (late if is_late else batch).append(sent)
        for both, (_, order, commit, time) in zip(series.reruns[::-1], rows[::-1], strict=False):
            for run, value in enumerate(both.tolist(), 2):
                batch.append(Measurement(series.id, value, order, commit, str(run), time, *known))
    points = store.ingest(batch, WHO).points
    store.ingest(late, WHO)
    by_id = {sent.series: point.series for sent, point in zip(batch, points, strict=True)}
    return [by_id[series.id] for series in many]


def _described(many: Sequence[DemoSeries]) -> list[CommitDetails]:
    """Return subjects, authors and parents of the commits."""
    places = {
        (series.id.project, *pair)
        for series in many
        for pair in zip(series.commits, series.orders.tolist(), strict=True)
    }
    names = {(project, order): commit for project, commit, order in places}
    return [
        CommitDetails(
            *(project, commit, SUBJECTS[order * order % len(SUBJECTS)]),
            PEOPLE[(order + len(project)) % len(PEOPLE)],
            f"https://git.example/{project}/commit/{commit}",
            names.get((project, order - 1), ""),
        )
        for project, commit, order in places
    ]


def _decide(
    connection: sa.Connection, many: Mapping[int, DemoSeries], model: int, moment: int
) -> None:
    """Give verdicts on what is older than some days, raise the alarms, and file tickets."""
    generator = np.random.default_rng(0)
    groups: dict[tuple[int, str, int, Verdict], list[int]] = defaultdict(list)
    alarms = []
    dates: dict[int, int] = {}
    for number, candidates in candidates_of_series(connection, list(many)).items():
        series = many[number]
        for candidate in candidates:
            index = int(np.searchsorted(series.orders, candidate.order))
            votes, time = series.votes(index), int(series.times[index])
            dates[candidate.id] = min(time + (1 + candidate.order % 5) * HOUR, moment)
            real = votes >= REAL and _step(series.values, index) >= RELEVANT
            if real:
                arrival = min(index + int(generator.integers(5)), series.orders.size - 1)
                place = (number, int(series.orders[arrival]), "called", candidate.order, None)
                alarms.append((*place, 0.9, index, 1.0, True, 1, model))
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
    STEP.into(connection, list({alarm[:2]: alarm for alarm in alarms}.values()))
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


def _file_tickets(
    connection: sa.Connection, groups: Mapping[tuple[int, str, int, Verdict], list[int]]
) -> None:
    """File tickets about the largest groups of real changes."""
    real = {key: members for key, members in groups.items() if key[3] is Verdict.TRUE_POSITIVE}
    largest = sorted(real, key=lambda key: (-len(real[key]), key))[:6]
    for number, key in enumerate(sorted(largest), 412):
        _, project, order, _ = key
        name = f"{project.upper()}-{number}"
        title = f"{len(real[key])} series changed at commit {order}"
        url = f"https://tracker.example/{name}"
        tickets.file(connection, name, url, title, real[key], PEOPLE[number % len(PEOPLE)])
        if number % 2:
            tickets.close(connection, name, PEOPLE[0])

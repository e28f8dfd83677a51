"""What the model page and its routes say: how models did, how new ones do, and what to decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.learning.registry import Index
from barograph.learning.shares import CalibrationBin, calibration_bins
from barograph.learning.weekly_record import (
    RECENT,
    Record,
    RetrainingDue,
    WeekRecord,
    first_day,
    retraining_due,
    weekly,
)
from barograph.learning.work_lists import LENGTH, suspects
from barograph.models.triage import FILES
from barograph.server.store import retrainings
from barograph.server.store.retrainings import RetrainingRecord
from barograph.server.triage import record
from barograph.server.web.model_watch import CandidateModel

WEEKS = 12
POOL = 250  # candidates that are considered for a list
BETTER, WORSE, UNCERTAIN = "better", "worse", "not certain"
BESIDE = "beside_shipped"
USES = {
    "adaptive": "Batch, bounds by verdicts",
    "label_free": "Queue",
    "online": "Newest results",
    "confirm": "Second look",
}
MEANS = {"Agreement": "agreement", "Brier score (lower is better)": "brier"}
LOWER_IS_BETTER, SHARES = "Brier", ("Agreement", "Reported")  # titles of such measures


@dataclass(frozen=True)
class ReleasedFile:
    """A file of models in service.

    Attributes:
        name: Name of the file.
        number: How many files of this name were released before and with it; 0 is the built-in one.
        digest: Of the file; empty for the built-in one.
    """

    name: str
    number: int
    digest: str


@dataclass(frozen=True)
class ModelReport:
    """How the model that scores the queue did on verdicts before it knew them.

    Attributes:
        files: The released files.
        release: The training that was released last; None if there was none.
        due: Whether retraining is due.
        weeks: The records of the last weeks, the oldest first.
        recent: The record of the last `RECENT` weeks.
        calibration: How often people said real, by the probability stated before, in all weeks.
        has_alarms: Whether the second look ever raised an alarm, so that delays are known.
    """

    files: tuple[ReleasedFile, ...]
    release: RetrainingRecord | None
    due: RetrainingDue
    weeks: tuple[WeekRecord, ...]
    recent: Record
    calibration: tuple[CalibrationBin, ...]
    has_alarms: bool


def model_report(
    connection: sa.Connection, served: Path | None, scorer: CandidateModel
) -> ModelReport:
    """Return how the model did.

    Args:
        connection: From `Store.read`.
        served: The folder that models are released to, if any.
        scorer: The model that scores the queue.
    """
    today = datetime.now(UTC).date()
    judged = record.judged_verdicts(connection, first_day(today, WEEKS))
    recent = Record.of(judged[judged.decided >= first_day(today, RECENT)])
    last = retrainings.latest(connection, retrainings.DONE)
    new = retrainings.new_verdicts(connection, 0 if last is None else last.last_verdict)
    learned_from = 0 if last is None else last.verdicts
    # The built-in model was judged on verdicts of other people, which promise nothing here.
    released = scorer.released()
    promised = None if released is None else released.metrics.get("accuracy")
    truth, probability = judged.real.to_numpy(np.int64), judged.probability.to_numpy(np.float64)
    return ModelReport(
        tuple(released_files(served)),
        retrainings.latest_release(connection),
        retraining_due(new, learned_from, recent.agreement, promised),
        tuple(weekly(judged, today, WEEKS)),
        recent,
        tuple(calibration_bins(truth, probability)),
        record.has_alarms(connection),
    )


def released_files(served: Path | None) -> list[ReleasedFile]:
    """Return the files in service, by name."""
    indices = [Index(name) if served is None else Index.read(name, served) for name in FILES]
    return [ReleasedFile(i.name, len(i.champions), i.champion or "") for i in indices]


@dataclass(frozen=True)
class ComparedMeasure:
    """One measure of a new model and of the one that it was compared with.

    Attributes:
        measure: What was measured.
        verdicts: Number of verdicts, or changes, that both were measured on.
        old: The value of the released or built-in model.
        new: The value of the new model.
        low: Lower end of the 90 % interval of the difference.
        high: Upper end.
        outcome: Whether the new model is better, worse, or it is not certain.
        is_share: Whether the values are shares, printed in percent.
    """

    measure: str
    verdicts: int
    old: float
    new: float
    low: float
    high: float
    outcome: str
    is_share: bool = False


@dataclass(frozen=True)
class ComparedFile:
    """A file of models, what was decided on it, and why.

    Attributes:
        name: Name of the file.
        title: What its models are for.
        may_release: Whether it may take the place of the released file.
        why: The reason.
        measures: What the decision rests on.
    """

    name: str
    title: str
    may_release: bool
    why: str
    measures: tuple[ComparedMeasure, ...]


def compared_files(result: Mapping[str, Any]) -> list[ComparedFile]:
    """Return what a retraining decided on each file.

    Args:
        result: The stored result of a retraining.

    Example:
        >>> facts = {"real": 30, "noise": 20, "auc": 0.95, "auc_of_other": 0.9}
        >>> decision = {"promoted": False, "why": "the interval includes 0"}
        >>> decision["uses"] = {"label_free": facts | {"low": -0.01, "high": 0.11}}
        >>> [one] = compared_files({"files": {"label_free": decision}, "challengers": {}})
        >>> one.measures[0].outcome
        'not certain'
    """
    challengers = result.get("challengers", {})
    return [
        ComparedFile(
            name,
            USES.get(name, name),
            name in challengers,
            str(decision["why"]),
            tuple(_measures(decision)),
        )
        for name, decision in result.get("files", {}).items()
    ]


def _measures(decision: Mapping[str, Any]) -> Iterator[ComparedMeasure]:
    """Yield what a decision rests on: of each use, and of a pair that learned from hindsight."""
    uses = decision.get("uses", {})
    for use, facts in uses.items():
        if "auc" not in facts:
            continue
        where = "" if len(uses) == 1 else f", {USES.get(use, use).lower()}"
        if "lead_of_champion" in facts:
            where += ", beside the built-in model"
        auc = facts | {"old": facts["auc_of_other"], "new": facts["auc"]}
        every = {"AUC": auc} | {title: facts.get(name) for title, name in MEANS.items()}
        for title, measure in every.items():
            if measure is not None:
                yield _measure(f"{title}{where}", facts["real"] + facts["noise"], measure)
    pair = decision.get("beside_champion", decision.get(BESIDE, {}))
    if "low" in pair:  # the mean over all delays, by which pairs are compared
        old, new = (fmean(pair[name]) for name in ("reported_by_other", "reported"))
        yield _measure("Reported in time", pair["changes"], pair | {"old": old, "new": new})


def _measure(title: str, verdicts: int, facts: Mapping[str, Any]) -> ComparedMeasure:
    """Return a measure; only an interval that excludes 0 is certain."""
    low, high = facts["low"], facts["high"]
    is_better = (low > 0) is not title.startswith(LOWER_IS_BETTER)
    outcome = UNCERTAIN if low <= 0 <= high else BETTER if is_better else WORSE
    is_share = title.startswith(SHARES)
    return ComparedMeasure(
        title, verdicts, facts["old"], facts["new"], low, high, outcome, is_share
    )


@dataclass(frozen=True)
class WorkList:
    """Candidates to look at, in this order."""

    name: str
    title: str
    why: str
    candidates: tuple[int, ...]


def work_lists(connection: sa.Connection) -> list[WorkList]:
    """Return all lists."""
    doubts = "Verdicts contradicted by models that had not seen them. People may still be right."
    teaches = "Open and uncertain, at most one of a series and of a commit."
    numbers = tuple(doubted(connection)), tuple(informative(connection))
    return [
        WorkList("doubted", "Labels the model doubts", doubts, numbers[0]),
        WorkList("informative", "Most informative to decide", teaches, numbers[1]),
    ]


def doubted(connection: sa.Connection) -> list[int]:
    """Return the candidates whose labels models doubt and still hold.

    They are those of the latest retraining, whose models were trained without the series of each
    verdict. Before the first one, verdicts are compared with the probability given before them.
    """
    latest = retrainings.latest(connection, retrainings.DONE)
    result = {} if latest is None else latest.result or {}
    if "doubted" not in result:
        table = record.judged_verdicts(connection, 0)
        truth, probability = table.real.to_numpy(np.int64), table.probability.to_numpy(np.float64)
        return [int(k) for k in table.candidate.to_numpy()[suspects(truth, probability)[:LENGTH]]]
    labels = {number: real for number, real, _ in result["doubted"]}
    now = record.still_decided(connection, list(labels))
    return [number for number, real in labels.items() if now.get(number) == real]


def informative(connection: sa.Connection) -> list[int]:
    """Return open candidates that the model is unsure of, one of a series and of a commit."""
    table = record.uncertain_candidates(connection, POOL)
    # A verdict on the next one of a series or a commit would teach little more.
    chosen = table.drop_duplicates("series").drop_duplicates("commit")
    return [int(number) for number in chosen.candidate[:LENGTH]]

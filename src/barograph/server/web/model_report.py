"""What the model page and its routes say: which models decide, how they did, how new ones do."""

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
from barograph.models.triage import FILES
from barograph.server.store import retrainings
from barograph.server.store.retrainings import RetrainingRecord
from barograph.server.triage import record
from barograph.server.web.model_watch import CandidateModel

WEEKS = 12
BETTER, WORSE, UNCERTAIN = "better", "worse", "not certain"
BESIDE = "beside_shipped"
USES = {
    "adaptive": "Batch, bounds by verdicts",
    "label_free": "Queue",
    "online": "Newest results",
    "confirm": "Second look",
}
# Name in the facts, title, and 1 if higher is better.
MEANS = (("agreement", "Agreement", 1), ("brier", "Brier score (lower is better)", -1))


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
            (*_by_use(decision), *_of_pair(decision)),
        )
        for name, decision in result.get("files", {}).items()
    ]


def outcome(low: float, high: float) -> str:
    """Return the outcome of an interval of a difference: only one that excludes 0 is certain."""
    if low <= 0 <= high:
        return UNCERTAIN
    return BETTER if low > 0 else WORSE


def _by_use(decision: Mapping[str, Any]) -> Iterator[ComparedMeasure]:
    uses = decision.get("uses", {})
    for use, facts in uses.items():
        if "auc" not in facts:
            continue
        where = "" if len(uses) == 1 else f", {USES.get(use, use).lower()}"
        if "lead_of_champion" in facts:
            where += ", beside the built-in model"
        low, high = facts["low"], facts["high"]
        verdicts, values = facts["real"] + facts["noise"], (facts["auc_of_other"], facts["auc"])
        yield ComparedMeasure(f"AUC{where}", verdicts, *values, low, high, outcome(low, high))
        for name, title, sign in MEANS:
            if (means := facts.get(name)) is not None:
                low, high = means["low"], means["high"]
                yield ComparedMeasure(
                    *(f"{title}{where}", verdicts, means["old"], means["new"], low, high),
                    outcome(*sorted((sign * low, sign * high))),
                    is_share=name == "agreement",
                )


def _of_pair(decision: Mapping[str, Any]) -> Iterator[ComparedMeasure]:
    facts = decision.get("beside_champion", decision.get(BESIDE, {}))
    if "low" in facts:  # the mean over all delays, by which pairs are compared
        new, old = (fmean(facts[name]) for name in ("reported", "reported_by_other"))
        yield ComparedMeasure(
            *("Reported in time", facts["changes"], old, new, facts["low"], facts["high"]),
            outcome(facts["low"], facts["high"]),
            is_share=True,
        )

"""Replay of the online detector over a data set, compared with verdicts (Bauer et al. 2022, 4.2).

A data set is replayed in parts of whole series: any number of workers gives the same table.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from barograph.detection.online import OnlineDetector, OnlineJudge, PendingSeries, make_judge
from barograph.detection.online.budget import DEFAULT_RATE
from barograph.detection.online.decide import REGIME_SETS
from barograph.models import OnlineModels, TriageModel
from barograph.results.history import History
from barograph.results.parts import HistoryPart
from barograph.results.series import FINAL, Flags, Ints, Verdict
from barograph.runtime.errors import NotEnoughDataError

COLUMNS = ("probability", "alarm", "found")
DELAYS = (0, 2, 5, 10)
ReplayJudge = OnlineJudge | TriageModel  # the latter replays by Algorithm 1


def replay_judge(models: OnlineModels, false_alarms_per_1000: float = DEFAULT_RATE) -> ReplayJudge:
    """Return what decides in a replay.

    Args:
        models: The online models, or a forest of Algorithm 1.
        false_alarms_per_1000: Number of false alarms in 1,000 points of a series.

    Raises:
        DataError: A model, tail rates or thresholds are missing.
    """
    if models.confirm is None and models.newest.feature_set not in REGIME_SETS:
        return models.newest  # by Algorithm 1
    return make_judge(models, false_alarms_per_1000)


def replay_part(part: HistoryPart, judge: ReplayJudge, min_points: int = 2) -> pa.Table:
    """Replay some series.

    Args:
        part: The series.
        judge: The models, from `replay_judge`.
        min_points: Series with fewer points are skipped.

    Returns:
        Every point with its probability, whether an alarm was raised there (`alarm`), and whether
        it is a change point after the last value (`found`).
    """
    points, offsets = part.points()
    values, lengths = points.column("value").to_numpy(), np.diff(offsets)
    firsts = np.repeat(offsets[:-1], lengths)
    long = lengths >= min_points
    rows, chosen = np.repeat(long, lengths), offsets[:-1][long].tolist()
    series = [values[first : first + n] for first, n in zip(chosen, lengths[long], strict=True)]
    probability = np.zeros(values.size)
    alarm, standing = (np.zeros(values.size, dtype=np.bool_) for _ in range(2))
    if isinstance(judge, TriageModel):
        decisions = [d for one in series for d in OnlineDetector.algorithm_1(judge, one)]
        probability[rows] = [decision.probability for decision in decisions]
        alarm[rows] = standing[rows] = [decision.is_change for decision in decisions]
    else:
        batch = judge.judge([PendingSeries(one, 0) for one in series])
        probability[rows], alarm[rows] = batch.newest, batch.is_change
        for first, log in zip(chosen, batch.logs, strict=True):
            standing[first + np.array(log.change_points, dtype=np.int64)] = True
    table = points.select(["series", "order", "commit"])
    index = pa.array(np.arange(values.size) - firsts, pa.int32())
    table = table.add_column(1, "index", index)
    for name, column in zip(COLUMNS, (probability, alarm, standing), strict=True):
        table = table.append_column(name, pa.array(column))
    return table


def change_points_of(points: pa.Table) -> pa.Table:
    """Return the change points among replayed points."""
    return points.filter(points.column("found")).drop_columns(["found"])


def alarm_rates(history: History, points: pa.Table) -> dict[str, Any]:
    """Return how many alarms a replay raised; this needs no verdicts.

    Args:
        history: The data set.
        points: The replayed points of all series.
    """
    alarms, standing = (points.column(name).to_numpy() for name in ("alarm", "found"))
    return {
        "points": int(standing.size),
        "found": int(standing.sum()),
        "alarms": int(alarms.sum()),
        "alarms_per_thousand": float(1000 * alarms.mean()),
        "alarms_per_series": float(alarms.sum() / len(history)),
    }


def compare_with_verdicts(history: History, points: pa.Table) -> dict[str, Any]:
    """Return how often, how early and how correctly a replay raised alarms, at the exact index.

    Args:
        history: The data set, with verdicts.
        points: The replayed points of all series.

    Raises:
        NotEnoughDataError: The verdicts are all true, or all false.
    """
    probability, alarms, standing = (points.column(name).to_numpy() for name in COLUMNS)
    candidates = history.candidates
    owners, verdicts = candidates.series, candidates.verdict
    rows = history.offsets[owners] + candidates.index
    final = np.isin(verdicts, FINAL)
    real = verdicts == Verdict.TRUE_POSITIVE.value
    truth: Ints = real[final].astype(np.int64)
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(
            "alarms are not compared with verdicts: that needs some of real and some of noise"
        )
    hit = standing[rows[final]]
    counts = Counter(verdicts[standing[rows]].tolist())
    return {
        **alarm_rates(history, points),
        "found_by_verdict": {v.value: counts[v.value] for v in Verdict},
        "found_without_candidate": int(standing.sum()) - sum(counts.values()),
        "auc": float(roc_auc_score(truth, probability[rows[final]])),
        "accuracy": float((hit == truth).mean()),
        "sensitivity": float(hit[truth == 1].mean()),
        "specificity": float(1 - hit[truth == 0].mean()),
        "delay": alarm_delays(alarms, rows[real], history.offsets[owners[real] + 1]),
    }


def alarm_delays(alarms: Flags, changes: Ints, ends: Ints) -> dict[str, float | None]:
    """Return how many points after true changes the first alarm came, and how many came in time.

    Args:
        alarms: Whether there is an alarm at each point of all series.
        changes: The true changes.
        ends: The end of the series of each change.
    """
    places = np.append(np.flatnonzero(alarms), alarms.size + DELAYS[-1] + 1)
    first = places[np.searchsorted(places, changes)]
    waited = np.where(first < ends, first - changes, DELAYS[-1] + 1)
    in_time = waited[waited <= DELAYS[-1]]
    shares = {f"share_within_{d}": float((waited <= d).mean()) for d in DELAYS}
    return {**shares, "mean_points": float(in_time.mean()) if in_time.size else None}

"""Replay of the online detector over a data set, compared with verdicts (Bauer et al. 2022, 4.2).

A data set is replayed in parts of whole series: any number of workers gives the same table, and
with a cache an interrupted replay continues where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from barograph import __version__
from barograph.detection.bulk import HistoryPart
from barograph.detection.online import Budget, SecondLookConfig, make_judge, replay_many
from barograph.detection.online.budget import DEFAULT_POLICY
from barograph.detection.online.views import HISTORY
from barograph.errors import ArtifactError, NotEnoughDataError
from barograph.evaluation import resume
from barograph.features import FEATURES_VERSION
from barograph.history import History
from barograph.models import OnlineModels, TriageModel
from barograph.series import FINAL, Flags, Floats, Ints, Verdict

COLUMNS = ("probability", "alarm", "found")
DELAYS = (0, 2, 5, 10)


@dataclass(frozen=True)
class ReplayTask:
    """The models and options of a replay, the same for all of its parts.

    Args:
        model: Path of the online models; the built-in ones if empty.
        second_look: Whether points are scored again as others follow; None if the models can,
            which `signed` finds out.
        alarm_policy: How the windows share the alarm budget.
        false_alarms_per_1000: Number of false alarms in 1,000 points.
        min_points: Series with fewer points are skipped.
        cache: Folder for the results of parts; none are kept if empty.
        signature: Hash of everything but the values that results depend on; see `signed`.
    """

    model: str
    second_look: bool | None = None
    alarm_policy: str = DEFAULT_POLICY
    false_alarms_per_1000: float = 3.0
    min_points: int = 2
    cache: str = ""
    signature: str = ""

    def signed(self) -> ReplayTask:
        """Load the models, so that errors are raised early; return the task with its signature.

        Raises:
            ArtifactError: The file holds no online models, or no confirming one.
            DataError: The second look is needed, and the models have no tail rates or thresholds.
        """
        _models.cache_clear()  # the file may have changed
        if self.second_look is None:
            config = SecondLookConfig(self.alarm_policy, self.false_alarms_per_1000, needed=False)
            _, missing = make_judge(_models(self), config)
            return replace(self, second_look=not missing).signed()
        versions = [m.version for m in (_models(self).newest, self.confirm()) if m is not None]
        options = self.min_points, self.alarm_policy, self.false_alarms_per_1000, HISTORY
        self.budget()
        signature = resume.key(__version__, FEATURES_VERSION, *options, *versions)
        return replace(self, signature=signature)

    def budget(self) -> Budget | None:
        """Return the alarm budget from the models' cards, or None without a second look."""
        confirm = self.confirm()
        if confirm is None:
            return None
        newest, rate = _models(self).newest, self.false_alarms_per_1000
        return Budget.released(newest, confirm, self.alarm_policy, rate)

    def confirm(self) -> TriageModel | None:
        """Return the model of the second look, or None without one.

        Raises:
            ArtifactError: The file holds no such model.
        """
        if not self.second_look:
            return None
        models = _models(self)
        if models.confirm is None:
            raise ArtifactError(f"{self.model}: holds no confirming model")
        return models.confirm


@lru_cache(maxsize=2)
def _models(task: ReplayTask) -> OnlineModels:
    """Load the models once per process; another signature means other models."""
    return OnlineModels.load(task.model) if task.model else OnlineModels.default()


def replay_part(part: HistoryPart, task: ReplayTask) -> pa.Table:
    """Replay some series, or read the result from the cache.

    Returns:
        Every point with its probability, whether an alarm was raised there (`alarm`), and whether
        it is a change point after the last value (`found`).
    """
    points = part.read("points")
    values, offsets = points.column("value").to_numpy(), part.offsets(points)
    path = Path(task.cache) / f"{resume.key(task.signature, offsets, values)}.npz"
    columns = resume.load(path) if task.cache else None
    if columns is None:
        columns = _replay(task, np.split(values, offsets[1:-1]))
        if task.cache:
            resume.save(path, columns)
    index = np.arange(values.size) - np.repeat(offsets[:-1], np.diff(offsets))
    table = points.select(["series", "order", "commit"])
    table = table.add_column(1, "index", pa.array(index, pa.int32()))
    for name in COLUMNS:
        table = table.append_column(name, pa.array(columns[name]))
    return table


def _replay(task: ReplayTask, histories: Sequence[Floats]) -> dict[str, npt.NDArray[Any]]:
    offsets = np.cumsum([0, *(values.size for values in histories)])
    probability = np.zeros(offsets[-1])
    alarm, standing = (np.zeros(offsets[-1], dtype=np.bool_) for _ in range(2))
    chosen = [k for k, values in enumerate(histories) if values.size >= task.min_points]
    results = replay_many(
        _models(task).newest,
        [histories[k] for k in chosen],
        task.confirm(),
        budget=task.budget(),
    )
    for first, result in zip(offsets[chosen].tolist(), results, strict=True):
        probability[first : first + result.probability.size] = result.probability
        alarm[first + result.alarms] = True
        standing[first + result.change_points] = True
    return dict(zip(COLUMNS, (probability, alarm, standing), strict=True))


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
            "the replay cannot be compared with verdicts: it takes some of real and some of noise"
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

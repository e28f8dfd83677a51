"""What a replay found, held against people's verdicts (Bauer et al. 2022, 4.2)."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from barograph.errors import NotEnoughDataError
from barograph.history import History
from barograph.series import FINAL, Floats, Ints, Verdict

DELAYS = (0, 2, 5, 10)
Flags = npt.NDArray[np.bool_]


def confusion(history: History, alarms: Flags, found: Flags, probability: Floats) -> dict[str, Any]:
    """Hold found points against the verdicts, at the exact index.

    Args:
        history: series, points and candidates.
        alarms: the points at which an alarm was raised.
        found: the points that were found; with a second look, those that still stand.
        probability: of each point as it was the newest.
    """
    candidates = history.candidates
    owners = candidates.column("series").to_numpy()
    rows = history.offsets[owners] + candidates.column("index").to_numpy()
    verdicts = np.array(candidates.column("verdict").to_pylist(), dtype=object)
    final = np.isin(verdicts, FINAL)
    truth: Ints = (verdicts[final] == Verdict.TRUE_POSITIVE.value).astype(np.int64)
    if np.unique(truth).size < 2:
        raise NotEnoughDataError("the verdicts hold one class only: the replay cannot be judged")
    hit = found[rows[final]]
    classes = Counter(verdicts[found[rows]].tolist())
    real = verdicts == Verdict.TRUE_POSITIVE.value
    return {
        **rates(history, alarms, found),
        "found_by_verdict": {v.value: classes[v.value] for v in Verdict},
        "found_without_candidate": int(found.sum()) - sum(classes.values()),
        "auc": float(roc_auc_score(truth, probability[rows[final]])),
        "accuracy": float((hit == truth).mean()),
        "sensitivity": float(hit[truth == 1].mean()),
        "specificity": float(1 - hit[truth == 0].mean()),
        "delay": delays(alarms, rows[real], history.offsets[owners[real] + 1]),
    }


def rates(history: History, alarms: Flags, found: Flags) -> dict[str, Any]:
    """Say how often an alarm was raised; for this nobody needs to have judged anything."""
    return {
        "points": int(found.size),
        "found": int(found.sum()),
        "alarms": int(alarms.sum()),
        "alarms_per_thousand": float(1000 * alarms.mean()),
        "alarms_per_series": float(alarms.sum() / len(history)),
    }


def delays(alarms: Flags, changes: Ints, ends: Ints) -> dict[str, float | None]:
    """Say how many points after true changes the first alarm came, and how many came in time."""
    at = np.flatnonzero(alarms)
    place = np.searchsorted(at, changes)
    first = np.append(at, alarms.size + DELAYS[-1] + 1)[place]
    waited = np.where(first < ends, first - changes, DELAYS[-1] + 1)
    found = waited[waited <= DELAYS[-1]]
    shares = {f"share_within_{d}": float((waited <= d).mean()) for d in DELAYS}
    return {**shares, "mean_points": float(found.mean()) if found.size else None}

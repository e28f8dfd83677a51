"""Algorithm 1 of Bauer et al. 2022: each point is compared with Pre, and judged once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barograph.detection.base import require
from barograph.detection.online.decide import REGIME_SETS
from barograph.detection.online.decision import Answer, Decision
from barograph.detection.online.views import HISTORY, kept_from
from barograph.features import feature_matrix
from barograph.models import TriageModel
from barograph.results.series import as_floats, require_finite
from barograph.runtime.errors import ConfigError

AHEAD = 256  # points scored together; those after an alarm are scored again


def algorithm_1(
    model: TriageModel, values: npt.ArrayLike, *, history: int = HISTORY
) -> list[Decision]:
    """Decide on each point of a series as if it were the newest, by Algorithm 1.

    After is the point, and Pre runs from the last change point that was found to the point before.

    Args:
        model: The paper's is a random forest of the feature set `bauer8`, learned on window 0;
            the stage `algorithm_1` of the studies writes one for your own verdicts.
        values: The result of each commit, oldest first.
        history: Maximum number of values of Pre; in the paper, it has no limit.

    Raises:
        ConfigError: The feature set of the model has no Pre.
        DataError: A value is not a finite number.
    """
    require(isinstance(model, TriageModel), "model", model, "a TriageModel")
    name = model.feature_set
    if name in REGIME_SETS:
        raise ConfigError(
            f"Algorithm 1 compares the newest point with Pre, and the feature set {name!r} has "
            "none; use one like 'bauer8'"
        )
    numbers = as_floats(values)
    require_finite(numbers)
    probability, is_change = np.zeros(numbers.size), np.zeros(numbers.size, dtype=np.bool_)
    start, place = 0, 1  # the first point of a series has no Pre
    while place < numbers.size:
        splits = np.arange(place, min(place + AHEAD, numbers.size))
        starts = np.maximum(kept_from(splits, history), start)
        rows = feature_matrix(numbers, starts, splits, splits + 1, name, threads=1)
        scores = model.predict_proba(rows)[:, 1]
        alarms = np.flatnonzero(scores >= model.threshold)
        done = int(alarms[0]) + 1 if alarms.size else splits.size
        probability[place : place + done] = scores[:done]
        place += done
        if alarms.size:
            start = place - 1
            is_change[start] = True
    answers = [Answer.CHANGE if change else Answer.QUIET for change in is_change]
    return [
        Decision(index=k, newest=k, probability=real, answer=answer)
        for k, (real, answer) in enumerate(zip(probability.tolist(), answers, strict=True))
    ]

"""Learn the two models of the online detector, their tail rates, and the budget's thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from barograph.detection.online import TailRates
from barograph.detection.online.budget import RATES, SETTINGS
from barograph.errors import NotEnoughDataError
from barograph.evaluation.early.curve import at_rate, every_alarm, gated
from barograph.evaluation.early.rows import WIDTH, WINDOWS, Rows, lesson, rows_of
from barograph.evaluation.early.truth import Flags, Truth
from barograph.features import FEATURE_SETS
from barograph.models.kinds import flattened
from barograph.models.triage import TriageModel
from barograph.series import Floats, Ints

FOLDS = 5
THREADS = 2
USES: Mapping[str, tuple[int, ...]] = {"online": (0,), "confirm": WINDOWS[1:]}
# Windows that raise no alarm need tail rates alone: one point in so many is enough for those.
SPARSE = 5
ALARMING = frozenset(window for weights in SETTINGS.values() for window in weights)
NEVER, ALWAYS = 40.0, 0.0  # surprises between which every threshold lies

Make = Callable[[int], Any]


def boosted(seed: int, *, trees: int = 400, threads: int = 1) -> Any:
    """Return shallow boosted trees on three tenths of the columns each."""
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=trees,
        max_depth=4,
        learning_rate=15.0 / trees,
        subsample=0.7,
        colsample_bytree=0.3,
        min_child_weight=3,
        reg_lambda=3,
        max_bin=64,
        n_jobs=threads,
        random_state=seed,
    )


@dataclass(frozen=True)
class Learned:
    """The models, and what they said of histories that they had not seen.

    Attributes:
        online: judges the newest point.
        confirm: judges points that 1 to 10 others have followed.
        surprises: per window, of each point as the newest one, from models that did not see its
            group; -inf where there is none; of windows that raise no alarm for some points.
    """

    online: TriageModel
    confirm: TriageModel
    surprises: Mapping[int, Floats]


def learn(truth: Truth, *, make: Make = boosted, seed: int = 0) -> Learned:
    """Learn from marked histories; groups are never split between learning and judging."""
    parts = {window: rows_of(truth, window) for window in WINDOWS}
    held_out = _held_out(truth, parts, make, seed)
    tails = {w: TailRates.of(p[truth.quiet & (p >= 0)]) for w, p in held_out.items()}
    surprises = {w: _surprise(tails[w], held_out[w]) for w in ALARMING}
    everything = np.ones(truth.values.size, dtype=np.bool_)
    probability = held_out[0]
    alone = at_rate(truth, every_alarm(probability), 3.0, 0.0, 1.0).threshold
    fitted = {use: _fitted(use, parts, everything, make, seed) for use in USES}
    cards = {
        use: {
            "tails": {str(w): tails[w].to_card() for w in windows},
            "rows": {"points": int(truth.judged.sum()), "changes": int(truth.changes.size)},
        }
        for use, windows in USES.items()
    }
    cards["confirm"]["alarm_thresholds"] = thresholds(truth, surprises)
    return Learned(
        _model("online", fitted["online"], alone, cards["online"]),
        _model("confirm", fitted["confirm"], 0.5, cards["confirm"]),
        surprises,
    )


def combined(surprises: Mapping[int, Floats], weights: Mapping[int, float]) -> Floats:
    """Return the score of each point: the best of its windows, with their weights."""
    scores = [surprises[window] + np.log(weight) for window, weight in weights.items()]
    best: Floats = np.max(scores, axis=0)
    return best


def thresholds(truth: Truth, surprises: Mapping[int, Floats]) -> dict[str, dict[str, float]]:
    """Return the least score of an alarm for each setting and each rate of false alarms."""
    result: dict[str, dict[str, float]] = {}
    for setting, weights in SETTINGS.items():
        method = gated(truth, combined(surprises, weights))
        result[setting] = {
            str(rate): at_rate(truth, method, rate, ALWAYS, NEVER).threshold for rate in RATES
        }
    return result


def judged_by(model: TriageModel, truth: Truth, window: int) -> Floats:
    """Return a learned model's surprise for each point as the newest one; -inf where none."""
    part = rows_of(truth, window)
    probability = model.predict_proba(part.X[:, : len(model.columns)])[:, 1]
    spread = np.full(truth.values.size, -1.0)
    spread[part.newest] = probability
    return _surprise(TailRates.from_card(model.card, window), spread)


def _surprise(tails: TailRates, probability: Floats) -> Floats:
    known = probability >= 0
    result = np.full(probability.size, -np.inf)
    result[known] = tails.surprise(probability[known])
    return result


def _held_out(truth: Truth, parts: Mapping[int, Rows], make: Make, seed: int) -> dict[int, Floats]:
    """Return each point's probability from models that saw no series of its group; else -1."""
    count = np.unique(truth.groups).size
    if count < 2:
        raise NotEnoughDataError(
            f"{count} group of series: nothing could be held out; 2 are needed"
        )
    folds = GroupKFold(min(FOLDS, count), shuffle=True, random_state=seed)
    result = {window: np.full(truth.values.size, -1.0) for window in parts}

    def judge(train: Ints) -> None:
        allowed = np.isin(truth.series, train)
        for use, windows in USES.items():
            model = _fitted(use, parts, allowed, make, seed)
            for window in windows:
                part = parts[window]
                rest = ~allowed[part.splits]
                if window not in ALARMING:
                    rest &= part.splits % SPARSE == 0
                given = model.predict_proba(part.X[rest, : WIDTH[use]])[:, 1]
                result[window][part.newest[rest]] = given

    series = np.arange(truth.groups.size)
    # Each fold writes where no other does; trees let go of the interpreter while they grow.
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(judge, [train for train, _ in folds.split(series, groups=truth.groups)]))
    return result


def _fitted(use: str, parts: Mapping[int, Rows], allowed: Flags, make: Make, seed: int) -> Any:
    chosen = [parts[window] for window in USES[use]]
    X, y, weights = lesson(chosen, allowed, use, np.random.default_rng(seed))
    if np.unique(y).size < 2:
        raise NotEnoughDataError(f"{int(y.sum())} changes in {y.size} points: nothing to learn")
    return make(seed).fit(X, y, sample_weight=weights)


def _model(use: str, fitted: Any, threshold: float, card: Mapping[str, Any]) -> TriageModel:
    return TriageModel(use, use, FEATURE_SETS[use], threshold, flattened(fitted), card)

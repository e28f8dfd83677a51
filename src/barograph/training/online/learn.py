"""Learn the two models of the online detector, their tail rates, and the budget's thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barograph.detection.online import TailRates
from barograph.detection.online.budget import ALARM_POLICIES, RATES
from barograph.features import FEATURE_SETS
from barograph.models.calibration import Calibration, calibrate
from barograph.models.conformal import Conformal
from barograph.models.kinds import flattened
from barograph.models.shapley import library_bytes
from barograph.models.triage import TriageModel
from barograph.models.versions import versions
from barograph.series import Floats, Ints
from barograph.training.online.curve import at_rate, every_alarm, gated
from barograph.training.online.extra_positives import Scarce
from barograph.training.online.fit import ALARMING, USES, Fitter, Make, Prior, boosted
from barograph.training.online.rows import WINDOWS, rows_of
from barograph.training.online.truth import Flags, Truth

NEVER, ALWAYS = 40.0, 0.0  # surprises between which every threshold lies
KEPT = 5_000  # held-out scores of quiet points: enough for answers with a stated coverage


@dataclass(frozen=True)
class Learned:
    """The models, and what they said of histories that they had not seen.

    Attributes:
        online: judges the newest point.
        confirm: judges points that 1 to 10 others have followed.
        surprises: per window, of each point as the newest one, from models that did not see its
            group; -inf where there is none; of windows that raise no alarm for some points.
        twins: by use, the same model learned without the points that were kept apart.
        libraries: by use, the model in its library's own form, where that can explain it.
    """

    online: TriageModel
    confirm: TriageModel
    surprises: Mapping[int, Floats]
    twins: Mapping[str, TriageModel]
    libraries: Mapping[str, bytes | None]


def learn(
    truth: Truth,
    *,
    apart: Flags | None = None,
    prior: Prior | None = None,
    make: Make = boosted,
    seed: int = 0,
) -> Learned:
    """Learn from histories and what people saw there.

    Groups are never split between learning and judging. Calibration, tail rates and thresholds
    come from what was judged so, and never from the points kept apart.

    Args:
        truth: the histories.
        apart: points that only the models in the end learn from, their twins do not.
        prior: further histories to learn from.
        make: makes an unfitted classifier from a seed.
        seed: of all that is drawn.
    """
    everything = np.ones(truth.values.size, dtype=np.bool_)
    allowed = everything if apart is None else ~apart
    seen = truth if apart is None else truth.without(apart)
    parts = {window: rows_of(truth, window) for window in WINDOWS}
    further = {} if prior is None else prior.lessons(seed)
    fitter = Fitter(parts, Scarce.of(truth), further, make, seed)
    held_out = fitter.held_out(truth, allowed)
    made = {use: _held(fitter, held_out, seen, use) for use in USES}
    for use, windows in USES.items():
        for window in windows:
            known = held_out[window] >= 0
            held_out[window][known] = made[use][0](held_out[window][known])
    tails = {w: TailRates.of(p[seen.quiet & (p >= 0)]) for w, p in held_out.items()}
    surprises = {w: _surprise(tails[w], held_out[w]) for w in ALARMING}
    alone = at_rate(seen, every_alarm(held_out[0]), 3.0, 0.0, 1.0).threshold
    cards = {use: _card(seen, {w: tails[w] for w in windows}) for use, windows in USES.items()}
    cards["confirm"]["alarm_thresholds"] = thresholds(seen, surprises)

    def model(use: str, fitted: Any) -> TriageModel:
        return TriageModel(
            use,
            use,
            FEATURE_SETS[use],
            alone if use == "online" else 0.5,
            flattened(fitted),
            cards[use],
            *made[use],
            versions(),
        )

    fitted = {use: fitter.fitted(use, everything) for use in USES}
    models = {use: model(use, one) for use, one in fitted.items()}
    twins = models
    if apart is not None:
        twins = {use: model(use, fitter.fitted(use, allowed)) for use in USES}
    libraries = {use: library_bytes(one) for use, one in fitted.items()}
    return Learned(models["online"], models["confirm"], surprises, twins, libraries)


def combined(surprises: Mapping[int, Floats], weights: Mapping[int, float]) -> Floats:
    """Return the score of each point: the best of its windows, with their weights."""
    scores = [surprises[window] + np.log(weight) for window, weight in weights.items()]
    best: Floats = np.max(scores, axis=0)
    return best


def thresholds(truth: Truth, surprises: Mapping[int, Floats]) -> dict[str, dict[str, float]]:
    """Return the least score of an alarm for each setting and each rate of false alarms."""
    result: dict[str, dict[str, float]] = {}
    for setting, weights in ALARM_POLICIES.items():
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


def _held(
    fitter: Fitter, held_out: Mapping[int, Floats], seen: Truth, use: str
) -> tuple[Calibration, Conformal]:
    """Learn from held-out points of a use what its scores mean, and keep some of them."""
    scores: list[Floats] = []
    truths: list[Ints] = []
    left_out = seen.marked.copy()
    left_out[seen.changes] = False
    for window in sorted(ALARMING.intersection(USES[use])):
        part = fitter.parts[window]
        score = held_out[window][part.newest]
        clear = (score >= 0) & part.clean & ~(left_out[part.splits])
        scores.append(score[clear])
        truths.append(part.y[clear].astype(np.int64))
    score, truth = np.concatenate(scores), np.concatenate(truths)
    quiet = np.random.default_rng(fitter.seed).permutation(np.flatnonzero(truth == 0))[:KEPT]
    kept = np.concatenate([np.flatnonzero(truth == 1), quiet])
    return calibrate(truth, score), Conformal.fit(truth[kept], score[kept])


def _card(truth: Truth, tails: Mapping[int, TailRates]) -> dict[str, Any]:
    return {
        "points": int(truth.judged.sum()),
        "changes": int(truth.changes.size),
        "tails": {str(window): rates.to_card() for window, rates in tails.items()},
    }

"""Learn the two models of the online detector, their tail rates, and the alarm thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from barograph.detection.online import TailRates
from barograph.detection.online.budget import (
    DEFAULT_RATE,
    LEAST_SCORE,
    POLICY,
    RATES,
    WEIGHTS,
)
from barograph.detection.online.newest import MODEL_LEAD
from barograph.features import FEATURE_SETS
from barograph.learning.comparison import auc
from barograph.learning.continued import Start, WeightedRows, continued
from barograph.learning.online.alarms import (
    Raised,
    SecondLookAlarms,
    are_real,
    at_rate,
    every_alarm,
)
from barograph.learning.online.rows import (
    WIDTH,
    WINDOWS,
    ExtraPositives,
    Rows,
    joined,
    rows_of,
    sample,
)
from barograph.learning.online.truth import Truth
from barograph.models.artifact import versions
from barograph.models.calibration import Calibration, Conformal, calibrate
from barograph.models.kinds import from_fitted
from barograph.models.trees import Boosted
from barograph.models.triage import TriageModel
from barograph.results.series import Flags, Floats, Ints
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_threads

FOLDS = 5
THREADS = 2
USES: Mapping[str, tuple[int, ...]] = {"online": (0,), "confirm": WINDOWS[1:]}
STEEPEST = 0.3
TAIL_DRAWS = 400_000  # quiet points that tail rates are measured on, where weights differ
LEAST_ALARMS = 20  # real and false ones, to say how likely an alarm is real
KEPT = 5_000  # held-out scores of quiet points: enough for prediction sets

Make = Callable[[int], Any]


def boosted(seed: int, *, trees: int = 400, depth: int = 4, least: int = 3) -> Any:
    """Return shallow boosted trees, each on three tenths of the columns."""
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=trees,
        max_depth=depth,
        learning_rate=min(STEEPEST, 15.0 / trees),
        subsample=0.7,
        colsample_bytree=0.3,
        min_child_weight=least,
        reg_lambda=3,
        max_bin=64,
        n_jobs=1,
        random_state=seed,
    )


@dataclass(frozen=True)
class Prior:
    """Further histories to learn from.

    Attributes:
        truth: The histories.
        weight: The weight of each of their rows.
        newest: That of rows of a newest point; None for the same.
    """

    truth: Truth
    weight: float
    newest: float | None = None

    def samples(self, seed: int) -> dict[str, WeightedRows]:
        """Return what to learn each use from."""
        everything = np.ones(self.truth.values.size, dtype=np.bool_)
        result = {}
        for use, windows in USES.items():
            rows = [rows_of(self.truth, window) for window in windows]
            X, y, weights = sample(rows, everything, use, np.random.default_rng(seed))
            other = self.newest if use == "online" else None
            result[use] = X, y, (self.weight if other is None else other) * weights
        return result


@dataclass(frozen=True)
class Learned:
    """The models, and what they say of histories that they have not seen.

    Attributes:
        online: Judges the newest point.
        confirm: Judges points that 1 to 10 others have followed.
        surprises: By window, the surprise of each point as the newest one, from models that did
            not see its group; -inf where there is none.
        twins: By use, the same model learned without the held-out points.
    """

    online: TriageModel
    confirm: TriageModel
    surprises: Mapping[int, Floats]
    twins: Mapping[str, TriageModel]


def learn(
    truth: Truth,
    *,
    held_out: Flags | None = None,
    prior: Prior | None = None,
    start: Mapping[str, Boosted] | None = None,
    make: Make = boosted,
    weights: Mapping[int, float] = WEIGHTS,
    lead: float = MODEL_LEAD,
    seed: int = 0,
) -> Learned:
    """Learn from histories and what people saw there.

    Groups are never split between learning and judging. Calibration, tail rates and thresholds
    come from cross-validation, and never from the held-out points.

    Args:
        truth: The histories.
        held_out: Points that the final models learn from, but their twins do not.
        prior: Further histories to learn from.
        start: By use, a model that is continued, with what it says of the prior; None for none.
        make: Makes an unfitted classifier from a seed.
        weights: The weight of each window that raises alarms.
        lead: What is added to the surprise of window 0 when it counts as the score of a suspect.
        seed: Seed of all that is drawn.
    """
    everything = np.ones(truth.values.size, dtype=np.bool_)
    allowed = everything if held_out is None else ~held_out
    rest = truth.without(~allowed)
    rows = {window: rows_of(truth, window) for window in WINDOWS}
    _require_enough(rest, rows)  # first, for the features of the prior take long
    further = {} if prior is None else prior.samples(seed)
    known = {use: Start.of(model, *further[use][::2]) for use, model in (start or {}).items()}
    fitter = _Fitter(rows, ExtraPositives.of(truth), further, known, make, seed)
    probability = fitter.cross_validate(truth, allowed)
    calibrated = {use: _calibrate(fitter, probability, rest, use) for use in USES}
    tails = {w: _tails(rest, p, seed) for w, p in probability.items()}
    surprises = {w: _surprise(tails[w], p) for w, p in probability.items()}
    alarms = SecondLookAlarms(rest, surprises, weights)
    thresholds = {str(r): at_rate(rest, alarms, r) for r in RATES}
    counts: dict[str, Any] = {"points": int(rest.judged.sum()), "changes": int(rest.changes.size)}
    alone = at_rate(rest, every_alarm(probability[0]), 3.0, 0.0, 1.0, by_place=False)

    def model(use: str, points: Flags) -> TriageModel:
        columns, trees = FEATURE_SETS[use], from_fitted(fitter.fit(use, points))
        card = {**counts, "tails": {str(w): tails[w].to_card() for w in USES[use]}}
        if use == "confirm":
            card["alarm_thresholds"] = {POLICY: thresholds}
            card["alarm_weights"] = {str(window): weight for window, weight in weights.items()}
            card["suspect_lead"] = lead
            card |= _sureness(rest, alarms(thresholds[f"{DEFAULT_RATE:g}"]))
        calibration, conformal, area = calibrated[use]
        facts = alone if use == "online" else 0.5, trees, card, calibration, conformal, versions()
        return TriageModel(use, use, columns, *facts, metrics={"auc": area})

    models = {use: model(use, everything) for use in USES}
    twins = {use: model(use, allowed) for use in USES} if held_out is not None else models
    return Learned(models["online"], models["confirm"], surprises, twins)


def surprises_of(online: TriageModel, confirm: TriageModel, truth: Truth) -> dict[int, Floats]:
    """Return the surprises of two models at each point of histories that they have not seen.

    Returns:
        By window, the surprise of each point as the newest one; -inf where there is none.
    """
    result = {}
    for window in WINDOWS:
        model, rows = confirm if window else online, rows_of(truth, window)
        probability = np.full(truth.values.size, -1.0)
        probability[rows.newest] = model.predict_proba(rows.X[:, : len(model.columns)])[:, 1]
        result[window] = _surprise(TailRates.from_card(model.card, window), probability)
    return result


@dataclass(frozen=True)
class _Fitter:
    """Fits the model of a use to any part of the points.

    Attributes:
        rows: The rows of each window.
        extra: More rows of changes, for window 0.
        prior: By use, rows that every model learns from.
        start: By use, the model that is continued, with what it says of these rows.
        make: Makes an unfitted classifier from a seed.
        seed: Seed of all that is drawn.
    """

    rows: Mapping[int, Rows]
    extra: ExtraPositives
    prior: Mapping[str, WeightedRows]
    start: Mapping[str, Start]
    make: Make
    seed: int

    def fit(self, use: str, allowed: Flags) -> Any:
        """Fit the model of a use to the points allowed."""
        windows = [self.rows[window] for window in USES[use]]
        samples = [sample(windows, allowed, use, np.random.default_rng(self.seed))]
        samples += [self.extra.sample(allowed)] if use == "online" else []
        if use in self.start:
            return continued(self.start[use], joined(samples), self.seed)
        samples += [self.prior[use]] if use in self.prior else []
        X, y, weights = joined(samples)
        if np.unique(y).size < 2:
            raise NotEnoughDataError(f"{int(y.sum())} changes in {y.size} points: nothing to learn")
        return self.make(self.seed).fit(X, y, sample_weight=weights)

    def cross_validate(self, truth: Truth, allowed: Flags) -> dict[int, Floats]:
        """Return each newest point's probability, by models that saw no series of its group.

        It is -1 where there is none: before the first row, and at points that are not allowed.
        """
        count = min(FOLDS, np.unique(truth.groups).size)
        folds = GroupKFold(count, shuffle=True, random_state=self.seed)
        result = {window: np.full(truth.values.size, -1.0) for window in self.rows}

        def judge(train: Ints) -> None:
            inside = np.isin(truth.series, train)
            for use in USES:
                model = self.fit(use, inside & allowed)
                for window in USES[use]:
                    rows = self.rows[window]
                    rest = ~inside[rows.splits] & allowed[rows.newest]
                    if rest.any():
                        probability = model.predict_proba(rows.X[rest, : WIDTH[use]])[:, 1]
                        result[window][rows.newest[rest]] = probability

        series = np.arange(truth.groups.size)
        # Folds write to different places; fitting trees releases the interpreter lock.
        parts = [train for train, _ in folds.split(series, groups=truth.groups)]
        map_threads(judge, parts, threads=THREADS)
        return result


def _require_enough(truth: Truth, rows: Mapping[int, Rows]) -> None:
    """Raise NotEnoughDataError if models could not be cross-validated on histories."""
    if (n := np.unique(truth.groups).size) < 2:
        raise NotEnoughDataError(f"{n} group of series: nothing could be held out; 2 are needed")
    for window in rows.values():
        TailRates.require(int(truth.quiet[window.newest].sum()))


def _sureness(truth: Truth, raised: Raised) -> dict[str, list[float]]:
    """Return the entry of a card that says how likely an alarm of a score is real, if known.

    The log odds fall with one over the score: it has those of the largest scores, and the slope.
    """
    raised = raised.of_judged(truth)
    real, known = are_real(truth, raised)
    if min(real.sum(), (known & ~real).sum()) < LEAST_ALARMS:
        return {}
    inverse = 1.0 / np.maximum(raised.scores[known, None], LEAST_SCORE)
    line = LogisticRegression(C=np.inf).fit(inverse, real[known])
    return {"alarm_sureness": [float(line.intercept_[0]), -float(line.coef_[0, 0])]}


def _tails(truth: Truth, probability: Floats, seed: int) -> TailRates:
    """Measure tail rates on quiet points, drawn by their weights where these differ."""
    quiet = np.flatnonzero(truth.quiet & (probability >= 0))
    weight = truth.weight[truth.series[quiet]]
    if weight.size and np.ptp(weight) > 0:
        generator = np.random.default_rng(seed)
        quiet = generator.choice(quiet, min(quiet.size, TAIL_DRAWS), p=weight / weight.sum())
    return TailRates.of(probability[quiet])


def _surprise(tails: TailRates, probability: Floats) -> Floats:
    known = probability >= 0
    result = np.full(probability.size, -np.inf)
    result[known] = tails.surprise(probability[known])
    return result


def _calibrate(
    fitter: _Fitter, probability: Mapping[int, Floats], judged: Truth, use: str
) -> tuple[Calibration, Conformal, float]:
    """Learn what the scores of a use mean from points that its models did not see.

    The scores are replaced by their calibrated probabilities. The last result is their AUC.
    """
    parts = []
    usable = ~judged.marked | (judged.share == 1.0)
    for window in sorted(WEIGHTS.keys() & set(USES[use])):
        rows = fitter.rows[window]
        score = probability[window][rows.newest]
        clear = (score >= 0) & rows.clean & usable[rows.splits]
        parts.append((score[clear], rows.y[clear].astype(np.int64)))
    score, truth = (np.concatenate(column) for column in zip(*parts, strict=True))
    quiet = np.random.default_rng(fitter.seed).permutation(np.flatnonzero(truth == 0))[:KEPT]
    chosen = np.concatenate([np.flatnonzero(truth == 1), quiet])
    calibration = calibrate(truth, score)
    for window in USES[use]:
        known = probability[window] >= 0
        probability[window][known] = calibration(probability[window][known])
    return calibration, Conformal.fit(truth[chosen], score[chosen]), auc(truth, score)

"""The budget of false alarms: of a series, which windows share, and of a CI job.

The detector allows each series a few false alarms per 1,000 points. A job of 1,000 series would
then be red at almost every commit. So the job asks how rarely a quiet point gets as far as each
alarm and each suspect of the commit, and compares these rates with the number of series (Simes
1986, Benjamini & Hochberg 1995): one alarm alone must be rarer than once in as many points as the
job has series, while several at one commit support each other.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.detection.numerics import largest_kept
from barograph.detection.online.newest import MODEL_LEAD, SUSPECT, departure, settle
from barograph.models import TriageModel
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, DataError, NotEnoughDataError

# The weight of each window in the budget: windows of a greater weight raise more of the alarms.
# These are the weights of a pair whose card names none.
WEIGHTS: Mapping[int, float] = MappingProxyType({0: 0.5, 2: 1.0, 5: 2.0})
POLICY = "steady"  # the name of these weights in the cards of models
RATES = (1, 3, 10)  # false alarms per 1,000 points for which a model's card keeps thresholds
DEFAULT_RATE = 3.0
LEAST_SCORE = 1.0  # of an alarm, to say how sure it is
TAIL_LEVELS = 200
_MIN_TAIL = 1e-9
FALSE_RED = 0.1  # the share of commits without a change that may turn a job red
# About three of 100 spikes are confirmed by one to three reruns: `benchmarks/newest_commit.py`.
CONFIRMED_SPIKES = 0.03
# In some series the share of quiet points falls more slowly far out than the surprise of a suspect
# says, by this factor of the nats above SUSPECT: `benchmarks/job_alarms.py`, on the half to choose
# on.
TAIL = 0.7


@dataclass(frozen=True)
class TailRates:
    """The surprise of a score: -ln(share of quiet points that score at least as high).

    Surprises are interpolated between known logits of the score. Beyond the highest logit they
    grow with it, so that the order of the highest scores is kept.

    Attributes:
        logits: Logits of scores, rising.
        surprises: The surprise at each.
    """

    logits: Floats
    surprises: Floats

    @classmethod
    def of(cls, probabilities: npt.ArrayLike) -> TailRates:
        """Measure tail rates on held-out scores of points far from any change.

        Raises:
            NotEnoughDataError: There are fewer than 200 scores.
        """
        z = np.sort(_logit(np.asarray(probabilities, dtype=np.float64)))
        cls.require(z.size)
        above = np.unique(np.geomspace(1, z.size, TAIL_LEVELS).astype(np.int64))[::-1]
        levels, first = np.unique(z[z.size - above], return_index=True)
        return cls(levels, -np.log(above[first] / (z.size + 1.0)))

    @staticmethod
    def require(scores: int) -> None:
        """Raise NotEnoughDataError if there are too few scores to measure tail rates on."""
        if scores < TAIL_LEVELS:
            message = f"{scores} quiet points: {TAIL_LEVELS} are needed for tail rates"
            raise NotEnoughDataError(message)

    @classmethod
    def from_card(cls, card: Mapping[str, Any], window: int) -> TailRates:
        """Read the tail rates of a window from a model's card.

        A window without an entry uses that of the next shorter window.

        Raises:
            DataError: The card has no entry for this window or a shorter one.
        """
        tails = card.get("tails", {})
        known = sorted(int(name) for name in tails if int(name) <= window)
        if not known:
            raise DataError(f"the model has no tail rates for window {window}: {sorted(tails)}")
        entry: Mapping[str, Sequence[float]] = tails[str(known[-1])]
        return cls(np.array(entry["logits"]), np.array(entry["surprises"]))

    def to_card(self) -> dict[str, list[float]]:
        """Return the entry of a model's card."""
        return {"logits": self.logits.tolist(), "surprises": self.surprises.tolist()}

    def surprise(self, probability: npt.ArrayLike) -> Floats:
        """Return the surprise of each probability, in nats."""
        z = _logit(np.asarray(probability, dtype=np.float64))
        inner = np.interp(z, self.logits, self.surprises, left=0.0)
        result: Floats = inner + np.maximum(z - self.logits[-1], 0.0)
        return result


@dataclass(frozen=True)
class Budget:
    """The score from which a window raises an alarm.

    The score of a window is its surprise (see `TailRates`) plus the log of its weight. A score of
    at least `threshold` nats is an alarm.

    Attributes:
        tails: Tail rates of each window: 0 and those of the second look.
        threshold: The minimum score of an alarm.
        thresholds: Known thresholds by the number of false alarms in 1,000 points, at least two.
        weights: The weight of each window that raises alarms: 0, 2 and 5.
        sure: The log odds that an alarm of the largest score is real, and how fast they fall with
            one over the score; None if unknown.
        lead: What is added to the surprise of window 0 when it counts as the score of a suspect.
    """

    tails: Mapping[int, TailRates]
    threshold: float
    thresholds: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[int, float] = field(default_factory=lambda: WEIGHTS)
    sure: tuple[float, float] | None = None
    lead: float = MODEL_LEAD

    @cached_property
    def log_weights(self) -> dict[int, float]:
        """The log of the weight of each window."""
        return log_weights(self.weights)

    @classmethod
    def released(
        cls,
        model: TriageModel,
        confirm: TriageModel,
        false_alarms_per_1000: float = DEFAULT_RATE,
    ) -> Budget:
        """Read tail rates, thresholds and weights from the cards of two models.

        Args:
            model: The model of window 0.
            confirm: The model of windows 1 to 10.
            false_alarms_per_1000: Number of false alarms in 1,000 points, from 1 to 10.

        Raises:
            ConfigError: The rate is not allowed.
            DataError: A card has no tail rates, or no thresholds.
        """
        thresholds = confirm.card.get("alarm_thresholds", {})
        if len(thresholds.get(POLICY, {})) < 2:
            raise DataError(
                f"the confirming model's card has alarm_thresholds for {list(thresholds)}, and "
                f"{POLICY!r} with two rates is needed: train both models again with `barograph "
                "retrain`, or use the built-in models"
            )
        tails = {0: TailRates.from_card(model.card, 0)}
        tails |= {w: TailRates.from_card(confirm.card, w) for w in range(1, 11)}
        known = thresholds[POLICY]
        threshold = threshold_at(known, false_alarms_per_1000)
        sure = confirm.card.get("alarm_sureness")
        sure = None if sure is None else (float(sure[0]), float(sure[1]))
        return cls(tails, threshold, known, weights_of(confirm.card), sure, lead_of(confirm.card))

    def sureness(self, score: float) -> float | None:
        """Return the share of alarms of a score that are real; None if it is unknown."""
        if self.sure is None or not math.isfinite(score):
            return None
        most, slope = self.sure
        return 1.0 / (1.0 + math.exp(slope / max(score, LEAST_SCORE) - most))

    def suspicion(self, departed: npt.ArrayLike, newest: npt.ArrayLike) -> Floats:
        """Return the scores that are compared with `newest.SUSPECT`.

        Args:
            departed: How far the newest points depart, in nats; see `newest.departure`.
            newest: The surprise of the probability of a change at these points.
        """
        score: Floats = np.maximum(departed, np.asarray(newest) + self.lead)
        return score

    @property
    def version(self) -> str:
        """A hash of everything that decisions depend on."""
        tails = {str(window): rates.to_card() for window, rates in sorted(self.tails.items())}
        weights = {str(window): weight for window, weight in self.weights.items()}
        lead = [] if self.lead == MODEL_LEAD else [self.lead]
        content = json.dumps([tails, weights, self.threshold, *lead])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def log_weights(weights: Mapping[int, float]) -> dict[int, float]:
    """Return the log of the weight of each window."""
    return {window: math.log(weight) for window, weight in weights.items()}


def weights_of(card: Mapping[str, Any]) -> Mapping[int, float]:
    """Return the weights of the windows on the card of a confirming model.

    Raises:
        DataError: The card names other windows than those that raise alarms.
    """
    named = card.get("alarm_weights")
    if named is None:
        return WEIGHTS
    weights = {int(window): float(weight) for window, weight in named.items()}
    if weights.keys() != WEIGHTS.keys() or min(weights.values()) <= 0:
        raise DataError(
            f"the confirming model's card has alarm_weights {dict(named)}; positive weights for "
            f"the windows {', '.join(map(str, WEIGHTS))} are needed"
        )
    return weights


def threshold_at(thresholds: Mapping[str, float], false_alarms_per_1000: float) -> float:
    """Interpolate the threshold for a rate of false alarms, linearly in the log of the rate.

    Args:
        thresholds: Known thresholds by rate.
        false_alarms_per_1000: The rate, within the range of the known ones.

    Raises:
        ConfigError: The rate is outside that range.
    """
    rate = false_alarms_per_1000
    known = sorted((float(name), value) for name, value in thresholds.items())
    low, high = known[0][0], known[-1][0]
    if not low <= rate <= high:
        raise ConfigError(f"the budget is {rate} per thousand: allowed are {low} to {high}")
    for (lower, value), (upper, next_value) in pairwise(known):
        if rate <= upper:
            share = math.log(rate / lower) / math.log(upper / lower)
            return value + share * (next_value - value)
    return known[-1][1]


def _logit(probability: Floats) -> Floats:
    """Return ln(p / (1 - p)), finite at 0 and 1."""
    p = np.clip(probability, _MIN_TAIL, 1.0 - _MIN_TAIL)
    result: Floats = np.log(p) - np.log1p(-p)
    return result


def lead_of(card: Mapping[str, Any]) -> float:
    """Return what the card of a confirming model adds to the surprise of window 0 in a suspect."""
    return float(card.get("suspect_lead", MODEL_LEAD))


@dataclass(frozen=True)
class JobBudget:
    """How rare an alarm or a suspect is, and which of those of one commit are rare enough.

    Args:
        budget: The budget of each series.
        share: The share of commits without a change that may turn the job red.
    """

    budget: Budget
    share: float = FALSE_RED

    def alarm_rate(self, score: float) -> float:
        """Return how many quiet points raise an alarm of at least this score, as a share.

        The logarithm of the rate is interpolated between the known thresholds, and continues
        straight beyond them.
        """
        known = sorted(
            (value, math.log(float(rate) / 1000)) for rate, value in self.budget.thresholds.items()
        )
        lower, upper = next(
            (pair for pair in pairwise(known) if score <= pair[1][0]), (known[-2], known[-1])
        )
        slope = (upper[1] - lower[1]) / (upper[0] - lower[0])
        return math.exp(min(lower[1] + slope * (score - lower[0]), 0.0))

    def suspect_rate(self, surprise: float, probability: float) -> float:
        """Return the share of quiet points that are suspected at least as much.

        Args:
            surprise: How far the newest result departs, in nats; see `newest.departure`.
            probability: The probability of a change at the newest result.
        """
        newest = self.budget.tails[0].surprise(probability)
        return _rate_of(float(self.budget.suspicion(surprise, newest)))

    def confirmed_rate(self, before: Floats, runs: Floats, probability: float) -> float:
        """Return the share of quiet commits whose runs make them a change as clear as this.

        Args:
            before: The settled values before the commit, oldest first.
            runs: The results of the commit in the order of their runs, at least two.
            probability: The probability of a change at the commit.
        """
        settled = settle(before, runs)
        if settled.is_step:
            return CONFIRMED_SPIKES * _rate_of(departure(before, float(runs[0])).surprise)
        return self.suspect_rate(departure(before, settled.value).surprise, probability)

    def highest_rate(self, rates: Sequence[float], series: int) -> float:
        """Return the highest rate that counts at a commit; -1 if none does.

        Args:
            rates: The rates of all alarms and suspects of the commit.
            series: Number of series of the job.

        Example:
            >>> budget = JobBudget(Budget({}, 6.0, {"1": 7.0, "3": 6.0}))
            >>> budget.highest_rate([0.003, 0.00001], series=1000)
            1e-05
            >>> budget.highest_rate([0.003] * 40, series=1000)
            0.003
        """
        return largest_kept(np.array(rates, dtype=np.float64), self.share, series)


def _rate_of(score: float) -> float:
    """Return the share of quiet points with at least this score of a suspect."""
    return math.exp(-min(score, SUSPECT) - TAIL * max(score - SUSPECT, 0.0))

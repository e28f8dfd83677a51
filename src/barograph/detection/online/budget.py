"""One alarm budget, shared between the windows that look at a point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from barograph.detection.online.platform import PlatformRates
from barograph.detection.online.scorer import Scorer, card_of
from barograph.detection.online.tails import TailRates
from barograph.errors import ConfigError, DataError

# The weight of each window: how much of the budget its alarms may use.
SETTINGS: Mapping[str, Mapping[int, float]] = {
    "early": {0: 4.0, 2: 1.0, 5: 0.3},
    "even": {0: 1.0, 2: 1.0, 5: 1.0},
    "steady": {0: 0.5, 2: 1.0, 5: 2.0},
    "sure": {2: 1.0, 5: 1.0},
}
RATES = (1, 3, 10)


@dataclass(frozen=True)
class Budget:
    """Whose alarms count how much, and from where on there is one.

    A window's score is its surprise (see `TailRates`) plus the log of its weight; an alarm is a
    score of at least `threshold`, in nats.

    Attributes:
        tails: the tail rates of each window, 0 and those of the second look.
        weights: the windows that may raise an alarm.
        threshold: the least score of an alarm.
        platform: what is known of the tail rates on the platform that the series comes from.
    """

    tails: Mapping[int, TailRates]
    weights: Mapping[int, float]
    threshold: float
    platform: PlatformRates | None = None

    @classmethod
    def released(
        cls, model: Scorer, confirm: Scorer, setting: str = "steady", per_thousand: float = 3.0
    ) -> Budget:
        """Take rates and threshold from the two models' cards, for a setting and a budget.

        Args:
            model: the model of window 0.
            confirm: the model of windows 1 to 10.
            setting: one of SETTINGS.
            per_thousand: how many false alarms a thousand points may raise, from 1 to 10.
        """
        if setting not in SETTINGS:
            raise ConfigError(f"setting is {setting!r}: allowed are {', '.join(SETTINGS)}")
        thresholds = card_of(confirm).get("alarm_thresholds", {}).get(setting)
        if not thresholds:
            raise DataError(f"the confirming model's card has no alarm_thresholds for {setting!r}")
        tails = {0: TailRates.from_card(card_of(model), 0)}
        tails |= {w: TailRates.from_card(card_of(confirm), w) for w in range(1, 11)}
        return cls(tails, SETTINGS[setting], between(thresholds, per_thousand))

    def surprise(self, window: int, probability: float) -> float:
        """Return how rarely a quiet point looks as real as this."""
        nominal = float(self.tails[window].surprise(probability))
        return nominal if self.platform is None else self.platform.surprise(window, nominal)

    def score(self, window: int, surprise: float) -> float:
        """Return what an alarm of this window is worth."""
        return surprise + math.log(self.weights[window])


def between(thresholds: Mapping[str, float], per_thousand: float) -> float:
    """Interpolate the threshold of a rate, in its logarithm."""
    known = sorted((float(rate), value) for rate, value in thresholds.items())
    low, high = known[0][0], known[-1][0]
    if not low <= per_thousand <= high:
        raise ConfigError(f"the budget is {per_thousand} per thousand: allowed are {low} to {high}")
    for (rate, value), (next_rate, next_value) in pairwise(known):
        if per_thousand <= next_rate:
            part = math.log(per_thousand / rate) / math.log(next_rate / rate)
            return value + part * (next_value - value)
    return known[-1][1]

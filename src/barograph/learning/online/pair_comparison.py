"""Compare two online pairs on the same held-out points: which reports more changes in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barograph.learning.comparison import Comparison
from barograph.learning.online.alarm_rates import DELAYS, at_rate, known_within
from barograph.learning.online.learn import ALWAYS, NEVER, surprises_of
from barograph.learning.online.second_look_alarms import SecondLookAlarms
from barograph.learning.online.truth import Truth
from barograph.models.triage import TriageModel
from barograph.results.series import Flags, Floats
from barograph.runtime.errors import NotEnoughDataError

BESIDE = "beside_shipped"  # the entry of a card that holds the comparison with the shipped pair
RATE = 3.0  # false alarms in a thousand points
DRAWS = 1000
Surprises = Mapping[int, Floats]


@dataclass(frozen=True)
class PairComparison:
    """What a new pair and another one report at the same rate of false alarms.

    Attributes:
        labels: What a change is judged by: `verdicts` or `hindsight`.
        changes: Number of changes that both were judged on.
        new: The share of the changes that the new pair reports within each delay.
        other: The same for the other pair.
        gain: The mean of `new` over the delays, minus that of `other`; groups of series are drawn.
    """

    labels: str
    changes: int
    new: tuple[float, ...]
    other: tuple[float, ...]
    gain: Comparison

    def to_card(self) -> dict[str, Any]:
        """Return the entry of a model's card."""
        return {
            "labels": self.labels,
            "changes": self.changes,
            "false_per_thousand": RATE,
            "delays": list(DELAYS),
            "reported": list(self.new),
            "reported_by_other": list(self.other),
        } | self.gain._asdict()


def compare_pairs(
    truth: Truth, labels: str, new: Surprises, other: Surprises, *, seed: int = 0
) -> PairComparison:
    """Compare the alarms of two pairs, each with its own threshold.

    A change is reported within a delay if an alarm up to that many points later points near it. An
    alarm that points at nothing is false, and so is the second one for the same change.

    Args:
        truth: The changes, and the points that are judged.
        labels: Where the changes come from.
        new: By window, the surprise of each point as the newest one, for the new pair.
        other: The same for the other pair.
        seed: Seed of the bootstrap over groups.

    Raises:
        NotEnoughDataError: There is no change to find.
    """
    if not truth.changes.size:
        raise NotEnoughDataError(f"no change by {labels}: the two pairs cannot be compared")
    known = [_known(truth, surprises) for surprises in (new, other)]
    groups = truth.groups[truth.series[truth.changes]]
    _, group = np.unique(groups, return_inverse=True)
    lead = np.bincount(group, (known[0].sum(axis=0) - known[1].sum(axis=0)).astype(np.float64))
    reports = len(DELAYS) * np.bincount(group)  # that are possible in each group
    drawn = np.random.default_rng(seed).integers(0, lead.size, (DRAWS, lead.size))
    gaps = lead[drawn].sum(axis=1) / reports[drawn].sum(axis=1)
    gain = Comparison.of(float(lead.sum() / reports.sum()), gaps, int((lead != 0).sum()))
    shares = [tuple(flags.mean(axis=1).tolist()) for flags in known]
    return PairComparison(labels, truth.changes.size, shares[0], shares[1], gain)


def surprises_like(pair: Mapping[str, TriageModel], truth: Truth, like: Surprises) -> Surprises:
    """Return the surprises of a pair at the points that another pair judged.

    Args:
        pair: The models, by use.
        truth: The histories.
        like: The surprises of the other pair; points that it did not judge are left out.
    """
    surprises = surprises_of(pair["online"], pair["confirm"], truth)
    return {w: np.where(np.isfinite(like[w]), surprises[w], -np.inf) for w in surprises}


def _known(truth: Truth, surprises: Surprises) -> Flags:
    """Return for each delay whether each change is known by then."""
    method = SecondLookAlarms(truth, surprises)
    raised = method(at_rate(truth, method, RATE, ALWAYS, NEVER))
    flags: Flags = np.stack([known_within(truth, raised, delay) for delay in DELAYS])
    return flags

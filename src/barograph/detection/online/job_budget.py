"""The budget of false alarms of a CI job, which all of its series share.

The detector allows each series a few false alarms per 1,000 points. A job of 1,000 series would
then be red at almost every commit. So the job asks how rarely a quiet point gets as far as each
alarm and each suspect of the commit, and compares these rates with the number of series (Simes
1986, Benjamini & Hochberg 1995): one alarm alone must be rarer than once in as many points as the
job has series, while several at one commit support each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from barograph.detection.false_discovery import largest_kept
from barograph.detection.online.budget import Budget
from barograph.detection.online.newest import SUSPECT, departure, settle, suspect_score
from barograph.results.series import Floats

FALSE_RED = 0.1  # the share of commits without a change that may turn a job red
# About three of 100 spikes are confirmed by one to three reruns: `benchmarks/newest_commit.py`.
CONFIRMED_SPIKES = 0.03
# In some series the share of quiet points falls more slowly far out than the surprise of a suspect
# says, by this factor of the nats above SUSPECT: `benchmarks/job_alarms.py`, on the half to choose
# on.
TAIL = 0.7


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
        return _rate_of(suspect_score(surprise, float(self.budget.tails[0].surprise(probability))))

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

"""How good the alarms of one threshold are, against the marks of people."""

from typing import NamedTuple

import numpy as np

from barograph.learning.online.alarms import (
    DELAYS,
    Alarms,
    Raised,
    at_rate,
    false_by_place,
    known_within,
)
from barograph.learning.online.truth import Truth
from barograph.results.series import Flags, Ints

RATES = (1.0, 3.0, 10.0)


class OperatingPoint(NamedTuple):
    """How good the alarms of one threshold are.

    Attributes:
        threshold: The threshold.
        false_by_place: Alarms in a thousand points that point at nothing, or at a change that an
            earlier alarm has reported.
        false_by_time: Alarms in a thousand points that were raised far from any mark.
        recall: By delay, the share of changes with an alarm at the change or up to that many points
            later.
        known: By delay, the share of changes that an alarm up to that many points later points at.
    """

    threshold: float
    false_by_place: float
    false_by_time: float
    recall: tuple[float, ...]
    known: tuple[float, ...]


def measure(truth: Truth, raised: Raised, threshold: float) -> OperatingPoint:
    """Judge the alarms of one threshold, in both ways of counting."""
    raised = raised.of_judged(truth)
    points = float(truth.judged.sum())
    in_time = [found_within(truth, raised.points, delay) for delay in DELAYS]
    known = [known_within(truth, raised, delay) for delay in DELAYS]
    return OperatingPoint(
        threshold,
        1000.0 * float(false_by_place(truth, raised.places).sum()) / points,
        1000.0 * float((~truth.marked[raised.points]).sum()) / points,
        tuple(_share(flags) for flags in in_time),
        tuple(_share(flags) for flags in known),
    )


def point_at_rate(
    truth: Truth, method: Alarms, rate: float, low: float, high: float, *, by_place: bool = True
) -> OperatingPoint:
    """Judge the alarms of the threshold that `at_rate` returns."""
    threshold = at_rate(truth, method, rate, low, high, by_place=by_place)
    return measure(truth, method(threshold), threshold)


def found_within(truth: Truth, points: Ints, delay: int) -> Flags:
    """Return for each change whether there is an alarm at it or up to `delay` points later."""
    raised = np.zeros(truth.values.size, dtype=np.bool_)
    raised[points] = True
    before = np.concatenate([[0], np.cumsum(raised)])
    ends = truth.offsets[truth.series[truth.changes] + 1]
    last = np.minimum(truth.changes + delay + 1, ends)
    in_time: Flags = before[last] > before[truth.changes]
    return in_time


def _share(flags: Flags) -> float:
    return float(flags.mean()) if flags.size else 0.0

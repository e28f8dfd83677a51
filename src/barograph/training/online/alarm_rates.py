"""How early changes are found, against how many alarms are false."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from barograph.detection.online.second_look import without_repeats
from barograph.series import Floats
from barograph.training.online.truth import Flags, Truth

DELAYS = (0, 2, 5)
RATES = (1.0, 3.0, 10.0)
_HALVINGS = 24

Alarms = Callable[[float], Flags]  # the alarms at a threshold; fewer as it rises


class OperatingPoint(NamedTuple):
    """One threshold: false alarms in a thousand points, and the recall within each delay."""

    threshold: float
    false_per_thousand: float
    recall: tuple[float, ...]


def measure(truth: Truth, raised: Flags, threshold: float) -> OperatingPoint:
    """Judge the alarms of one threshold; every alarm counts."""
    judged = raised & truth.judged
    rate = 1000.0 * float((judged & ~truth.marked).sum()) / float(truth.judged.sum())
    found = [found_within(truth, judged, delay) for delay in DELAYS]
    recall = tuple(float(flags.mean()) if flags.size else 0.0 for flags in found)
    return OperatingPoint(threshold, rate, recall)


def found_within(truth: Truth, raised: Flags, delay: int) -> Flags:
    """Return for each change whether there is an alarm at it or up to `delay` points later."""
    before = np.concatenate([[0], np.cumsum(raised)])
    ends = truth.offsets[truth.series[truth.changes] + 1]
    last = np.minimum(truth.changes + delay + 1, ends)
    found: Flags = before[last] > before[truth.changes]
    return found


def at_rate(truth: Truth, method: Alarms, rate: float, low: float, high: float) -> OperatingPoint:
    """Return the lowest threshold with at most `rate` false alarms in a thousand points.

    Args:
        truth: The histories.
        method: Returns the alarms of a threshold.
        rate: False alarms in a thousand points.
        low: A threshold with too many alarms.
        high: A threshold with few enough.
    """
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if measure(truth, method(middle), middle).false_per_thousand > rate:
            low = middle
        else:
            high = middle
    return measure(truth, method(high), high)


def every_alarm(score: Floats) -> Alarms:
    """Return the method that raises an alarm at every point whose score reaches the threshold."""
    return lambda threshold: score >= threshold


def gated(truth: Truth, score: Floats) -> Alarms:
    """Return the alarms that the detector raises: repeats only where they are more certain."""

    def raised(threshold: float) -> Flags:
        result = np.zeros(score.size, dtype=np.bool_)
        above = np.flatnonzero((score >= threshold) & truth.judged)
        cuts = np.searchsorted(above, truth.offsets)
        for k in range(cuts.size - 1):
            part = above[cuts[k] : cuts[k + 1]]
            at = list(without_repeats(zip(part.tolist(), score[part].tolist(), strict=True)))
            result[at] = True
        return result

    return raised

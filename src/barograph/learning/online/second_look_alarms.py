"""The second look over many histories at any threshold, from surprises that are known.

`SecondLook` decides on one point at a time, with scores that it requests. To find a threshold, the
same rules run over a million points some hundred times: here they are a compiled loop. Tests hold
the alarms of both equal.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from barograph.detection.online.budget import LOG_WEIGHTS
from barograph.detection.online.second_look import (
    BEFORE,
    CERTAIN,
    MISPLACED,
    NEAR,
    SAME,
    SECOND_LOOK_WINDOWS,
    SHORTEST_LEVEL,
    SURER,
    WITHDRAW_BELOW,
    WITHDRAW_WINDOW,
)
from barograph.features.contrast.robust import median
from barograph.learning.online.alarm_rates import Raised
from barograph.learning.online.truth import Truth
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

WINDOWS = (0, *SECOND_LOOK_WINDOWS)
# Passed to the kernels, so that a compiled kernel never keeps former values.
RuleNumbers = tuple[int, int, int, int, int, float, float, float]
RULES: RuleNumbers = (
    SAME,
    NEAR,
    SHORTEST_LEVEL,
    BEFORE,
    WITHDRAW_WINDOW,
    WITHDRAW_BELOW,
    SURER,
    CERTAIN,
)


class SecondLookAlarms:
    """The alarms of all windows, by threshold.

    Args:
        truth: The histories.
        surprises: By window, the surprise of each point as the newest one; -inf where there is
            none. All windows of the second look are needed.
    """

    def __init__(self, truth: Truth, surprises: Mapping[int, Floats]) -> None:
        self._truth = truth
        self._surprises = np.stack([surprises[window] for window in WINDOWS])
        self._bonus = np.array([LOG_WEIGHTS.get(window, -np.inf) for window in WINDOWS])

    def __call__(self, threshold: float) -> Raised:
        """Run the second look over all histories."""
        truth = self._truth
        alarms = np.empty((truth.values.size, 2), dtype=np.int64)
        histories = truth.values, truth.offsets, self._surprises, self._bonus
        count = _run(*histories, np.array(WINDOWS), threshold, RULES, alarms)
        indices, places = alarms[:count].T.copy()
        return Raised(indices, places)


@kernel
def _run(
    values: Floats,
    offsets: Ints,
    surprises: Floats,
    bonus: Floats,
    windows: Ints,
    threshold: float,
    rules: RuleNumbers,
    alarms: Ints,
) -> int:
    """Write point and place of each alarm; return how many there are."""
    same, _, _, before, withdraw_window, withdraw_below, surer, margin = rules
    count = 0
    for k in range(offsets.size - 1):
        begin, change, standing, direction = offsets[k], -1, 0.0, 0
        for newest in range(begin, offsets[k + 1]):
            window, score, surprise = _looks(surprises[:, newest], bonus, windows, newest - change)
            place = newest - window
            unlikely = (
                change >= 0 and newest - change >= withdraw_window and surprise < withdraw_below
            )
            if not score >= threshold or (unlikely and place == change):
                change = -1 if unlikely else change
                continue
            rise = _direction(
                values[max(place - before, begin) : place], values[place : newest + 1]
            )
            opposite, distance = rise * direction < 0, place - change
            if change < 0 or unlikely:
                alarm, is_moved = change < 0 or opposite or abs(distance) > same, True
            else:
                is_surer, is_certain = score >= standing + surer, score >= threshold + margin
                alarm, is_moved = _compare(distance, opposite, is_surer, is_certain, rules)
            if not is_moved:
                continue
            place = begin + _place(values[begin : newest + 1], place - begin, before)
            if alarm:
                alarms[count, 0], alarms[count, 1] = newest, place
                count += 1
            change, standing, direction = place, score, rise
    return count


@kernel
def _compare(
    distance: int, opposite: bool, is_surer: bool, is_certain: bool, rules: RuleNumbers
) -> tuple[bool, bool]:
    """Return whether a score is an alarm beside the standing change, and whether it replaces it.

    Args:
        distance: Number of points from the standing change to the place of the score.
        opposite: Whether the directions differ.
        is_surer: Whether the score is higher than that of the standing change by SURER.
        is_certain: Whether it is higher than the threshold by CERTAIN.
        rules: The numbers of `RULES`.
    """
    same, near, shortest = rules[0], rules[1], rules[2]
    if opposite and distance != 0:
        alarm = distance > near or (distance >= shortest and is_certain)
    elif abs(distance) <= same:
        return False, is_surer
    else:
        alarm = is_surer or not 0 < distance <= near
    return alarm, alarm


@kernel
def _looks(surprises: Floats, bonus: Floats, windows: Ints, age: int) -> tuple[int, float, float]:
    """Return the window of the best score, that score, and the surprise of the standing change.

    Args:
        surprises: By window.
        bonus: What the score of each window adds to its surprise.
        windows: Rising.
        age: Number of points after the standing change.
    """
    best, score, surprise = 0, -np.inf, np.inf
    for k in range(windows.size):
        if surprises[k] + bonus[k] > score:
            best, score = int(windows[k]), surprises[k] + bonus[k]
        if windows[k] == age and surprises[k] > -np.inf:
            surprise = surprises[k]
    return best, score, surprise


@kernel
def _place(values: Floats, split: int, before: int) -> int:
    """Return what `place_of` returns."""
    first = split - MISPLACED
    if first < 1:
        return split
    lower = median(np.sort(values[max(first - before, 0) : first]))
    least, place = np.inf, split
    for candidate in range(first, min(split + MISPLACED + 1, values.size)):
        upper = median(np.sort(values[candidate:]))
        distance = np.abs(values[first:candidate] - lower).sum()
        distance += np.abs(values[candidate:] - upper).sum()
        if distance < least:
            least, place = distance, candidate
    return place


@kernel
def _direction(before: Floats, after: Floats) -> int:
    """Return what `direction_of` returns."""
    if before.size == 0:
        return 0
    lower, upper = median(np.sort(before)), median(np.sort(after))
    return int(upper > lower) - int(upper < lower)

"""The rule by which simulated people mark changes in the plot of a series.

A person marks a shift that is large compared to the noise around it and to the range of the whole
plot, and that lasts. People differ in leniency, and sometimes mark a place without a change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats, Ints
from barograph.simulator.projects import Event

NEIGHBOURHOOD = 40  # points on either side that a person compares
RIVAL = 0.6  # a neighbouring shift of at least this share of the shift's size ends the comparison
STRAY_SHARE = 0.05  # the chance that a person marks a place without a change
VISIBLE_SHARE = 0.08  # of the range of a plot: one person in two sees a shift of this size
VISIBLE_POINTS = 5  # one person in two trusts a shift whose shorter side lasts this long
CONSPICUOUS = 10.0  # times the noise: a larger shift is trusted sooner
MARGIN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """How closely people look at a plot; docs/simulator.md, "People".

    Attributes:
        leniency: The mean of people's leniency, in log sizes.
        leniency_spread: The standard deviation of people's leniency.
        relevant_share: Of the level: one person in two calls a smaller shift irrelevant.
        overlooked: The chance that a person overlooks a shift, however clear.
        largest_excess: Up to e to this power times `CONSPICUOUS`, a larger shift is trusted sooner.
        both_sides: Whether both levels must last, not only that after the shift.
    """

    leniency: float = 0.35
    leniency_spread: float = 1.2
    relevant_share: float = 0.005
    overlooked: float = 0.1
    largest_excess: float = 4.5
    both_sides: bool = True


# `varied` people dispute as much as real ones do; `attentive` people agree more.
ATTENTION = {
    "varied": Attention(),
    "attentive": Attention(
        leniency=0.0,
        leniency_spread=0.8,
        relevant_share=0.0,
        overlooked=0.0,
        largest_excess=0.0,
        both_sides=False,
    ),
}
VARIED = ATTENTION["varied"]


class Crowd(NamedTuple):
    """The marks of several people on one series: the marked indices of each person."""

    marks: tuple[Ints, ...]

    def votes(self, index: int) -> int:
        """Count the people who marked a change within `MARGIN` points of `index`."""
        return sum(bool(np.any(np.abs(mark - index) <= MARGIN)) for mark in self.marks)


def survey(
    values: Floats,
    events: Sequence[Event],
    people: int,
    rng: np.random.Generator,
    attention: Attention = VARIED,
) -> Crowd:
    """Draw the marks of several people on a series in which `events` happened."""
    leniency = rng.normal(attention.leniency, attention.leniency_spread, people)
    chances = mark_chances(values, events, leniency, attention)
    marked = rng.random(chances.shape) < chances
    places = np.array([event.index for event in events], dtype=np.int64)
    # Half of the marks are exact, a quarter are off by one and a quarter by two.
    off = rng.choice((0, 0, 1, 2), chances.shape) * rng.choice((-1, 1), chances.shape)
    strays = rng.random(people) < STRAY_SHARE
    stray_places = rng.integers(1, max(2, values.size), people)
    marks = []
    for person in range(people):
        marked_places = (places + off[person])[marked[person]]
        if strays[person]:
            marked_places = np.append(marked_places, stray_places[person])
        marks.append(np.unique(np.clip(marked_places, 1, values.size - 1)).astype(np.int64))
    return Crowd(tuple(marks))


def mark_chances(
    values: Floats, events: Sequence[Event], leniency: Floats, attention: Attention = VARIED
) -> Floats:
    """Return the probability that each person (rows) marks each event (columns)."""
    chances = np.zeros((leniency.size, len(events)))
    low, high = np.quantile(values, (0.005, 0.995))
    for k, event in enumerate(events):
        before, after, *lasting = surroundings(events, k, values.size)
        duration = min(lasting) if attention.both_sides else lasting[1]
        size, around = step_and_noise(values, before, event.index, after)
        level = float(np.median(np.abs(values[before:after])))
        seen = mark_probability(size, around, high - low, duration, leniency, attention)
        chances[:, k] = relevance(size, level, attention) * seen
    return chances


def relevance(size: float, level: float, attention: Attention = VARIED) -> float:
    """Return the probability that people find a change of this size worth a mark.

    It matters where there is little or no noise: what is clear in the plot can be a hundredth of a
    percent.
    """
    smallest = attention.relevant_share * level
    return float(_logistic(8.0 * _log_ratio(size, smallest))) if size else 0.0


def mark_probability(
    size: float,
    noise: float,
    value_range: float,
    duration: float,
    leniency: Floats | float,
    attention: Attention = VARIED,
) -> Floats:
    """Return the probability that people mark a change.

    Args:
        size: The absolute difference between the levels before and after, in the values' unit.
        noise: The noise around both levels.
        value_range: The range of the whole series, from its 0.5 % to its 99.5 % quantile.
        duration: The number of points to the nearest change of similar size, or end of the series.
        leniency: How readily each person marks.
        attention: How closely people look.

    Returns:
        One probability for each leniency.
    """
    if size == 0.0:
        return np.zeros(np.shape(leniency))
    over_noise = 4.0 * (_log_ratio(size, noise) + leniency)
    over_range = 4.0 * (_log_ratio(size, VISIBLE_SHARE * value_range) + leniency)
    excess = min(max(_log_ratio(size, CONSPICUOUS * noise), 0.0), attention.largest_excess)
    lasting = 2.5 * np.log(duration / VISIBLE_POINTS) + 0.6 * excess
    seen = _logistic(over_noise) * _logistic(over_range) * _logistic(lasting)
    return (1.0 - attention.overlooked) * seen


def step_and_noise(values: Floats, start: int, split: int, stop: int) -> tuple[float, float]:
    """Return the step between the medians of two adjacent stretches, and the noise around them."""
    before, after = values[start:split], values[split:stop]
    left, right = np.median(before), np.median(after)
    return float(abs(right - left)), noise(np.concatenate((before - left, after - right)))


def noise(values: Floats) -> float:
    """Return the noise of values without a change.

    It is 1.4826 times the median absolute deviation, and at least half of the standard deviation:
    the median absolute deviation is 0 where most values are equal.
    """
    robust = MAD_TO_SD * float(np.median(np.abs(values - np.median(values))))
    return max(robust, 0.5 * float(values.std()))


def surroundings(events: Sequence[Event], k: int, length: int) -> tuple[int, int, int, int]:
    """Return where the stretches around event `k` start and end, and how long each level lasts.

    Both levels reach to the nearest event that is not much smaller, or to an end of the series. The
    shorter one counts where both must last: of a short pulse people mark both ends or none.
    """
    index = events[k].index
    smallest = RIVAL * abs(events[k].shift)
    rivals = [event.index for event in events if abs(event.shift) >= smallest]
    previous = max([0, *(rival for rival in rivals if rival < index)])
    following = min([length, *(rival for rival in rivals if rival > index)])
    before, after = max(previous, index - NEIGHBOURHOOD), min(following, index + NEIGHBOURHOOD)
    return before, after, index - previous, following - index


def _log_ratio(size: float, scale: float) -> float:
    return float(np.log(size / scale)) if scale > 0.0 else 50.0


def _logistic(x: Floats | float) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -50.0, 50.0))), dtype=np.float64)

"""The rules by which simulated people mark changes in the plot of a series, and triage candidates.

A person marks a shift that is large compared to the noise around it and to the range of the whole
plot, and that lasts. People differ in leniency, and sometimes mark a place without a change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats, Ints, Verdict
from barograph.simulator.projects import HOUR_MS, Event, Stream, stream
from barograph.simulator.world import SimulatedSeries

NEIGHBOURHOOD = 40  # points on either side that a person compares
RIVAL = 0.6  # a neighbouring shift of at least this share of the shift's size ends the comparison
STRAY_SHARE = 0.05  # the chance that a person marks a place without a change
VISIBLE_SHARE = 0.08  # of the range of a plot: one person in two sees a shift of this size
VISIBLE_POINTS = 5  # one person in two trusts a shift whose shorter side lasts this long
CONSPICUOUS = 10.0  # times the noise: a larger shift is trusted sooner
MARGIN = 5
WATCHED = 0.7  # the share of series that people watch; canaries are never watched
MISSED = 0.1  # the share of commits that people do not get to
MISTAKEN = 0.03  # the share of verdicts that are wrong
DELAY_MS = 2 * 24 * HOUR_MS  # the mean time from a candidate to its verdict
# A detector needs a few points after a change to find it (Daly et al. 2020, 6).
LEAST_LAG = 3


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


Marks = tuple[Ints, ...]  # the indices that each of several people marked on one series


def votes_for(index: int, marks: Marks, margin: int = MARGIN) -> int:
    """Count the people who marked a change within a margin of points of an index."""
    return sum(bool(np.any(np.abs(places - index) <= margin)) for places in marks)


def survey(
    values: Floats,
    events: Sequence[Event],
    people: int,
    rng: np.random.Generator,
    attention: Attention = VARIED,
) -> Marks:
    """Draw the marks of several people on a series in which `events` happened."""
    leniency = rng.normal(attention.leniency, attention.leniency_spread, people)
    chances = mark_chances(values, events, leniency, attention)
    marked = rng.random(chances.shape) < chances
    # Half of the marks are exact, a quarter are off by one and a quarter by two.
    off = rng.choice((0, 0, 1, 2), chances.shape) * rng.choice((-1, 1), chances.shape)
    places = np.array([event.index for event in events], dtype=np.int64) + off
    strays = rng.random(people) < STRAY_SHARE
    elsewhere = rng.integers(1, max(2, values.size), people)
    marks = [
        np.append(places[k][marked[k]], elsewhere[k : k + 1][strays[k : k + 1]])
        for k in range(people)
    ]
    return tuple(np.unique(np.clip(m, 1, values.size - 1)).astype(np.int64) for m in marks)


def mark_chances(
    values: Floats, events: Sequence[Event], leniency: Floats, attention: Attention = VARIED
) -> Floats:
    """Return the probability that each person (rows) marks each event (columns).

    Args:
        values: The values of the series.
        events: The events of the series.
        leniency: How readily each person marks.
        attention: How closely people look.
    """
    chances = np.zeros((leniency.size, len(events)))
    low, high = np.quantile(values, (0.005, 0.995))
    for k, event in enumerate(events):
        before, after, *lasting = surroundings(events, k, values.size)
        size, around = step_and_noise(values, before, event.index, after)
        if size == 0.0:
            continue
        seen = _logistic(4.0 * (_log_ratio(size, around) + leniency))
        seen *= _logistic(4.0 * (_log_ratio(size, VISIBLE_SHARE * (high - low)) + leniency))
        excess = min(max(_log_ratio(size, CONSPICUOUS * around), 0.0), attention.largest_excess)
        duration = min(lasting) if attention.both_sides else lasting[1]
        seen *= _logistic(2.5 * np.log(duration / VISIBLE_POINTS) + 0.6 * excess)
        # Where there is no noise, a hundredth of a percent is clear in the plot: is it relevant?
        smallest = attention.relevant_share * float(np.median(np.abs(values[before:after])))
        relevant = _logistic(8.0 * _log_ratio(size, smallest))
        chances[:, k] = relevant * ((1.0 - attention.overlooked) * seen)
    return chances


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


class Triage(NamedTuple):
    """The verdict on a candidate.

    Attributes:
        verdict: What the team recorded.
        calculated_on: The time of the analysis, in milliseconds since 1970.
        triaged_on: The time of the verdict, or None.
    """

    verdict: Verdict
    calculated_on: int
    triaged_on: int | None


def triage_candidates(
    series: SimulatedSeries,
    marks: Marks,
    candidates: Sequence[int],
    investigated: float,
    seed: int,
) -> list[Triage]:
    """Assign a verdict to each candidate; most stay untriaged.

    Args:
        series: The series.
        marks: The marks of the people.
        candidates: The indices of the candidates.
        investigated: The share of disputed candidates that are under investigation; the others
            stay untriaged.
        seed: The seed of the world.
    """
    rng = stream(seed, Stream.CANDIDATE, series.home.profile.key, series.number)
    watched = not series.canary and rng.random() < WATCHED
    created = series.created()
    results = []
    for index in candidates:
        # Drawn for every candidate, so that no verdict affects the draws of the next candidate.
        lag, wrong, pending = LEAST_LAG + rng.geometric(0.35), rng.random(), rng.random()
        # The first analysis with `lag` points from the candidate on, or with all.
        calculated = int(created[index : index + int(lag)].max()) + HOUR_MS
        # Whether the commit is missed and how long it waits; people triage commit by commit.
        where = series.home.profile.key, series.home.number, int(series.orders[index])
        of_commit = stream(seed, Stream.COMMIT, *where)
        missed, delay = of_commit.random(), of_commit.exponential()
        verdict = verdict_of_votes(votes_for(index, marks), len(marks))
        if verdict.is_final and wrong < MISTAKEN:
            verdict = opposite(verdict)
        is_put_off = verdict is Verdict.UNDER_INVESTIGATION and pending >= investigated
        if is_put_off or not watched or missed < MISSED:
            results.append(Triage(Verdict.NOT_TRIAGED, calculated, None))
        else:
            triaged = calculated + HOUR_MS + round(DELAY_MS * delay)
            results.append(Triage(verdict, calculated, triaged))
    return results


def verdict_of_votes(votes: int, people: int) -> Verdict:
    """Return true positive for a majority, false positive for no votes, else disputed."""
    if 2 * votes > people:
        return Verdict.TRUE_POSITIVE
    return Verdict.UNDER_INVESTIGATION if votes else Verdict.FALSE_POSITIVE


def opposite(verdict: Verdict) -> Verdict:
    """Return the other final verdict."""
    if verdict is Verdict.TRUE_POSITIVE:
        return Verdict.FALSE_POSITIVE
    return Verdict.TRUE_POSITIVE

"""Simulated triage: when each candidate was calculated, and the verdict that it got."""

from collections.abc import Sequence
from dataclasses import dataclass

from barograph.results.series import Ints, Verdict
from barograph.simulator.people import Crowd
from barograph.simulator.projects import HOUR_MS, Stream, stream
from barograph.simulator.world import SimulatedSeries

DAY_MS = 24 * HOUR_MS
# A detector needs a few points after a change to find it (Daly et al. 2020, 6).
LEAST_LAG = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a team triages its candidates.

    Args:
        watched: The share of series that people watch; canaries are never watched.
        missed: The share of commits that people do not get to.
        mistaken: The share of verdicts that are wrong.
        investigated: The share of disputed candidates that are under investigation; the others
            stay untriaged.
        days: The mean number of days from a candidate to its verdict.
    """

    watched: float = 0.7
    missed: float = 0.1
    mistaken: float = 0.03
    investigated: float = 0.5
    days: float = 2.0


@dataclass(frozen=True, slots=True)
class TriagedCandidate:
    """A candidate with its votes and its verdict.

    Attributes:
        index: The index of its point.
        votes: The number of people who marked a change near it.
        verdict: What the team recorded.
        mistaken: Whether the verdict is not what the votes say.
        calculated_on: The time of the analysis, in milliseconds since 1970.
        triaged_on: The time of the verdict, or None.
    """

    index: int
    votes: int
    verdict: Verdict
    mistaken: bool
    calculated_on: int
    triaged_on: int | None


def triage_candidates(
    series: SimulatedSeries, crowd: Crowd, candidates: Sequence[int], habits: Habits, seed: int
) -> list[TriagedCandidate]:
    """Assign a verdict to each candidate; most stay untriaged."""
    rng = stream(seed, Stream.CANDIDATE, series.home.profile.key, series.number)
    watched = not series.canary and rng.random() < habits.watched
    created = series.created()
    results = []
    for index in candidates:
        votes = crowd.votes(index)
        # Drawn for every candidate, so that no verdict affects the draws of the next candidate.
        lag, wrong, pending = LEAST_LAG + rng.geometric(0.35), rng.random(), rng.random()
        calculated = when_calculated(created, index, int(lag))
        missed, delay = draw_commit(series, int(series.orders[index]), seed)
        verdict = verdict_of_votes(votes, len(crowd.marks))
        mistaken = verdict.is_final and wrong < habits.mistaken
        if mistaken:
            verdict = opposite(verdict)
        if verdict is Verdict.UNDER_INVESTIGATION and pending >= habits.investigated:
            verdict = Verdict.NOT_TRIAGED
        if not watched or missed < habits.missed:
            verdict, mistaken = Verdict.NOT_TRIAGED, False
        triaged = None
        if verdict is not Verdict.NOT_TRIAGED:
            triaged = calculated + HOUR_MS + round(habits.days * DAY_MS * delay)
        results.append(TriagedCandidate(index, votes, verdict, mistaken, calculated, triaged))
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


def when_calculated(created: Ints, index: int, lag: int) -> int:
    """Return the time of the first analysis with `lag` points from `index` on, or with all."""
    return int(created[index : index + lag].max()) + HOUR_MS


def draw_commit(series: SimulatedSeries, order: int, seed: int) -> tuple[float, float]:
    """Draw whether a commit is missed and how long it waits; people triage commit by commit."""
    home = series.home
    rng = stream(seed, Stream.COMMIT, home.profile.key, home.number, order)
    return float(rng.random()), float(rng.exponential())

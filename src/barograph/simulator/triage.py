"""Simulated triage: when each candidate was calculated, and the verdict that it got."""

from collections.abc import Sequence
from typing import NamedTuple

from barograph.results.series import Verdict
from barograph.simulator.people import Crowd
from barograph.simulator.projects import HOUR_MS, Stream, stream
from barograph.simulator.world import SimulatedSeries

WATCHED = 0.7  # the share of series that people watch; canaries are never watched
MISSED = 0.1  # the share of commits that people do not get to
MISTAKEN = 0.03  # the share of verdicts that are wrong
DELAY_MS = 2 * 24 * HOUR_MS  # the mean time from a candidate to its verdict
# A detector needs a few points after a change to find it (Daly et al. 2020, 6).
LEAST_LAG = 3


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
    crowd: Crowd,
    candidates: Sequence[int],
    investigated: float,
    seed: int,
) -> list[Triage]:
    """Assign a verdict to each candidate; most stay untriaged.

    Args:
        series: The series.
        crowd: The marks of the people.
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
        missed, delay = draw_commit(series, int(series.orders[index]), seed)
        verdict = verdict_of_votes(crowd.votes(index), len(crowd.marks))
        if verdict.is_final and wrong < MISTAKEN:
            verdict = opposite(verdict)
        if verdict is Verdict.UNDER_INVESTIGATION and pending >= investigated:
            verdict = Verdict.NOT_TRIAGED
        if not watched or missed < MISSED:
            verdict = Verdict.NOT_TRIAGED
        triaged = None
        if verdict is not Verdict.NOT_TRIAGED:
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


def draw_commit(series: SimulatedSeries, order: int, seed: int) -> tuple[float, float]:
    """Draw whether a commit is missed and how long it waits; people triage commit by commit."""
    home = series.home
    rng = stream(seed, Stream.COMMIT, home.profile.key, home.number, order)
    return float(rng.random()), float(rng.exponential())

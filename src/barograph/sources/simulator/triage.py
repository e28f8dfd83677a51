"""What becomes of the candidates: when each was calculated, who looked at it, what was said."""

from collections.abc import Sequence
from dataclasses import dataclass

from barograph.series import Ints, Verdict
from barograph.sources.simulator.people import Crowd
from barograph.sources.simulator.projects import HOUR_MS
from barograph.sources.simulator.seeds import Stream, stream
from barograph.sources.simulator.world import SimulatedSeries

DAY_MS = 24 * HOUR_MS
# A detector needs a few points behind a change before it sees it (Daly et al. 2020, 6).
LEAST_LAG = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a team works through its candidates.

    Args:
        watched: The share of series whose candidates are looked at; canaries never are.
        missed: The share of commits that nobody finds the time for.
        mistaken: The share of verdicts that come out the wrong way round.
        investigated: The share of disputed candidates that are still under investigation; the
            others stay untriaged.
        days: The mean time from a candidate to its verdict.
    """

    watched: float = 0.7
    missed: float = 0.1
    mistaken: float = 0.03
    investigated: float = 0.5
    days: float = 2.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with its votes and its verdict; `mistaken` when that is not what they say."""

    index: int
    votes: int
    verdict: Verdict
    mistaken: bool
    calculated_on: int  # milliseconds since 1970, as is the next
    triaged_on: int | None


def judge(
    series: SimulatedSeries, crowd: Crowd, candidates: Sequence[int], habits: Habits, seed: int
) -> list[Judged]:
    """Give every candidate of a series its verdict, most of all none."""
    rng = stream(seed, Stream.CANDIDATE, series.home.profile.key, series.number)
    watched = not series.canary and rng.random() < habits.watched
    created = series.created()
    judged = []
    for index in candidates:
        votes = crowd.votes(index)
        # Drawn for every candidate alike, so that one verdict never moves the next one's luck.
        lag, wrong, pending = LEAST_LAG + rng.geometric(0.35), rng.random(), rng.random()
        calculated = when_calculated(created, index, int(lag))
        missed, delay = commit_luck(series, int(series.orders[index]), seed)
        verdict = opinion(votes, len(crowd.marks))
        mistaken = verdict.is_final and wrong < habits.mistaken
        if mistaken:
            verdict = opposite(verdict)
        if verdict is Verdict.UNDER_INVESTIGATION and pending >= habits.investigated:
            verdict = Verdict.NOT_TRIAGED
        if not watched or missed < habits.missed:
            verdict, mistaken = Verdict.NOT_TRIAGED, False
        looked_at = verdict is not Verdict.NOT_TRIAGED
        triaged = calculated + HOUR_MS + round(habits.days * DAY_MS * delay) if looked_at else None
        judged.append(Judged(index, votes, verdict, mistaken, calculated, triaged))
    return judged


def opinion(votes: int, people: int) -> Verdict:
    """Say what the votes come to: a majority is true, nobody is false, the rest is disputed."""
    if 2 * votes > people:
        return Verdict.TRUE_POSITIVE
    return Verdict.UNDER_INVESTIGATION if votes else Verdict.FALSE_POSITIVE


def opposite(verdict: Verdict) -> Verdict:
    """Return the other one of the two final verdicts."""
    if verdict is Verdict.TRUE_POSITIVE:
        return Verdict.FALSE_POSITIVE
    return Verdict.TRUE_POSITIVE


def when_calculated(created: Ints, index: int, lag: int) -> int:
    """Return the time of the analysis that had `lag` points from `index` on, or all there are."""
    return int(created[index : index + lag].max()) + HOUR_MS


def commit_luck(series: SimulatedSeries, order: int, seed: int) -> tuple[float, float]:
    """Draw whether a commit is missed, and how long it waits: people triage commit by commit."""
    home = series.home
    rng = stream(seed, Stream.COMMIT, home.profile.key, home.number, order)
    return float(rng.random()), float(rng.exponential())

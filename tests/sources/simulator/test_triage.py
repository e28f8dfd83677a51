"""Verdicts follow the votes and come after their candidates; most candidates stay untriaged."""

import numpy as np
import pytest

from barograph.results.series import Verdict
from barograph.simulator.people import Crowd
from barograph.simulator.profiles import LONG
from barograph.simulator.triage import (
    Habits,
    TriagedCandidate,
    opposite,
    triage_candidates,
    verdict_of_votes,
)
from barograph.simulator.world import SimulatedSeries, World

SEED = 2
EVERYTHING = Habits(watched=1.0, missed=0.0, mistaken=0.0)


def crowd_of(series: SimulatedSeries) -> Crowd:
    """Everybody marks 20, one person 60, nobody 100."""
    both = np.array([20, 60])
    return Crowd((both, *[np.array([20])] * 4), np.zeros(0))


def judged(habits: Habits, count: int = 60) -> list[list[TriagedCandidate]]:
    return [
        triage_candidates(series, crowd_of(series), [20, 60, 100], habits, SEED)
        for series in World(SEED, LONG).stream(0, count)
        if not series.canary
    ]


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        (0, Verdict.FALSE_POSITIVE),
        (1, Verdict.UNDER_INVESTIGATION),
        (2, Verdict.UNDER_INVESTIGATION),
        (3, Verdict.TRUE_POSITIVE),
        (5, Verdict.TRUE_POSITIVE),
    ],
)
def test_majority_is_true_and_no_votes_is_false(votes: int, verdict: Verdict) -> None:
    assert verdict_of_votes(votes, 5) is verdict


def test_verdicts_without_mistakes_follow_the_votes() -> None:
    for first, second, third in judged(EVERYTHING):
        assert (first.votes, first.verdict) == (5, Verdict.TRUE_POSITIVE)
        assert (second.votes, second.verdict.is_final) == (1, False)
        assert (third.votes, third.verdict) == (0, Verdict.FALSE_POSITIVE)


def test_half_of_the_disputed_are_under_investigation() -> None:
    pending = [row[1].verdict is Verdict.UNDER_INVESTIGATION for row in judged(EVERYTHING)]
    assert 0.3 < np.mean(pending) < 0.7


def test_times_are_causal() -> None:
    for series in World(SEED, LONG).stream(0, 40):
        created = series.created()
        for row in triage_candidates(series, crowd_of(series), [20, 60, 100], EVERYTHING, SEED):
            # At least two later results were there, if there are any.
            last = min(row.index + 2, series.values.size - 1)
            assert row.calculated_on > created[row.index : last + 1].max()
            if row.triaged_on is not None:
                assert row.triaged_on > row.calculated_on


def test_candidate_at_the_end_is_calculated_at_the_end() -> None:
    series = World(SEED, LONG).series(3)
    last = series.values.size - 1
    (row,) = triage_candidates(series, crowd_of(series), [last], EVERYTHING, SEED)
    assert row.calculated_on == series.created()[last] + 3_600_000


def test_untriaged_candidates_have_no_time_of_triage() -> None:
    rows = [j for row in judged(Habits()) for j in row]
    for j in rows:
        assert (j.triaged_on is None) == (j.verdict is Verdict.NOT_TRIAGED)
    share = np.mean([j.verdict is Verdict.NOT_TRIAGED for j in rows])
    assert 0.25 < share < 0.7


def test_mistakes_invert_the_verdict() -> None:
    rows = [j for row in judged(Habits(watched=1.0, missed=0.0, mistaken=1.0)) for j in row]
    final = [j for j in rows if j.verdict.is_final]
    assert len(final) > 50
    assert all(j.mistaken and j.verdict is opposite(verdict_of_votes(j.votes, 5)) for j in final)


def test_canaries_are_never_triaged() -> None:
    canaries = [s for s in World(SEED, LONG).stream(0, 60) if s.canary]
    assert canaries
    for series in canaries:
        rows = triage_candidates(series, crowd_of(series), [20], EVERYTHING, SEED)
        assert rows[0].verdict is Verdict.NOT_TRIAGED


def test_whole_commits_are_missed() -> None:
    habits = Habits(watched=1.0, missed=0.5, mistaken=0.0)
    by_commit: dict[tuple[str, int], set[bool]] = {}
    for series in World(SEED, LONG).stream(0, 120):
        if not series.canary:
            for row in triage_candidates(series, crowd_of(series), [20, 100], habits, SEED):
                key = series.home.name, int(series.orders[row.index])
                missed = row.verdict is Verdict.NOT_TRIAGED
                by_commit.setdefault(key, set()).add(missed)
    assert all(len(outcomes) == 1 for outcomes in by_commit.values())
    assert {True} in by_commit.values()
    assert {False} in by_commit.values()

"""Verdicts follow the votes and come after their candidates; most candidates stay untriaged."""

import numpy as np
import pytest

from barograph.results.series import Verdict
from barograph.simulator import people
from barograph.simulator.people import Marks, Triage, opposite, triage_candidates, verdict_of_votes
from barograph.simulator.profiles import LONG
from barograph.simulator.world import SimulatedSeries, World

SEED = 2
PLACES = [20, 60, 100]


@pytest.fixture
def diligent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team that looks at everything and makes no mistake."""
    for name, share in (("WATCHED", 1.0), ("MISSED", 0.0), ("MISTAKEN", 0.0)):
        monkeypatch.setattr(people, name, share)


def crowd_of(series: SimulatedSeries) -> Marks:
    """Everybody marks 20, one person 60, nobody 100."""
    both = np.array([20, 60])
    return (both, *[np.array([20])] * 4)


def judged(count: int = 60) -> list[list[Triage]]:
    return [
        triage_candidates(series, crowd_of(series), PLACES, 0.5, SEED)
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


@pytest.mark.usefixtures("diligent")
def test_verdicts_without_mistakes_follow_the_votes() -> None:
    for first, second, third in judged():
        assert first.verdict == Verdict.TRUE_POSITIVE
        assert not second.verdict.is_final
        assert third.verdict == Verdict.FALSE_POSITIVE


@pytest.mark.usefixtures("diligent")
def test_half_of_the_disputed_are_under_investigation() -> None:
    pending = [row[1].verdict is Verdict.UNDER_INVESTIGATION for row in judged()]
    assert 0.3 < np.mean(pending) < 0.7


@pytest.mark.usefixtures("diligent")
def test_times_are_causal() -> None:
    for series in World(SEED, LONG).stream(0, 40):
        created = series.created()
        rows = triage_candidates(series, crowd_of(series), PLACES, 0.5, SEED)
        for index, row in zip(PLACES, rows, strict=True):
            # At least two later results were there, if there are any.
            last = min(index + 2, series.values.size - 1)
            assert row.calculated_on > created[index : last + 1].max()
            if row.triaged_on is not None:
                assert row.triaged_on > row.calculated_on


def test_candidate_at_the_end_is_calculated_at_the_end() -> None:
    series = World(SEED, LONG).series(3)
    last = series.values.size - 1
    (row,) = triage_candidates(series, crowd_of(series), [last], 0.5, SEED)
    assert row.calculated_on == series.created()[last] + 3_600_000


def test_untriaged_candidates_have_no_time_of_triage() -> None:
    rows = [j for row in judged() for j in row]
    for j in rows:
        assert (j.triaged_on is None) == (j.verdict is Verdict.NOT_TRIAGED)
    share = np.mean([j.verdict is Verdict.NOT_TRIAGED for j in rows])
    assert 0.25 < share < 0.7


@pytest.mark.usefixtures("diligent")
def test_mistakes_invert_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MISTAKEN", 1.0)
    rows = judged()
    assert len(rows) > 25
    for first, _, third in rows:
        assert first.verdict is opposite(verdict_of_votes(5, 5))
        assert third.verdict is opposite(verdict_of_votes(0, 5))


@pytest.mark.usefixtures("diligent")
def test_canaries_are_never_triaged() -> None:
    canaries = [s for s in World(SEED, LONG).stream(0, 60) if s.canary]
    assert canaries
    for series in canaries:
        rows = triage_candidates(series, crowd_of(series), [20], 0.5, SEED)
        assert rows[0].verdict is Verdict.NOT_TRIAGED


@pytest.mark.usefixtures("diligent")
def test_whole_commits_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MISSED", 0.5)
    by_commit: dict[tuple[str, int], set[bool]] = {}
    for series in World(SEED, LONG).stream(0, 120):
        if not series.canary:
            rows = triage_candidates(series, crowd_of(series), [20, 100], 0.5, SEED)
            for index, row in zip([20, 100], rows, strict=True):
                key = series.home.name, int(series.orders[index])
                missed = row.verdict is Verdict.NOT_TRIAGED
                by_commit.setdefault(key, set()).add(missed)
    assert all(len(outcomes) == 1 for outcomes in by_commit.values())
    assert {True} in by_commit.values()
    assert {False} in by_commit.values()

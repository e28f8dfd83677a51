"""The model of people's marks: candidates, votes, and the rule for what to report."""

import numpy as np
import pytest
from crowd import (
    CrowdTriage,
    MarkedCandidates,
    agreement,
    choose_rule,
    marked_candidates,
    report,
    votes_for,
)
from soft_labels import boosted_ensemble

from barograph.detection import Hunter
from barograph.evaluation.annotators import Marked, f1
from barograph.series import Floats

PEOPLE = 5


def history(rng: np.random.Generator) -> tuple[Floats, tuple[tuple[int, ...], ...]]:
    """Return series with a clear step, which people mark, and short unmarked excursions."""
    values = rng.normal(100.0, 1.0, 240)
    step = int(rng.integers(60, 180))
    values[step:] += 8.0
    for start in rng.choice(np.r_[10 : step - 20, step + 15 : 225], 2):
        values[start : start + 5] += 4.0
    marks = tuple(
        (step + int(rng.integers(-1, 2)),) if rng.random() < 0.9 else () for _ in range(PEOPLE)
    )
    return values, marks


def marked(count: int, seed: int) -> Marked:
    rng = np.random.default_rng(seed)
    values, marks = zip(*(history(rng) for _ in range(count)), strict=True)
    offsets = np.arange(count + 1) * 240
    return Marked(np.concatenate(values), offsets, marks, np.arange(count) // 2)


@pytest.fixture(scope="module")
def triage() -> CrowdTriage:
    return CrowdTriage.fit(marked(30, 1), lambda: boosted_ensemble(trees=30, members=1))


def test_report_beats_an_empty_report_and_plain_detection_on_new_series(
    triage: CrowdTriage,
) -> None:
    fresh = marked(15, 2)
    points_by_series = Hunter(pvalue=0.001).find_many(fresh.values, fresh.offsets)
    detected = {k: [point.index for point in points] for k, points in enumerate(points_by_series)}
    ours = agreement(fresh, triage.report(fresh))
    assert ours > agreement(fresh, {}) + 0.1
    assert ours > agreement(fresh, detected) + 0.1


def test_probability_follows_the_share_of_people(triage: CrowdTriage) -> None:
    rows = marked_candidates(marked(15, 3), Hunter(pvalue=0.001, parity=True))
    q = triage.probability(rows)
    assert q[rows.share > 0.5].min() > q[rows.votes == 0].mean() + 0.3


def test_votes_for_counts_people_within_the_margin() -> None:
    assert votes_for(50, ((45, 55), (56,), (), (50,))) == 2


def test_marked_candidates_are_label_free() -> None:
    data = marked(6, 4)
    blind = Marked(data.values, data.offsets, ((((),) * PEOPLE),) * 6, data.groups)
    seen, unseen = (marked_candidates(d, Hunter(pvalue=0.01)) for d in (data, blind))
    assert (seen.X == unseen.X).all()
    assert seen.votes.any()
    assert not unseen.votes.any()


def test_part_contains_only_its_series() -> None:
    data = marked(6, 5)
    part = data.part(np.array([4, 1]))
    detector = Hunter(pvalue=0.01)
    whole = marked_candidates(data, detector)
    rows = marked_candidates(part, detector)
    expected = [np.flatnonzero(whole.series == k) for k in (4, 1)]
    assert (whole.X[np.concatenate(expected)] == rows.X).all()
    assert part.groups.tolist() == [2, 0]


def test_choose_rule_maximises_agreement() -> None:
    marks = (((50,), (50,), (50,)), ((), (), (70,)))
    data = Marked(np.zeros(200), np.array([0, 100, 200]), marks, np.arange(2))
    column = np.array([0, 0, 1])
    rows = MarkedCandidates(
        column, np.array([20, 50, 70]), np.zeros((3, 1)), column, column, column.astype(np.int64)
    )
    q = np.array([0.15, 0.7, 0.3])
    chosen = report(rows, q, *choose_rule(data, rows, q))
    assert chosen[0] == [50]
    assert f1(chosen[0], marks[0]) == 1.0
    everything = report(rows, q, 50.0, 0.0)
    assert everything == {0: [20, 50], 1: [70]}


def test_report_without_candidates_is_empty(triage: CrowdTriage) -> None:
    flat = Marked(np.ones(50), np.array([0, 50]), ((((),) * PEOPLE),), np.zeros(1, np.int64))
    assert triage.report(flat) == {}

"""The model of people's marks: candidates, votes, and the rule for what to report."""

from itertools import chain, combinations

import numpy as np
import pytest
from crowd import (
    CrowdTriage,
    MarkedCandidates,
    agreement,
    best_set,
    boosted_ensemble,
    choose_rule,
    expected_f1,
    fit_shares,
    held_out_probability,
    marked_candidates,
    probability,
    report,
    strongest_apart,
    votes_for,
    weighted_rows,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from barograph.detection import Hunter
from barograph.learning.metrics import f1_of_marks
from barograph.learning.online.truth import Marked
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

PEOPLE = 5
shares = hnp.arrays(np.float64, st.integers(0, 8), elements=st.floats(0.0, 1.0))
crowds = st.floats(1.0, 20.0)


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
    assert f1_of_marks(chosen[0], marks[0]) == 1.0
    everything = report(rows, q, 50.0, 0.0)
    assert everything == {0: [20, 50], 1: [70]}


def test_report_without_candidates_is_empty(triage: CrowdTriage) -> None:
    flat = Marked(np.ones(50), np.array([0, 50]), ((((),) * PEOPLE),), np.zeros(1, np.int64))
    assert triage.report(flat) == {}


def of_set(q: Floats, chosen: tuple[int, ...], crowd: float) -> float:
    """Return the expected F1 of any set by its formula."""
    precision = (1 + sum(1 - (1 - q[i]) ** crowd for i in chosen)) / (1 + len(chosen))
    recall = (1 + sum(q[i] for i in chosen)) / (1 + q.sum())
    return float(2 * precision * recall / (precision + recall))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(shares, crowds)
def test_best_set_has_the_greatest_expected_f1(q: Floats, crowd: float) -> None:
    every = chain.from_iterable(combinations(range(q.size), n) for n in range(q.size + 1))
    best = max(of_set(q, chosen, crowd) for chosen in every)
    chosen = tuple(best_set(q, crowd).tolist())
    assert of_set(q, chosen, crowd) == pytest.approx(best, rel=1e-12)
    assert expected_f1(q, crowd).max() == pytest.approx(best, rel=1e-12)


def test_best_set_includes_certain_and_excludes_impossible_points() -> None:
    assert best_set(np.array([1.0, 0.0, 1.0]), 2.0).tolist() == [0, 2]
    assert best_set(np.array([0.01, 0.02]), 2.0).size == 0
    assert best_set(np.array([]), 2.0).size == 0


def test_larger_crowd_reports_more_and_threshold_less() -> None:
    q = np.linspace(0.05, 0.95, 10)
    counts = [best_set(q, crowd).size for crowd in (1.0, 2.0, 5.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    assert q[best_set(q, 5.0, threshold=0.5)].min() >= 0.5


def test_strongest_apart_keeps_the_stronger_of_two_close_candidates() -> None:
    index = np.array([10, 14, 19, 40])
    q = np.array([0.3, 0.6, 0.5, 0.1])
    assert strongest_apart(index, q, 5).tolist() == [1, 3]
    assert strongest_apart(index, q, 4).tolist() == [1, 2, 3]


class Memory:
    """Returns 1 for exactly the rows that it was fitted to."""

    def fit(self, X: Floats, y: Ints, sample_weight: Floats) -> "Memory":
        assert X.shape[0] == y.size == sample_weight.size
        self.seen = {tuple(row) for row in X.tolist()}
        return self

    def predict_proba(self, X: Floats) -> Floats:
        yes = np.array([float(tuple(row) in self.seen) for row in X.tolist()])
        return np.column_stack((1.0 - yes, yes))


def test_weighted_rows_are_in_both_classes_by_their_votes() -> None:
    X = np.array([[1.0], [2.0], [3.0]])
    rows, classes, weights = weighted_rows(X, np.array([1.0, 0.0, 0.4]))
    assert rows.ravel().tolist() == [1.0, 3.0, 2.0, 3.0]
    assert classes.tolist() == [1, 1, 0, 0]
    assert weights.tolist() == pytest.approx([1.0, 0.4, 1.0, 0.6])


def test_fit_shares_predicts_the_shares() -> None:
    X = np.repeat(np.array([[0.0, 1.0], [1.0, 0.0]]), 200, axis=0)
    share = np.repeat(np.array([0.2, 0.7]), 200)
    model = fit_shares(boosted_ensemble(trees=60, members=2), X, share)
    assert probability(model, X[[0, -1]]) == pytest.approx([0.2, 0.7], abs=0.03)


def test_boosted_ensemble_depends_only_on_the_seed() -> None:
    rng = np.random.default_rng(0)
    X, share = rng.normal(size=(120, 4)), rng.random(120)
    first, same, other = (
        probability(fit_shares(boosted_ensemble(seed, trees=20, members=2), X, share), X)
        for seed in (1, 1, 2)
    )
    assert (first == same).all()
    assert (first != other).any()


def test_held_out_probability_never_sees_the_group() -> None:
    groups = np.repeat(np.arange(8), 5)
    X = groups[:, None].astype(float)  # all rows of a group look alike
    share = np.tile([0.0, 0.2, 0.4, 0.6, 1.0], 8)
    assert (held_out_probability(Memory, X, share, groups) == 0.0).all()
    assert (probability(fit_shares(Memory(), X, share), X) == 1.0).all()


def test_a_single_group_and_equal_shares_are_refused() -> None:
    X = np.zeros((4, 1))
    with pytest.raises(NotEnoughDataError, match="1 group; at least 2 are needed"):
        held_out_probability(Memory, X, np.array([0.0, 1.0, 0.0, 1.0]), np.zeros(4))
    with pytest.raises(NotEnoughDataError, match=r"shares range from 0\.5 to 0\.5"):
        fit_shares(Memory(), X, np.full(4, 0.5))

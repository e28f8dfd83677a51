"""Training on shares of votes, and prediction for held-out groups."""

import numpy as np
import pytest
from soft_labels import (
    boosted_ensemble,
    fit_shares,
    held_out_probability,
    probability,
    weighted_rows,
)

from barograph.errors import NotEnoughDataError
from barograph.series import Floats, Ints


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

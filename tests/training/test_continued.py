"""Models that are continued: verdicts are learned, and nothing is forgotten."""

import numpy as np
import pytest

from barograph.learning.comparison import auc
from barograph.learning.continued import MOST_REMEMBERED, TREES, Start, continued
from barograph.models.catalogue import classifier
from barograph.models.kinds import from_fitted
from barograph.models.trees import Boosted
from barograph.results.series import Floats, Ints

COLUMNS = 4


def rows(count: int, seed: int, column: int = 0, noise: float = 1.0) -> tuple[Floats, Ints]:
    """Return rows whose class depends on one column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, COLUMNS))
    return X, (X[:, column] + noise * rng.normal(size=count) > 0).astype(np.int64)


def taught(start: Boosted, X: Floats, y: Ints, seed: int = 0) -> Boosted:
    known = rows(1000, 50)[0]
    lessons = X, y, np.ones(y.size)
    remembered = Start.of(start, known, np.ones(len(known)))
    return continued(remembered, lessons, seed, most=MOST_REMEMBERED)


@pytest.fixture(scope="module")
def start() -> Boosted:
    fitted = classifier("xgboost", seed=0, trees=40).fit(*rows(2000, 1))
    made = from_fitted(fitted)
    assert isinstance(made, Boosted)
    return made


@pytest.mark.parametrize("count", [8, 40, 400])
def test_nothing_is_forgotten(start: Boosted, count: int) -> None:
    X, y = rows(2000, 99)
    before = auc(y, start.predict_proba(X)[:, 1])
    for seed in range(5):
        made = taught(start, *rows(count, 10 + seed), seed)
        assert auc(y, made.predict_proba(X)[:, 1]) > before - 0.005


def test_verdicts_teach_what_the_model_does_not_know(start: Boosted) -> None:
    X, y = rows(2000, 4, column=1, noise=0.3)
    made = taught(start, *rows(3000, 3, column=1, noise=0.3))
    before, after = (auc(y, model.predict_proba(X)[:, 1]) for model in (start, made))
    assert after > 0.85 > 0.6 > before


def test_verdicts_of_one_kind_change_nothing(start: Boosted) -> None:
    X, y = rows(100, 2)
    assert taught(start, X, np.ones_like(y)) is start


def test_margins_of_both_parts_add_up(start: Boosted) -> None:
    more = from_fitted(classifier("xgboost", seed=5, trees=7).fit(*rows(300, 5, column=2)))
    assert isinstance(more, Boosted)
    both, (X, _) = start.followed_by(more), rows(50, 6)
    expected = start.margin(X) + more.margin(X) - more.base
    assert both.margin(X) == pytest.approx(expected, abs=1e-5)
    assert Boosted.from_arrays(both.arrays(), COLUMNS).margin(X).tolist() == both.margin(X).tolist()
    assert taught(start, *rows(40, 7)).roots.size == start.roots.size + TREES

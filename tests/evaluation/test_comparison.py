"""The paired bootstrap distinguishes a worse model from an equal one."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from barograph.learning.comparison import ScoredRows, auc, compared, judgements_compared
from barograph.runtime.errors import DataError

GENERATOR = np.random.default_rng(3)
TRUTH = np.tile([0, 1, 1, 0], 60)
GOOD = TRUTH + GENERATOR.normal(0, 0.5, TRUTH.size)
SERIES = np.repeat(np.arange(60), 4)


def test_auc_equals_scikit_learn_with_ties() -> None:
    score = np.round(GOOD, 1)
    assert auc(TRUTH, score) == pytest.approx(roc_auc_score(TRUTH, score), abs=1e-15)


def test_compared_detects_a_worse_model_and_not_an_equal_one() -> None:
    bad = TRUTH + GENERATOR.normal(0, 3, TRUTH.size)
    worse = compared(TRUTH, bad, GOOD, SERIES, draws=300)
    assert worse.high < 0
    assert worse.p_worse == 0
    assert compared(TRUTH, GOOD, bad, SERIES, draws=300).p_worse == 1
    assert compared(TRUTH, GOOD, GOOD, SERIES, draws=300) == (0, 0, 0, 1, 60)


def test_compared_gains_no_evidence_from_copies_of_a_series() -> None:
    other = TRUTH + GENERATOR.normal(0, 0.5, TRUTH.size)
    once = compared(TRUTH, GOOD, other, SERIES, draws=300)
    twice = compared(*(np.tile(a, 2) for a in (TRUTH, GOOD, other, SERIES)), draws=300)
    assert twice == pytest.approx(once)


def test_compared_refuses_a_single_class() -> None:
    with pytest.raises(DataError, match="4 held-out rows of one class only"):
        compared(np.ones(4, dtype=np.int64), np.ones(4), np.ones(4), np.arange(4))


def test_better_calibrated_model_is_shown_with_an_interval_that_excludes_0() -> None:
    truth = np.tile([1, 0], 200)
    sure, unsure = (ScoredRows(np.where(truth, p, 1 - p), 0.5) for p in (0.9, 0.6))
    unsure.probability[::7] = 0.0
    result = judgements_compared(truth, sure, unsure, np.arange(400) // 4, draws=300)
    assert result["agreement"]["new"] == 1.0
    assert result["agreement"]["old"] == pytest.approx(1 - 29 / 400)
    assert result["agreement"]["low"] > 0
    assert result["brier"]["new"] == pytest.approx(0.01)
    assert result["brier"]["high"] < 0


def test_equal_judgements_differ_by_nothing() -> None:
    same = ScoredRows(np.array([0.2, 0.7, 0.6]), np.array([0.5, 0.8, 0.5]))
    result = judgements_compared(np.array([0, 1, 1]), same, same, [1, 1, 2], draws=50)
    assert result["agreement"] == {"new": 2 / 3, "old": 2 / 3, "low": 0.0, "high": 0.0}

from typing import Any

import numpy as np
import pytest

from barograph.learning.work_lists import held_out, margins, suspects
from barograph.models.catalogue import classifier
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

ROWS, PLANTED = 1000, 50


def planted(seed: int) -> tuple[Floats, Ints, Ints, Ints]:
    """Points near a border that people draw, some of their verdicts turned round."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((ROWS, 4))
    truth = (matrix[:, 0] + matrix[:, 1] > 0).astype(np.int64)
    wrong = generator.choice(ROWS, PLANTED, replace=False)
    truth[wrong] = 1 - truth[wrong]
    return matrix, truth, generator.integers(0, 200, ROWS), wrong


def forest() -> Any:
    return classifier("random_forest", seed=0, trees=60)


def audit(matrix: Floats, truth: Ints, groups: Ints) -> tuple[Ints, Floats]:
    """Return the suspect verdicts, and their margins."""
    probability = held_out(forest, matrix, truth, groups)
    rows = suspects(truth, probability)
    return rows, margins(truth, probability)[rows]


@pytest.mark.parametrize("seed", [0, 1])
def test_audit_ranks_wrong_verdicts_first(seed: int) -> None:
    matrix, truth, groups, wrong = planted(seed)
    rows, margin = audit(matrix, truth, groups)
    hits = np.isin(rows, wrong)
    assert hits.sum() >= 0.6 * PLANTED  # those at the border cannot be told from right ones
    assert hits[:25].mean() >= 0.9
    assert hits.mean() >= 0.5
    assert np.all(np.diff(margin) <= 0)


def test_audit_suspects_few_correct_verdicts() -> None:
    matrix, truth, groups, wrong = planted(2)
    truth[wrong] = 1 - truth[wrong]
    assert audit(matrix, truth, groups)[0].size < 0.02 * ROWS


def test_suspects_equal_those_computed_by_hand() -> None:
    truth = np.array([0, 0, 0, 1, 1, 1])
    probability = np.array([0.1, 0.2, 0.9, 0.8, 0.9, 0.05])
    # The thresholds: noise (0.9 + 0.8 + 0.1) / 3 = 0.6, real (0.8 + 0.9 + 0.05) / 3 = 0.583.
    doubted = suspects(truth, probability)
    assert doubted.tolist() == [5, 2]
    assert margins(truth, probability)[doubted].tolist() == pytest.approx([0.9, 0.8])
    assert suspects(truth[:3], probability[:3]).size == 0


def test_held_out_models_never_see_the_same_group() -> None:
    """Copies with verdicts of chance: a model that has seen a copy would repeat its verdict."""
    generator = np.random.default_rng(4)
    groups = np.repeat(np.arange(100), 4)
    matrix = np.repeat(generator.standard_normal((100, 3)), 4, axis=0)
    truth = np.repeat(generator.integers(0, 2, 100), 4)
    probability = held_out(forest, matrix, truth, groups)
    assert np.mean((probability > 0.5) == truth) < 0.65


def test_audit_refuses_too_few_groups_or_classes() -> None:
    matrix, truth, groups, _ = planted(0)
    with pytest.raises(NotEnoughDataError, match="3 groups cannot be divided into 5 folds"):
        audit(matrix, truth, groups % 3)
    with pytest.raises(NotEnoughDataError, match="1000 verdicts of one class only"):
        audit(matrix, truth * 0, groups)
    with pytest.raises(NotEnoughDataError, match="fewer than 3 verdicts of a class"):
        audit(matrix, (groups == 0).astype(np.int64), groups)

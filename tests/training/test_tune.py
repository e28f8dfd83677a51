from typing import Any

import numpy as np
import pytest

from barograph.learning.protocols import folds_by_group
from barograph.learning.tune import SPACES, TuneParams, draw_settings, search
from barograph.models.catalogue import classifier
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ConfigError, NotEnoughDataError


def sample(rows: int = 200) -> tuple[Floats, Ints, Ints]:
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((rows, 4))
    truth = (matrix[:, 0] * matrix[:, 1] > 0).astype(np.int64)
    return matrix, truth, generator.integers(0, 40, rows)


def search_sample(name: str, trials: int = 3, seed: int = 1) -> Any:
    matrix, truth, groups = sample()
    parts = folds_by_group(truth, groups, 3, seed)
    return search(name, matrix, truth, parts, TuneParams({}, trials, folds=3, seed=seed), 15)


@pytest.mark.parametrize("name", SPACES)
def test_every_setting_of_a_space_is_a_parameter_of_its_classifier(name: str) -> None:
    for settings in draw_settings(name, 10_000, 0):
        parameters = classifier(name, seed=0, trees=1, settings=settings).get_params()
        assert settings.items() <= parameters.items()


def test_search_is_reproducible_and_lists_all_trials() -> None:
    once, again = search_sample("random_forest"), search_sample("random_forest")
    assert once == again
    assert once.trials[0].settings == {}
    assert len({str(trial.settings) for trial in once.trials}) == 3
    table = once.table()
    assert [row["auc"] for row in table] == sorted((t.auc for t in once.trials), reverse=True)
    assert table[0]["auc"] == once.best.auc == np.mean([table[0][f"auc_{k}"] for k in range(3)])
    assert [row["chosen"] for row in table] == [True, False, False]
    first = next(row for row in table if row["tried"] == 0)
    assert first["model__min_samples_leaf"] == 5  # the setting of the catalogue
    assert search_sample("random_forest", seed=2) != once


def test_search_finds_the_settings_that_can_learn_the_sample() -> None:
    """A product of two columns cannot be learned with a very smooth kernel."""
    tried = search_sample("svm", trials=9)
    assert len(tried.trials) == 9
    assert tried.best.auc > 0.95
    assert tried.best.settings.get("model__estimator__gamma") != 0.02


def test_search_never_divides_a_group() -> None:
    """Verdicts are random by group, so only a copy on the other side could predict them."""
    generator = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 5)
    matrix = np.repeat(generator.standard_normal((60, 4)), 5, axis=0)
    truth = np.repeat(generator.integers(0, 2, 60), 5)
    parts = folds_by_group(truth, groups, 5, 0)
    tried = search("random_forest", matrix, truth, parts, TuneParams({}, 1, folds=5, seed=0), 15)
    assert tried.best.auc < 0.75


def test_search_refuses_what_cannot_be_tuned() -> None:
    _, truth, groups = sample()
    with pytest.raises(NotEnoughDataError, match="200 verdicts of one class only"):
        folds_by_group(truth * 0, groups, 5, 0)
    with pytest.raises(NotEnoughDataError, match="2 groups cannot be divided into 5 folds"):
        folds_by_group(truth, groups % 2, 5, 0)
    with pytest.raises(NotEnoughDataError, match="fewer than 3 verdicts of a class"):
        folds_by_group((groups == 0).astype(np.int64), groups, 5, 0)
    with pytest.raises(ConfigError, match="svm has no parameter 'model__luck'"):
        classifier("svm", seed=0, trees=1, settings={"model__luck": 7})

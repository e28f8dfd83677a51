import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from barograph.errors import ConfigError
from barograph.models.catalogue import CLASSIFIERS, classifier


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_is_a_pipeline_that_gives_the_same_twice(name: str) -> None:
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((120, 6))
    truth = (matrix[:, 0] + generator.standard_normal(120) > 0).astype(int)
    once, twice = (
        classifier(name, seed=5, trees=9).fit(matrix, truth).predict_proba(matrix) for _ in range(2)
    )
    assert isinstance(classifier(name, seed=5, trees=9), Pipeline)
    assert once.shape == (120, 2)
    assert np.array_equal(once, twice)
    assert np.allclose(once.sum(axis=1), 1)


def test_an_unknown_name_is_told_what_is_known() -> None:
    with pytest.raises(ConfigError, match=r"no classifier is named 'oracle'; known: .*'svm'"):
        classifier("oracle", seed=0, trees=1)


def test_xgboost_is_imported_only_where_it_is_used() -> None:
    code = (
        "import sys\n"
        "import barograph.models.catalogue, barograph.models.triage\n"
        "barograph.models.catalogue.classifier('random_forest', seed=0, trees=1)\n"
        "print('xgboost' in sys.modules)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"

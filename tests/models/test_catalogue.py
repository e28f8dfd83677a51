import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from barograph.errors import ConfigError
from barograph.models.catalogue import CLASSIFIERS, classifier

# What scikit-learn's own parts, and XGBoost, do otherwise than its checks ask, and why that is so.
FITS_IN_PLACE = dict.fromkeys(
    ("check_estimators_overwrite_params", "check_dont_overwrite_parameters"),
    "a Pipeline fits the very steps that it was given",
)
TAKES_GAPS = {"check_estimators_nan_inf": "rows with gaps are learned from: a split may send them"}
NO_COLUMN = dict.fromkeys(
    (
        "check_n_features_in_after_fitting",
        "check_complex_data",
        "check_dtype_object",
        "check_estimators_empty_data_messages",
        "check_classifiers_train",
        "check_classifiers_regression_target",
        "check_supervised_y_no_nan",
        "check_fit1d",
        "check_fit2d_predict1d",
    ),
    "the baseline that knows nothing looks at no column, and checks none",
)
XGBOOST = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_classifiers_multilabel_output_format_predict",
        "check_classifiers_regression_target",
    ),
    "XGBoost asks for classes that count from 0; verdicts are 0 and 1",
) | dict.fromkeys(
    (
        "check_n_features_in_after_fitting",
        "check_complex_data",
        "check_estimators_empty_data_messages",
        "check_supervised_y_no_nan",
        "check_supervised_y_2d",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
    ),
    "XGBoost checks its input itself, in other words; a TriageModel checks every row before",
)
EXCEPTIONS: dict[str, dict[str, str]] = {
    "random_forest": TAKES_GAPS,
    "svm": {
        "check_supervised_y_2d": "its folds index the verdicts before their shape is looked at"
    },
    "xgboost": TAKES_GAPS | XGBOOST,
    "logistic": {},
    "most_frequent": TAKES_GAPS | NO_COLUMN,
    "voting": {"check_estimators_nan_inf": "a vote abstains where its feature is NaN"},
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_is_a_scikit_learn_estimator_but_for_what_is_excepted(name: str) -> None:
    exceptions = FITS_IN_PLACE | EXCEPTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke scikit-learn's own warnings
        checked = check_estimator(
            classifier(name, seed=0, trees=5),
            expected_failed_checks=exceptions,
            on_skip=None,
        )
    needed = {one["check_name"] for one in checked if one["status"] == "xfail"}
    assert needed == set(exceptions)
    assert sum(one["status"] == "passed" for one in checked) > 30


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

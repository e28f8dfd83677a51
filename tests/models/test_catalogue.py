import subprocess
import sys
import warnings
from types import ModuleType
from typing import cast

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from barograph.models.calibration import ABOVE_HALF
from barograph.models.catalogue import CLASSIFIERS, classifier, own_threshold, takes_weights
from barograph.runtime.errors import ConfigError

# The checks that scikit-learn's own estimators and XGBoost do not pass, and the reasons.
FITS_IN_PLACE = dict.fromkeys(
    ("check_estimators_overwrite_params", "check_dont_overwrite_parameters"),
    "a Pipeline fits its own steps, not copies",
)
ACCEPTS_NAN = {"check_estimators_nan_inf": "trees accept NaN"}
IGNORES_COLUMNS = dict.fromkeys(
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
    "the baseline ignores the columns and does not check them",
)
XGBOOST = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_classifiers_multilabel_output_format_predict",
        "check_classifiers_regression_target",
    ),
    "XGBoost needs classes that are numbered from 0; verdicts are 0 and 1",
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
    "XGBoost has its own error messages; a TriageModel checks the rows first",
)
EXCEPTIONS: dict[str, dict[str, str]] = {
    "random_forest": ACCEPTS_NAN,
    "svm": {"check_supervised_y_2d": "its folds index the verdicts before it checks their shape"},
    "xgboost": ACCEPTS_NAN | XGBOOST,
    "logistic": {},
    "most_frequent": ACCEPTS_NAN | IGNORES_COLUMNS,
    "voting": {"check_estimators_nan_inf": "a feature that is NaN does not vote"},
}
EXCEPTIONS["delta_votes"] = EXCEPTIONS["voting"]
# The authors' leaves are larger than the samples of the checks: test_stacked has smaller ones.
CHECKED = tuple(name for name in CLASSIFIERS if name != "hybrid")


@pytest.mark.parametrize("name", CHECKED)
def test_classifier_passes_the_scikit_learn_checks_except_the_listed(name: str) -> None:
    exceptions = FITS_IN_PLACE | EXCEPTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke scikit-learn's own warnings
        checked = check_estimator(
            classifier(name, seed=0, trees=5),
            expected_failed_checks=exceptions,
            on_skip=None,
        )
    failed = {check["check_name"] for check in checked if check["status"] == "xfail"}
    assert failed == set(exceptions)
    assert sum(check["status"] == "passed" for check in checked) > 30


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier_is_a_pipeline_and_reproducible(name: str) -> None:
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((120, 10))
    truth = (matrix[:, 0] + generator.standard_normal(120) > 0).astype(int)
    once, twice = (
        classifier(name, seed=5, trees=9).fit(matrix, truth).predict_proba(matrix) for _ in range(2)
    )
    assert isinstance(classifier(name, seed=5, trees=9), Pipeline)
    assert once.shape == (120, 2)
    assert np.array_equal(once, twice)
    assert np.allclose(once.sum(axis=1), 1)


def test_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown classifier 'oracle'; known: .*'svm'"):
        classifier("oracle", seed=0, trees=1)


def test_a_classifier_is_imported_when_it_is_first_used() -> None:
    code = (
        "import sys\n"
        "import barograph.models.catalogue, barograph.models.triage\n"
        "print('sklearn' in sys.modules, 'barograph.models.voting' in sys.modules)\n"
        "barograph.models.catalogue.classifier('random_forest', seed=0, trees=1)\n"
        "print('xgboost' in sys.modules, 'barograph.models.voting' in sys.modules)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"] * 4


def test_a_classifier_is_registered_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("barograph.models.neighbours")
    vars(module)["nearest"] = lambda *_: KNeighborsClassifier(1)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cast("dict[str, str]", CLASSIFIERS), "nearest", "neighbours.nearest")
    model = classifier("nearest", seed=0, trees=1, settings={"model__n_neighbors": 3})
    assert model["model"].n_neighbors == 3
    assert (takes_weights("nearest"), own_threshold("nearest")) == (False, None)
    assert (takes_weights("svm"), own_threshold("voting")) == (True, ABOVE_HALF)

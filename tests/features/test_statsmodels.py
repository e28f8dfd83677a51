"""Our kernels and statistics against statsmodels, which computes the same by other ways."""

import math
import warnings
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from barograph.detection.hunter import t_test
from barograph.detection.numerics import two_sided
from barograph.features import characteristics, holt_ets
from barograph.features.entropy import burg, coefficients, highest_order
from barograph.results.series import Floats
from barograph.studies.statistics import effect
from tests.features.test_holt import short_errors
from tests.features.vectors import holt_of

holtwinters = pytest.importorskip("statsmodels.tsa.holtwinters")
ets = pytest.importorskip("statsmodels.tsa.exponential_smoothing.ets")
diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")
linear_model = pytest.importorskip("statsmodels.regression.linear_model")
nonparametric = pytest.importorskip("statsmodels.stats.nonparametric")
weightstats = pytest.importorskip("statsmodels.stats.weightstats")


def walk(count: int) -> Floats:
    rng = np.random.default_rng(count)
    return 100.0 + np.cumsum(rng.normal(size=count)) + rng.normal(size=count)


@pytest.mark.parametrize("count", [9, 30, 200])
@pytest.mark.parametrize("damped", [False, True])
def test_errors_of_the_state_space_form(count: int, damped: bool) -> None:
    values = walk(count)
    state = [0.3, 0.1, *([0.9] if damped else []), 99.0, 0.5]
    theirs = model(values, damped).smooth(state)
    ours = holt_ets.squared_errors(values, 0.3, 0.1, 0.9 if damped else 1.0, 99.0, 0.5)
    assert ours == pytest.approx(float(np.sum(theirs.resid**2)), rel=1e-10)


@pytest.mark.parametrize("count", [12, 30, 120])
def test_no_other_alpha_and_beta_fit_much_better(count: int) -> None:
    values = walk(count)
    alpha, beta = holt_of(values)
    fixed = best_score(values, smoothing_level=alpha, smoothing_trend=beta)
    assert fixed <= best_score(values) + 0.1


def best_score(values: Floats, **fixed: float) -> float:
    """Return the AICc of the better of the two models, with some parameters fixed."""
    scores = []
    for damped in (False, True):
        whole = model(values, damped)
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the search that did not converge
            if fixed:
                stack.enter_context(whole.fix_params(fixed))
            result = whole.fit(disp=False)
        squares = math.log(float(np.sum(result.resid**2)))
        parameters = holt_ets.DAMPED - (not damped)
        scores.append(holt_ets.corrected_aic(values.size * squares, values.size, parameters))
    return min(scores)


def model(values: Floats, damped: bool) -> Any:
    return ets.ETSModel(values, trend="add", damped_trend=damped)


@pytest.mark.parametrize("count", [3, 5, 8])
def test_short_sides_are_fitted_as_well_as_by_statsmodels(count: int) -> None:
    values = walk(count)
    start = {"initial_level": values[0], "initial_trend": values[1] - values[0]}
    holt = holtwinters.Holt(values, initialization_method="known", **start)
    given = holt.fit(smoothing_level=0.3, smoothing_trend=0.2, optimized=False)
    assert short_errors(list(values), 0.3, 0.2) == pytest.approx(given.sse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = holt.fit()
    assert short_errors(list(values), *holt_of(values)) <= fitted.sse * 1.01


@pytest.mark.parametrize("count", [11, 60, 300])
def test_serial_correlation_is_the_statistic_of_box_and_pierce(count: int) -> None:
    values = walk(count)
    table = diagnostic.acorr_ljungbox(values, lags=[10], boxpierce=True)
    ours = characteristics(values, values)["pre_serial_correlation"]
    assert ours == pytest.approx(float(table["bp_stat"].iloc[0]) / (count * 10))


@pytest.mark.parametrize("count", [12, 60, 300])
def test_burg_coefficients(count: int) -> None:
    values = walk(count)
    order = highest_order(count)
    rho, _ = linear_model.burg(values, order)
    k, errors, a = np.empty((3, order + 1))
    forward, backward = np.empty((2, count))
    burg(values - values.mean(), order, forward, backward, k, errors)
    coefficients(k, order, a)
    assert a[1:] == pytest.approx(rho, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("size", [3, 10, 80])
def test_student_test_of_two_equal_windows(size: int) -> None:
    values = walk(2 * size)
    t, p_value, freedom = weightstats.ttest_ind(values[:size], values[size:])
    ours, ours_freedom, _ = t_test(values, 0, size, 2 * size, False, np.empty(2 * size))
    # Hunter divides the squares by n instead of n - 1.
    assert ours * math.sqrt((size - 1) / size) == pytest.approx(t)
    assert ours_freedom == freedom
    assert two_sided(t, freedom) == pytest.approx(p_value)


def test_effect_is_the_probability_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    real, false = rng.normal(0.5, 1.0, 40), np.round(rng.normal(size=60), 1)
    result = nonparametric.rank_compare_2indep(real, false)
    assert effect(real, false)["effect"] == pytest.approx(2.0 * result.prob1 - 1.0)

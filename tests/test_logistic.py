"""The logistic function and its inverse equal SciPy's to the last bit."""

import numpy as np
from scipy import special

from barograph.models.calibration import LARGEST, expit, logit
from barograph.results.series import Floats

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, LARGEST, -LARGEST, -745.0, 5e-324]


def log_odds(size: int) -> Floats:
    drawn = np.random.default_rng(0).normal(0.0, 20.0, size - len(EDGES))
    return np.concatenate([drawn, EDGES])


def test_expit_equals_scipys() -> None:
    computed = log_odds(5000)
    np.testing.assert_array_equal(expit(computed), special.expit(computed))


def test_logit_equals_scipys() -> None:
    probabilities = np.concatenate([special.expit(log_odds(5000)), [0.3, 0.65, -1.0, 2.0]])
    np.testing.assert_array_equal(logit(probabilities), special.logit(probabilities))


def test_shape_is_kept() -> None:
    assert expit(0.0).shape == logit(0.5).shape == ()
    assert expit(np.zeros((2, 3))).shape == logit(np.full((2, 3), 0.5)).shape == (2, 3)

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from barograph.models.calibration import (
    Isotonic,
    Sigmoid,
    calibrate,
    from_arrays,
    method_of,
)
from barograph.results.series import Floats
from barograph.runtime.errors import ArtifactError, ConfigError, NotEnoughDataError


def overconfident(rows: int, seed: int = 0) -> tuple[Any, Floats]:
    """Return classes, and scores whose log-odds are three times too large and shifted."""
    generator = np.random.default_rng(seed)
    odds = generator.standard_normal(rows)
    truth = generator.random(rows) < 1 / (1 + np.exp(-odds))
    return truth.astype(int), 1 / (1 + np.exp(-(3 * odds + 1)))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_scores_equal_the_share_of_real_points(method: str) -> None:
    calibration = calibrate(*overconfident(20_000), method)
    truth, score = overconfident(20_000, seed=1)
    probability = calibration(score)
    for low in np.arange(0.2, 0.8, 0.1):
        inside = (probability >= low) & (probability < low + 0.1)
        assert abs(truth[inside].mean() - probability[inside].mean()) < 0.04


def test_sigmoid_recovers_a_linear_distortion() -> None:
    sigmoid = calibrate(*overconfident(50_000))
    assert isinstance(sigmoid, Sigmoid)
    assert sigmoid.slope == pytest.approx(1 / 3, abs=0.02)
    assert sigmoid.offset == pytest.approx(-1 / 3, abs=0.03)


def test_sigmoid_is_close_to_a_logistic_regression() -> None:
    truth, score = overconfident(5000)
    odds = np.log(score / (1 - score))
    plain = LogisticRegression(C=1e9).fit(odds[:, None], truth)
    sigmoid = Sigmoid.fit(truth, score)
    assert sigmoid.slope == pytest.approx(plain.coef_[0, 0], abs=2e-3)
    assert sigmoid.offset == pytest.approx(plain.intercept_[0], abs=2e-3)


def test_isotonic_equals_scikit_learn() -> None:
    truth, score = overconfident(300)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(score, truth)
    fresh = np.linspace(0, 1, 101)
    assert np.allclose(Isotonic.fit(truth, score)(fresh), theirs.predict(fresh), 0, 1e-12)


PAIRS = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=2, max_size=30).filter(
    lambda pairs: len({truth for truth, _ in pairs}) == 2
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(PAIRS, st.sampled_from(["sigmoid", "isotonic"]))
def test_calibration_never_reverses_the_order(pairs: list[tuple[int, float]], method: str) -> None:
    calibration = calibrate([t for t, _ in pairs], [s for _, s in pairs], method)
    probability = calibration(np.linspace(0, 1, 50))
    assert np.all(np.diff(probability) >= 0)
    assert np.all((probability >= 0) & (probability <= 1))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_from_arrays_restores_a_calibration(method: str) -> None:
    calibration = calibrate(*overconfident(200), method)
    again = from_arrays(method_of(calibration), calibration.arrays())
    assert again is not None
    score = np.linspace(0, 1, 30)
    assert np.array_equal(again(score), calibration(score))
    assert (from_arrays(None, {}), method_of(None)) == (None, None)


def test_wrong_methods_classes_and_arrays_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown calibration 'magic'; allowed"):
        calibrate([0, 1], [0.1, 0.9], "magic")
    with pytest.raises(NotEnoughDataError, match="all 2 held-out points are of one class"):
        calibrate([1, 1], [0.1, 0.9])
    with pytest.raises(ArtifactError, match=r"the slope is -1\.0"):
        from_arrays("sigmoid", {"sigmoid": np.array([-1.0, 0.0])})
    rising, falling = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    for scores, shares in ((falling, rising), (rising, falling), (np.empty(0), np.empty(0))):
        with pytest.raises(ArtifactError, match="must rise"):
            from_arrays("isotonic", {"isotonic_scores": scores, "isotonic_shares": shares})
    with pytest.raises(ArtifactError, match="'isotonic_shares': a number is outside 0 to 1"):
        from_arrays("isotonic", {"isotonic_scores": rising, "isotonic_shares": rising * 2})

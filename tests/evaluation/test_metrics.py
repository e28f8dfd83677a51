import numpy as np
import pytest

from barograph.learning.metrics import (
    METRICS,
    Interval,
    calibration_error,
    interval,
    scores,
    summary,
)
from barograph.runtime.errors import DataError


def test_scores_match_hand_calculation() -> None:
    result = scores([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])
    assert tuple(result) == METRICS
    assert result["auc"] == 0.75
    assert result["accuracy"] == 0.5
    assert result["sensitivity"] == 0.5
    assert result["specificity"] == 0.5
    assert result["f1"] == 0.5
    assert result["mcc"] == 0.0
    assert result["brier"] == pytest.approx((0.01 + 0.36 + 0.36 + 0.01) / 4)


def test_threshold_is_inclusive() -> None:
    assert scores([1, 0], [0.7, 0.2], threshold=0.7)["sensitivity"] == 1.0


def test_scores_refuses_a_single_class() -> None:
    with pytest.raises(DataError, match="3 points of one class only"):
        scores([1, 1, 1], [0.2, 0.3, 0.4])


def test_calibration_error_of_a_calibrated_forecast_is_small() -> None:
    generator = np.random.default_rng(0)
    p = generator.random(200_000)
    y = (generator.random(p.size) < p).astype(np.int64)
    assert calibration_error(y, p) < 0.01
    assert calibration_error(y, np.full(p.size, 0.9)) == pytest.approx(0.4, abs=0.01)


def test_interval_equals_the_t_interval() -> None:
    assert interval([1.0, 2.0, 3.0]) == pytest.approx((2.0, -0.4841377, 4.4841377))
    assert interval([5.0]) == Interval(5.0, 5.0, 5.0)
    assert np.isnan(interval([])).all()


def test_summary_covers_every_metric() -> None:
    perfect = scores([1, 0], [0.9, 0.1])
    assert summary([perfect, perfect])["auc"] == Interval(1.0, 1.0, 1.0)

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barograph.detection import Gesd
from barograph.detection.gesd import outliers, rosner

# Rosner (1983), the example that NIST's handbook repeats (1.3.5.17.3).
ROSNER = [
    -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56,
    1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10,
    2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92,
    2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
]  # fmt: skip


def critical(size: int, k: int, alpha: float) -> float:
    """Rosner's lambda for the k-th outlier, counted from 0, of `size` points."""
    m = size - k
    t = stats.t.ppf(1 - alpha / (2 * m), m - 2)
    return float((m - 1) * t / np.sqrt((m - 2 + t**2) * m))


def test_rosners_example() -> None:
    indices, deviations, pvalues = rosner(np.array(ROSNER), 10)
    published = [3.118, 2.942, 3.179, 2.810, 2.815, 2.848, 2.279, 2.310, 2.101, 2.067]
    np.testing.assert_allclose(np.abs(deviations), published, atol=1e-3)
    limits = [3.158, 3.151, 3.143, 3.136, 3.128, 3.120, 3.111, 3.103, 3.094, 3.085]
    np.testing.assert_allclose([critical(54, k, 0.05) for k in range(10)], limits, atol=1e-3)
    assert outliers(pvalues, 0.05) == 3
    assert sorted(np.array(ROSNER)[indices[:3]]) == [5.34, 5.42, 6.01]


@settings(derandomize=True, deadline=None)
@given(
    values=st.lists(st.integers(-30, 30).map(float), min_size=6, max_size=40),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
)
def test_a_pvalue_under_alpha_is_a_deviation_over_the_critical_value(
    values: list[float], alpha: float
) -> None:
    most = len(values) // 3
    _, deviations, pvalues = rosner(np.array(values), most)
    over = [
        abs(deviation) > critical(len(values), k, alpha) for k, deviation in enumerate(deviations)
    ]
    assert (pvalues < alpha).tolist() == over


def test_the_rate_of_any_outlier_in_normal_noise_is_alpha() -> None:
    generator = np.random.default_rng(0)
    detector = Gesd(alpha=0.05)
    hit = [outliers(rosner(generator.standard_normal(60), 6)[2], 0.05) > 0 for _ in range(2000)]
    assert 0.035 < np.mean(hit) < 0.065
    assert detector.detect(np.linspace(0, 1, 60)) == []


def test_detect_reports_where_outliers_in_a_row_begin() -> None:
    values = np.random.default_rng(1).standard_normal(100)
    values[40:44] += 15.0
    values[70] -= 15.0
    points = Gesd().detect(values)
    assert [point.index for point in points] == [40, 70]
    assert [np.sign(point.statistic) for point in points] == [1.0, -1.0]
    assert all(point.pvalue is not None and point.pvalue < 0.05 for point in points)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import Setds
from barograph.features.setds import run_outside
from barograph.results.series import Floats
from tests.shared import SHARED, needs_shared


def plain(values: Floats, detector: Setds) -> list[tuple[int, float]]:
    """The definition, word by word, with the baseline summed anew at every point."""
    places: list[tuple[int, float]] = []
    start = 0
    t = 0
    while t < len(values):
        baseline = values[start:t]
        if len(baseline) >= detector.minimum:
            mean, reach = baseline.mean(), detector.sigmas * baseline.std(ddof=1)
            cumulative: list[float] = []
            inside = 0
            for value in values[t : t + detector.hold]:
                exception = max(value - (mean + reach), 0.0) + min(value - (mean - reach), 0.0)
                inside = inside + 1 if exception == 0 else 0
                total = exception + (cumulative[-1] if cumulative else 0.0)
                back = total == 0 or (cumulative and total * cumulative[0] < 0)
                if back or inside == detector.patience:
                    break
                cumulative.append(total)
            if len(cumulative) == detector.hold:
                places.append((t, cumulative[-1]))
                start = t
        t += 1
    return places


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    steps=st.lists(st.sampled_from([0.0, 3.0, -5.0, 9.0]), min_size=1, max_size=5),
    seed=st.integers(0, 9999),
    minimum=st.integers(2, 12),
    hold=st.integers(1, 6),
    patience=st.integers(1, 3),
    sigmas=st.sampled_from([1.0, 2.0, 3.0]),
)
def test_kernel_equals_the_definition(
    steps: list[float], seed: int, minimum: int, hold: int, patience: int, sigmas: float
) -> None:
    noise = np.random.default_rng(seed).standard_normal(15 * len(steps))
    values = noise + np.repeat(steps, 15)
    detector = Setds(sigmas=sigmas, minimum=minimum, hold=hold, patience=patience)
    places = [(point.index, point.statistic) for point in detector.detect(values)]
    expected = plain(values, detector)
    assert [index for index, _ in places] == [index for index, _ in expected]
    assert [s for _, s in places] == pytest.approx([s for _, s in expected], rel=1e-9)


def test_the_limits_restart_at_each_change() -> None:
    noise = np.tile([0.0, 0.5, -0.5, 0.25], 12)
    values = noise + np.repeat([10.0, 20.0, 10.0], 16)
    points = Setds().detect(values)
    assert [point.index for point in points] == [16, 32]
    assert [np.sign(point.statistic) for point in points] == [1.0, -1.0]
    assert [point.pvalue for point in points] == [None, None]


def test_a_spike_comes_back_to_zero() -> None:
    values = np.tile([1.0, 1.1, 0.9, 1.05], 10)
    values[20] = 50.0
    assert Setds().detect(values) == []
    assert [point.index for point in Setds(hold=1).detect(values)] == [20]


def test_exceptions_on_both_sides_cross_zero() -> None:
    values = np.array([9.0, -9.0, 9.0, 9.0])
    assert run_outside(values, 0.0, 1.0, 4, 4) == (1, 8.0)
    assert run_outside(values[2:], 0.0, 1.0, 2, 4) == (2, 16.0)


@needs_shared
def test_on_a_real_series_every_change_point_is_the_first_outside_the_limits() -> None:
    lines = (SHARED / "data" / "mongodb" / "demo.csv").read_text(encoding="utf-8").splitlines()
    values = np.array([float(line.split(",")[0]) for line in lines[1:]])
    detector = Setds()
    places = [(point.index, point.statistic) for point in detector.detect(values)]
    assert places
    assert [index for index, _ in places] == [index for index, _ in plain(values, detector)]

"""Drifts and changes of noise: what is found, where, and what is neither."""

import numpy as np
import pytest

from barograph import read
from barograph.detection.slow import SlowKind, newly_found, slow_changes
from barograph.results.series import Floats
from barograph.runtime.errors import DataError
from tests.shared import SHARED, needs_shared

DRAWS = 40
NOISES = ("normal", "student", "autocorrelated", "autocorrelated student", "wandering")
LAGS = {"autocorrelated": 0.5, "autocorrelated student": 0.5, "wandering": 0.9}


def noise(rng: np.random.Generator, size: int, kind: str = "normal") -> Floats:
    """Draw noise, most of a standard deviation of 1 to 2."""
    lag, count = LAGS.get(kind, 0.0), size + 50
    values = rng.standard_t(3, count) if "student" in kind else rng.normal(size=count)
    for k in range(1, count if lag else 0):
        values[k] += lag * values[k - 1]
    return values[50:]


def places(values: Floats, kind: SlowKind) -> list[tuple[int, int]]:
    return [(c.begin, c.end) for c in slow_changes(values) if c.kind is kind]


def drifting(rng: np.random.Generator, begin: int, after: int) -> Floats:
    """Draw a rise of 20 % over 100 results, of noise of 1 %."""
    ramp = np.clip((np.arange(begin + after) - begin) / 100.0, 0.0, 1.0)
    return 100.0 * (1.0 + 0.2 * ramp) + noise(rng, begin + after)


def test_drift_is_found_within_40_results_of_passing_5_percent() -> None:
    rng = np.random.default_rng(1)
    found = [places(drifting(rng, 150, 25 + 40), SlowKind.DRIFT) for _ in range(DRAWS)]
    begins = [begin for [(begin, end)] in filter(None, found) if end == 150 + 25 + 40]
    assert len(begins) >= 0.9 * DRAWS
    assert np.quantile(np.abs(np.array(begins) - 150), 0.9) <= 10


def test_drift_has_begin_end_and_size() -> None:
    rng = np.random.default_rng(2)
    drifts = [slow_changes(drifting(rng, 150, 200)) for _ in range(DRAWS)]
    single = [found[0] for found in drifts if [c.kind for c in found] == [SlowKind.DRIFT]]
    assert len(single) >= 0.9 * DRAWS
    assert max(abs(drift.end - 250) for drift in single) <= 20
    assert max(abs(drift.percent - 20.0) for drift in single) <= 2.0


def test_change_of_noise_is_found_within_30_results() -> None:
    rng = np.random.default_rng(3)
    begins = []
    for _ in range(DRAWS):
        values = noise(rng, 180)
        values[150:] *= 3.0
        begins += [a for a, b in places(100.0 + values, SlowKind.NOISE) if b == values.size]
    assert len(begins) >= 0.9 * DRAWS
    assert np.quantile(np.abs(np.array(begins) - 150), 0.9) <= 10


@pytest.mark.parametrize("factor", [3.0, 1 / 3])
def test_change_of_noise_has_its_size(factor: float) -> None:
    values = noise(np.random.default_rng(4), 400)
    values[250:] *= factor
    [change] = slow_changes(100.0 + values)
    assert change.kind is SlowKind.NOISE
    assert (change.before, change.after) == pytest.approx((1.0, factor), rel=0.25)
    assert change.percent == pytest.approx(100.0 * (change.after / change.before - 1.0))


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("level", [20.0, 100.0])
def test_quiet_series_have_at_most_one_false_in_1000_results(kind: str, level: float) -> None:
    rng = np.random.default_rng(5)
    found = [c.kind for _ in range(DRAWS) for c in slow_changes(level + noise(rng, 500, kind))]
    assert found.count(SlowKind.DRIFT) <= DRAWS / 2
    assert found.count(SlowKind.NOISE) <= DRAWS / 2
    assert len(found) <= DRAWS / 2


SHAPES = {
    "a step": lambda k: 0.2 * (k >= 200),
    "two steps": lambda k: 0.1 * (k >= 150) + 0.1 * (k >= 250),
    "three steps": lambda k: 0.1 * (k >= 120) + 0.1 * (k >= 200) + 0.1 * (k >= 280),
    "a step to a third": lambda k: -0.66 * (k >= 200),
    "a spike": lambda k: 0.5 * (k == 200),
    "spikes": lambda k: 0.5 * (k % 37 == 0),
    "a pulse": lambda k: 0.5 * (k // 8 == 25),
    "two levels in turn": lambda k: 0.1 * (k % 2),
    "two levels for 10 results each": lambda k: 0.1 * (k // 10 % 2),
    "two levels for 50 results each": lambda k: 0.1 * (k // 50 % 2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_other_changes_are_neither_drifts_nor_changes_of_noise(shape: str) -> None:
    rng = np.random.default_rng(6)
    level = 1.0 + SHAPES[shape](np.arange(400))
    found = [c for _ in range(DRAWS) for c in slow_changes(100.0 * level + noise(rng, 400))]
    # One false in 1,000 results would be 16.
    assert len(found) <= 2


def test_noise_that_grows_with_the_level_has_not_changed() -> None:
    level = np.repeat([10.0, 40.0], 200)
    for seed in range(10):
        factors = 1.0 + 0.02 * noise(np.random.default_rng(seed), 400)
        assert slow_changes(level * factors) == []


def test_unit_and_sign_change_nothing() -> None:
    rng = np.random.default_rng(7)
    values = drifting(rng, 150, 250)
    values[300:] += 2.0 * noise(rng, 100)
    found = [(c.kind, c.begin, c.end) for c in slow_changes(values)]
    assert [kind for kind, *_ in found] == [SlowKind.DRIFT, SlowKind.NOISE]
    for factor in (2.0**-40, 2.0**300, -1.0):
        assert [(c.kind, c.begin, c.end) for c in slow_changes(factor * values)] == found


def test_line_without_noise_is_a_drift() -> None:
    [drift] = slow_changes(np.concatenate([np.full(60, 50.0), np.linspace(50.0, 60.0, 100)]))
    assert drift.kind is SlowKind.DRIFT
    assert abs(drift.begin - 60) <= 10
    assert drift.end == 160
    assert drift.percent == pytest.approx(20.0, abs=4.0)


def test_noise_after_none_has_no_percentage() -> None:
    values = np.full(200, 10.0)
    values[100:] += noise(np.random.default_rng(8), 100)
    [change] = slow_changes(values)
    assert (change.begin, change.before, change.percent) == (100, 0.0, np.inf)


@pytest.mark.parametrize("values", [[], [1.0], [0.0] * 500, [5.0] * 500, [1.0, 2.0] * 20])
def test_short_and_constant_series_have_none(values: list[float]) -> None:
    assert slow_changes(values) == []


def test_values_must_be_finite() -> None:
    with pytest.raises(DataError, match=r"values\[1\] is nan"):
        slow_changes([1.0, float("nan")])


@pytest.mark.parametrize("kind", SlowKind)
def test_job_reports_a_change_about_once(kind: SlowKind) -> None:
    rng = np.random.default_rng(9)
    reported = []
    for _ in range(5):
        values = drifting(rng, 100, 200) if kind is SlowKind.DRIFT else 100.0 + noise(rng, 300)
        values[100:] += 0.0 if kind is SlowKind.DRIFT else 2.0 * (values[100:] - 100.0)
        jobs = [newly_found(values[:size], 1) for size in range(100, 260)]
        reported.append([c.kind for changes in jobs for c in changes].count(kind))
    assert min(reported) >= 1
    assert np.mean(reported) <= 1.5


@needs_shared
def test_real_histories_have_few() -> None:
    names = "tigerbeetle_nyrkio.csv", "scipy_asv_i7_400.parquet"
    read_ones = [read(SHARED / "data" / "histories" / name) for name in names]
    histories = [series.values for history in read_ones for series in history]
    found = [c.kind for values in histories for c in slow_changes(values)]
    results = sum(values.size for values in histories)
    assert 0 < found.count(SlowKind.DRIFT) < results / 1000
    assert 0 < found.count(SlowKind.NOISE) < 2 * results / 1000

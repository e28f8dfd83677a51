"""What the contract promises, held against every detector that competes."""

from dataclasses import replace

import numpy as np
import pytest

from barograph.detection import StepFit
from barograph.detection.base import Detector
from barograph.errors import ConfigError, DataError
from barograph.series import Floats, Region
from barograph.studies.detector_benchmark.cases import default_detectors

# A single trace is no centroid: the default asks for steps without noise (docs/detection.md).
ALL = {**default_detectors(), "StepFit": StepFit(threshold=5.0)}
each = pytest.mark.parametrize("detector", ALL.values(), ids=ALL)
finders = pytest.mark.parametrize(
    "detector",
    [detector for name, detector in ALL.items() if name not in ("Nothing", "Gesd")],
    ids=[name for name in ALL if name not in ("Nothing", "Gesd")],
)
WITH_PVALUE = {"EDivisive", "Hunter", "Gesd", "Triaged"}
NOISE = np.random.default_rng(17).normal(0, 1, 80)
STEP: Floats = 100 + NOISE + np.repeat([0.0, 40.0], 40)
SPIKE: Floats = 100 + NOISE + 40 * (np.arange(80) == 40)


def indices(detector: Detector, values: Floats) -> list[int]:
    return [point.index for point in detector.detect(values)]


@each
def test_regions_are_those_between_the_neighbouring_change_points(detector: Detector) -> None:
    for values in (STEP, SPIKE):
        points = detector.detect(values)
        edges = [0, *(point.index for point in points), values.size]
        for k, point in enumerate(points):
            assert type(point.index) is int
            for region, start in ((point.before, k), (point.after, k + 1)):
                expected = Region.of(values[edges[start] : edges[start + 1]])
                assert region.count == expected.count
                assert type(region.count) is int
                for name in ("min", "max", "median", "mean", "variance"):
                    known = pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-12)
                    assert getattr(region, name) == known


@each
def test_a_pvalue_is_there_or_none_by_the_method(detector: Detector) -> None:
    points = detector.detect(STEP) + detector.detect(SPIKE)
    if type(detector).__name__ in WITH_PVALUE:
        assert all(p.pvalue is not None and 0 <= p.pvalue <= 1 for p in points)
    else:
        assert all(point.pvalue is None for point in points)


@finders
def test_a_step_is_reported_at_its_first_point(detector: Detector) -> None:
    assert 40 in indices(detector, STEP)


def test_an_outlier_is_reported_where_it_is() -> None:
    assert indices(ALL["Gesd"], SPIKE) == [40]


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_its_index(detector: Detector, bad: float) -> None:
    values = STEP.copy()
    values[7] = bad
    with pytest.raises(DataError, match=rf"values\[7\] is {bad}"):
        detector.detect(values)


@each
def test_missing_points_are_dropped_or_filled_on_demand(detector: Detector) -> None:
    holes = [3, 20, 55]
    values = np.insert(STEP, holes, np.nan)
    where = np.flatnonzero(np.isfinite(values))
    dropped = indices(replace(detector, missing="drop"), values)
    assert dropped == where[indices(detector, STEP)].tolist()
    filled = values.copy()
    for hole in np.flatnonzero(np.isnan(values)):
        filled[hole] = filled[hole - 1]
    assert indices(replace(detector, missing="fill"), values) == indices(detector, filled)


@each
def test_a_series_too_short_has_an_empty_list(detector: Detector) -> None:
    for size in range(detector.shortest):
        assert detector.detect(np.arange(float(size)) ** 3) == []


@each
@pytest.mark.parametrize("level", [0.0, 0.1, -7.25, 1e150, -1e-150])
def test_a_constant_has_no_change_point(detector: Detector, level: float) -> None:
    assert detector.detect(np.full(60, level)) == []


SERIES = {
    "huge": 1e150 * STEP,
    "tiny": 1e-150 * STEP,
    "negative": -STEP,
    "zero mean": STEP - STEP.mean(),
    "two values": np.where(STEP > 120, 1.0, -1.0),
    "in turn": np.tile([0.0, 1.0], 40),
    "next to the largest": np.where(STEP > 120, 1.7e308, -1.7e308),
    "one spike": SPIKE,
}


@each
@pytest.mark.parametrize("name", SERIES)
def test_odd_series_are_answered_twice_alike(detector: Detector, name: str) -> None:
    values = SERIES[name]
    points = detector.detect(values)
    where = [point.index for point in points]
    assert where == sorted(set(where))
    assert all(0 < index < values.size for index in where)
    assert not any(np.isnan(point.statistic) for point in points)
    assert detector.detect(values) == points


@each
def test_times_and_release_are_taken_by_all(detector: Detector) -> None:
    times = np.arange(80) * 3600.0
    dates = times.astype("datetime64[s]")
    assert detector.detect(STEP, times=dates) == detector.detect(STEP, times=times)
    with pytest.raises(DataError, match="times has the shape"):
        detector.detect(STEP, times=times[1:])
    with pytest.raises(DataError, match="release has 2 entries"):
        detector.detect(STEP, release=[100.0, 101.0])
    assert isinstance(detector.detect(STEP, release=100.0), list)


@each
def test_fit_predict_returns_the_indices_of_detect(detector: Detector) -> None:
    result = detector.fit_predict(STEP)
    assert result.dtype == np.int64
    assert result.tolist() == indices(detector, STEP)


@each
def test_parameters_make_an_equal_detector(detector: Detector) -> None:
    assert type(detector)(**detector.get_params()) == detector
    assert detector.set_params() == detector


@each
def test_set_params_returns_a_changed_copy(detector: Detector) -> None:
    changed = detector.set_params(missing="drop")
    assert type(changed) is type(detector)
    assert (changed.missing, detector.missing) == ("drop", "error")
    assert changed.set_params(missing="error") == detector


@each
def test_set_params_refuses_unknown_names_and_wrong_values(detector: Detector) -> None:
    name = type(detector).__name__
    with pytest.raises(ConfigError, match=rf"^{name} has no parameter 'speed': allowed are '"):
        detector.set_params(speed=1)
    with pytest.raises(ConfigError, match="missing is 'ignore'"):
        detector.set_params(missing="ignore")

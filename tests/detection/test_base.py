"""The contract of all detectors: input, indices, regions."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from barograph.detection.base import Detector, Missing, Observations, RawChangePoint, observe
from barograph.errors import DataError
from barograph.series import Region


@dataclass(frozen=True)
class Halfway(Detector):
    """Claims that the middle point starts a new regime."""

    @property
    def shortest(self) -> int:
        return 4

    def find(self, series: Observations) -> list[RawChangePoint]:
        return [RawChangePoint(series.values.size // 2, 1.5, 0.25)]


NAN, INF = float("nan"), float("inf")


def test_a_change_point_has_the_regions_up_to_its_neighbours() -> None:
    values = [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]
    (point,) = Halfway().detect(values)
    assert (point.index, point.statistic, point.pvalue) == (3, 1.5, 0.25)
    assert point.before == Region(3, 1.0, 3.0, 2.0, 2.0, 1.0, 2.0)
    assert point.after == Region(3, 7.0, 9.0, 8.0, 8.0, 1.0, 8.0)


@pytest.mark.parametrize(
    ("missing", "kept", "positions"),
    [("drop", [1.0, 4.0, 5.0], [1, 3, 5]), ("fill", [1.0, 1.0, 4.0, 4.0, 5.0], [1, 2, 3, 4, 5])],
)
def test_missing_values_are_dropped_or_filled_on_demand(
    missing: Missing, kept: list[float], positions: list[int]
) -> None:
    series = observe([NAN, 1.0, INF, 4.0, NAN, 5.0], missing=missing)
    assert series.values.tolist() == kept
    assert series.positions.tolist() == positions


def test_nothing_but_missing_values_is_an_empty_series() -> None:
    assert Halfway(missing="drop").detect([NAN] * 9) == []
    assert Halfway(missing="fill").detect([NAN] * 9) == []


def test_times_and_release_follow_the_points_that_are_kept() -> None:
    stamps = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")
    series = observe([1.0, NAN, 2.0], missing="drop", times=stamps, release=[5.0, 6.0, NAN])
    assert series.times is not None
    assert series.release is not None
    assert np.diff(series.times).tolist() == [2 * 86400.0]
    assert series.release[0] == 5.0
    assert np.isnan(series.release[1])
    single = observe([1.0, 2.0], release=5.0).release
    assert single is not None
    assert single.tolist() == [5.0, 5.0]


def test_times_with_a_zone_are_those_of_utc() -> None:
    day, hours = datetime(2020, 1, 1, tzinfo=UTC), timezone(timedelta(hours=2))
    expected = observe([1.0, 2.0], times=np.array(["2020-01-01", "2020-01-02"], dtype="M8[s]"))
    for zone in (UTC, hours):
        moments = [(day + timedelta(days=k)).astimezone(zone) for k in range(2)]
        series = observe([1.0, 2.0], times=np.array(moments, dtype=object))
        assert series.times is not None
        assert expected.times is not None
        assert series.times.tolist() == expected.times.tolist()


def test_input_that_is_no_series_of_numbers_is_refused() -> None:
    with pytest.raises(DataError, match="values must be one-dimensional"):
        observe([[1.0, 2.0]])
    with pytest.raises(DataError, match=r"values\[0\] is 'fast'; it must be a number"):
        observe(["fast", "slow"])
    with pytest.raises(DataError, match=r"values\[0\] is \(1\+0j\); it must be a number"):
        observe([1.0, 2.0j])
    with pytest.raises(DataError, match=r"times\[0\] is 'now'"):
        observe([1.0, 2.0], times=["now", "then"])
    with pytest.raises(DataError, match=r"release\[0\] is 'v1'"):
        observe([1.0, 2.0], release="v1")
    with pytest.raises(DataError, match="times has the shape"):
        observe([1.0, 2.0], times=[1.0])
    with pytest.raises(DataError, match="release has 3 entries"):
        observe([1.0, 2.0], release=[1.0, 2.0, 3.0])

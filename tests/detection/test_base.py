"""The contract of all detectors: input, indices, regions."""

from dataclasses import dataclass

import pytest

from barograph.detection.base import Detector, RawChangePoint, checked
from barograph.results.series import Floats, Region
from barograph.runtime.errors import DataError


@dataclass(frozen=True)
class Halfway(Detector):
    """Claims that the middle point starts a new regime."""

    @property
    def shortest(self) -> int:
        return 4

    def find(self, values: Floats) -> list[RawChangePoint]:
        return [RawChangePoint(values.size // 2, 1.5, 0.25)]


def test_a_change_point_has_the_regions_up_to_its_neighbours() -> None:
    values = [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]
    (point,) = Halfway().detect(values)
    assert (point.index, point.statistic, point.pvalue) == (3, 1.5, 0.25)
    assert point.before == Region(3, 1.0, 3.0, 2.0, 2.0, 1.0, 2.0)
    assert point.after == Region(3, 7.0, 9.0, 8.0, 8.0, 1.0, 8.0)


def test_values_beyond_the_limit_are_refused_by_their_index() -> None:
    assert checked([1e100, -1e100]).size == 2
    with pytest.raises(DataError, match=r"values\[1\] is -1.1e\+100; allowed are -1e100 to 1e100"):
        Halfway().detect([1.0, -1.1e100, 1e200, 1.0])


def test_input_that_is_no_series_of_numbers_is_refused() -> None:
    with pytest.raises(DataError, match="values must be one-dimensional"):
        checked([[1.0, 2.0]])
    with pytest.raises(DataError, match=r"values\[0\] is 'fast'; it must be a number"):
        checked(["fast", "slow"])
    with pytest.raises(DataError, match=r"values\[0\] is \(1\+0j\); it must be a number"):
        checked([1.0, 2.0j])

"""The contract of all detectors: input, indices, regions."""

from dataclasses import dataclass

import pytest

from barograph.detection.base import Detector, Missing, RawChangePoint, observe
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
    values, indices = observe([NAN, 1.0, INF, 4.0, NAN, 5.0], missing=missing)
    assert values.tolist() == kept
    assert indices.tolist() == positions


def test_nothing_but_missing_values_is_an_empty_series() -> None:
    assert Halfway(missing="drop").detect([NAN] * 9) == []
    assert Halfway(missing="fill").detect([NAN] * 9) == []


def test_input_that_is_no_series_of_numbers_is_refused() -> None:
    with pytest.raises(DataError, match="values must be one-dimensional"):
        observe([[1.0, 2.0]])
    with pytest.raises(DataError, match=r"values\[0\] is 'fast'; it must be a number"):
        observe(["fast", "slow"])
    with pytest.raises(DataError, match=r"values\[0\] is \(1\+0j\); it must be a number"):
        observe([1.0, 2.0j])

from typing import ClassVar

import numpy as np
import pytest

from barograph.detection import EDivisive, Hunter
from barograph.detection.base import Detector, RawChangePoint
from barograph.detection.batch import cut_of, detect_recent
from barograph.results.series import Floats, Ints, Region
from barograph.results.sizes import size_of


class Counting(Hunter):
    """Records the sizes of the stretches that are searched."""

    sizes: ClassVar[list[int]] = []

    def find_many(self, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        Counting.sizes.extend(np.diff(offsets).tolist())
        return super().find_many(values, offsets)


def steps(*lengths: int) -> Floats:
    """Noise around a level that rises by 5 standard deviations after each length."""
    levels = np.repeat(np.arange(len(lengths)) * 5.0, lengths)
    return levels + np.random.default_rng(3).normal(size=levels.size)


def detected(values: Floats, recent: int) -> list[int]:
    [expected] = detect_recent(Counting(), values, np.array([0, values.size]), recent=recent)
    return [point.index for point in expected]


@pytest.mark.parametrize("detector", [Hunter(), EDivisive()])
def test_short_series_are_searched_as_a_whole(detector: Detector) -> None:
    parts = [steps(20, 30), steps(9), steps(25, 10, 24)]
    offsets = np.cumsum([0, *(part.size for part in parts)])
    both = detect_recent(detector, np.concatenate(parts), offsets, recent=30)
    assert both == [detector.detect(part) for part in parts]


def test_stretches_begin_at_known_change_points() -> None:
    Counting.sizes.clear()
    values = steps(25, 40, 35, 30, 50)
    assert detected(values, 30) == [25, 65, 100, 130]
    assert Counting.sizes == [60] * 5 + [50]


def test_steps_without_a_change_point_to_begin_at_are_found() -> None:
    for first in range(20, 70):
        values = steps(first, 150 - first)
        assert min(abs(index - first) for index in detected(values, 30)) <= 1


def test_regions_are_those_of_the_whole_series() -> None:
    values = steps(100, 100)
    [[change]] = detect_recent(EDivisive(), values, np.array([0, 200]), recent=30)
    assert change.index == 100
    before, after, _ = size_of(values[:100], values[100:])
    assert change.before == Region.of(values[:100], before)
    assert change.after == Region.of(values[100:], after)


def test_next_stretch_has_points_before_its_first_change_point() -> None:
    assert cut_of([], 500) == 500
    assert cut_of([249, 501], 500) == 376
    assert cut_of([250, 499], 500) == 499
    assert all(1 <= cut_of(points, 3) <= 3 for points in ([], [1], [2], [4], [5]))


def test_energy_statistic_and_order_of_discovery_are_reported() -> None:
    divided, other = EDivisive().detect(steps(30, 60)[:80]), Hunter().detect(steps(30, 60))
    assert (divided[0].order, divided[0].q) == (0, divided[0].statistic)
    assert (other[0].order, other[0].q) == (None, other[0].statistic)

"""The size of a change is what a person sees around it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

import barograph as bg
from barograph.detection import Triaged, detect_many
from barograph.results.series import Direction, Floats, Region
from barograph.results.sizes import LevelLine, Size, level_lines, size_at, size_of
from tests.shared import SHARED, needs_shared

RANDOM = np.random.default_rng(4)
HISTORIES = SHARED / "data/histories"
POOL = SHARED / "data/pool/pool.parquet"


def noisy(level: float, count: int) -> Floats:
    return level + RANDOM.normal(0.0, 0.01 * level, count)


def test_spikes_do_not_move_the_size() -> None:
    before, after = noisy(100.0, 80), noisy(115.0, 40)
    before[::5] *= 3.0
    after[::7] *= 0.2
    assert after.mean() / before.mean() < 0.8
    assert size_of(before, after).percent == pytest.approx(15.0, abs=1.0)


def test_the_levels_are_medians_of_the_30_nearest_results() -> None:
    before, after = np.arange(100.0), np.arange(200.0, 260.0)
    assert size_of(before, after) == Size(84.5, 214.5)
    assert size_of(np.array([1.0, 3.0]), np.array([9.0])) == Size(2.0, 9.0)


def test_equal_medians_leave_the_difference_to_the_means_with_the_same_sign() -> None:
    size = size_of(np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 2.0]))
    assert size == Size(0.75, 1.25)
    assert size.effect(Direction.LOWER_IS_BETTER) == "worse"
    assert size_of(np.ones(4), np.ones(4)).effect(Direction.LOWER_IS_BETTER) == "changed"


def levels(*lengths: tuple[float, int]) -> Floats:
    return np.concatenate([np.full(count, level) for level, count in lengths])


@pytest.mark.parametrize(
    ("before", "after", "percent"),
    [
        (levels((1, 100), (10, 30)), levels((9, 30)), -10.0),  # the whole segments rise
        (levels((1, 100), (10, 18), (5, 12)), levels((9, 12)), -10.0),  # all but the 30 nearest
        (levels((5, 100), (9, 12)), levels((8, 12), (7, 40)), 40.0),  # all but the 12 nearest
    ],
)
@pytest.mark.parametrize("direction", Direction)
def test_a_change_whose_results_contradict_each_other_is_a_trend(
    before: Floats, after: Floats, percent: float, direction: Direction
) -> None:
    size = size_of(before, after)
    assert (size.percent, size.effect(direction)) == (percent, "trend")
    assert not size_of(before[-12:], after[:12]).is_trend


def test_regions_have_the_level_beside_their_change_and_the_mean_of_all_points() -> None:
    values = np.repeat([10.0, 20.0, 30.0, 50.0], [60, 30, 30, 60])
    first, second = bg.Dynp(changes=2).detect(values)
    assert (first.index, second.index) == (60, 120)
    assert (first.after.level, second.before.level) == (20.0, 30.0)
    assert first.after.mean == second.before.mean == 25.0
    assert size_at(second) == size_of(values[60:120], values[120:])


def test_level_lines_are_strong_where_a_change_was_measured() -> None:
    near, far = Region.of(np.ones(50), 5.0), Region.of(np.ones(12), 7.0)
    lines = level_lines(np.arange(62.0), [(50, near, far)])
    assert lines == [
        LevelLine(0, 20, 24.5, is_used=False),
        LevelLine(20, 50, 5.0, is_used=True),
        LevelLine(50, 62, 7.0, is_used=True),
    ]
    both = level_lines(np.ones(30), [(10, near, near), (20, near, near)])
    assert [line[:2] for line in both] == [(0, 10), (10, 20), (20, 30)]  # one line, not two


class Found(NamedTuple):
    """A change of the default detector, with the results of both segments."""

    size: Size
    before: Floats
    after: Floats


def changes(values: Floats, offsets: np.ndarray) -> Iterator[Found]:
    for k, points in enumerate(detect_many(Triaged(), values, offsets)):
        series = values[offsets[k] : offsets[k + 1]]
        edges = [0, *(point.index for point in points), series.size]
        for n, point in enumerate(points):
            a, b, c = edges[n : n + 3]
            yield Found(size_at(point), series[a:b], series[b:c])


def contradicts(found: Found) -> bool:
    """Whether up to 12 results on each side moved the other way than the size says."""
    near = np.median(found.after[:12]) - np.median(found.before[-12:])
    return bool(near * (found.size.after - found.size.before) < 0.0)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(
    "name",
    ["scipy_asv_i7_400.parquet", "tigerbeetle_nyrkio.csv", "mozilla_talos_treeherder_fixture.csv"],
)
def test_sizes_of_real_histories_agree_with_the_nearest_results(name: str) -> None:
    history = bg.read(HISTORIES / name)
    check([*changes(history.values, history.offsets)])


@pytest.mark.slow
@needs_shared
def test_sizes_of_the_pool_agree_with_the_nearest_results() -> None:
    history = bg.read(POOL)
    chosen = [history.values_of(k) for k in range(0, len(history), 12)]
    offsets = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
    check([*changes(np.concatenate(chosen), offsets)])


def check(found: list[Found]) -> None:
    trends = sum(change.size.is_trend for change in found)
    assert len(found) >= 30
    assert trends <= 0.03 * len(found)
    assert not any(contradicts(change) for change in found if not change.size.is_trend)

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.results.series import Direction
from barograph.results.sizes import Size

UP, DOWN, UNKNOWN = Direction.HIGHER_IS_BETTER, Direction.LOWER_IS_BETTER, Direction.UNKNOWN
levels = st.floats(1e-300, 1e300)


def test_opposite_changes_have_the_same_hazard() -> None:
    drop, rise = Size(100.0, 200 / 3).hazard(UP), Size(200 / 3, 100.0).hazard(UP)
    assert drop == pytest.approx(math.log(1.5))
    assert rise == pytest.approx(-math.log(1.5))


@given(levels, levels)
def test_hazard_is_positive_if_worse_with_the_same_magnitude_for_every_direction(
    before: float, after: float
) -> None:
    up, down, unknown = (Size(before, after).hazard(way) for way in (UP, DOWN, UNKNOWN))
    assert up is not None
    assert down == unknown == -up
    if after > before * 1.001:
        assert up < 0


def test_hazard_of_negative_levels_treats_zero_as_higher() -> None:
    assert Size(-2.0, -1.0).hazard(UP) == pytest.approx(-math.log(2))
    assert Size(-1.0, -2.0).hazard(UP) == pytest.approx(math.log(2))


@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, -1.0)])
def test_hazard_is_none_without_a_ratio(before: float, after: float) -> None:
    assert Size(before, after).hazard(UP) is None

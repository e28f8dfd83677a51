import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.series import Direction
from barograph.triage.refresh import hazard

UP, DOWN, UNKNOWN = Direction.HIGHER_IS_BETTER, Direction.LOWER_IS_BETTER, Direction.UNKNOWN
means = st.floats(1e-300, 1e300)


def test_opposite_changes_have_the_same_hazard() -> None:
    drop, rise = hazard(100.0, 200 / 3, UP), hazard(200 / 3, 100.0, UP)
    assert drop == pytest.approx(math.log(1.5))
    assert rise == pytest.approx(-math.log(1.5))


@given(means, means)
def test_hazard_is_positive_if_worse_with_the_same_magnitude_for_every_direction(
    before: float, after: float
) -> None:
    up, down, unknown = (hazard(before, after, way) for way in (UP, DOWN, UNKNOWN))
    assert up is not None
    assert down == unknown == -up
    if after > before * 1.001:
        assert up < 0


def test_hazard_of_negative_means_treats_zero_as_higher() -> None:
    assert hazard(-2.0, -1.0, UP) == pytest.approx(-math.log(2))
    assert hazard(-1.0, -2.0, UP) == pytest.approx(math.log(2))


@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, -1.0)])
def test_hazard_is_none_without_a_ratio(before: float, after: float) -> None:
    assert hazard(before, after, UP) is None

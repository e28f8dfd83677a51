"""The measures of the Turing Change Point Dataset, against cases worked out by hand."""

import pytest

from barograph.errors import ConfigError
from barograph.evaluation.annotators import covering, f1, person_f1


@pytest.mark.parametrize(
    ("found", "marks", "expected"),
    [
        ([], [[], []], 1.0),
        ([], [[10], []], 6 / 7),  # precision 1, recall (1/2 + 1) / 2
        ([22, 80], [[20], [20, 50]], 20 / 27),  # precision 2/3, recall (1 + 2/3) / 2
        ([20, 50], [[20], [20, 50]], 1.0),  # what one person alone marked is no error
        ([14, 26], [[20]], 0.4),  # both six points away: precision 1/3, recall 1/2
        ([15, 25], [[20]], 0.8),  # both within five points, but one mark counts once
        ([3], [[20]], 0.5),  # near index 0, which is found by itself
        ([20], [[0, 20], [20]], 1.0),
    ],
)
def test_f1_by_hand(found: list[int], marks: list[list[int]], expected: float) -> None:
    assert f1(found, marks) == pytest.approx(expected, rel=1e-12)


def test_f1_keeps_to_its_margin() -> None:
    assert f1([22], [[20]], margin=1) == pytest.approx(0.5)
    assert f1([22], [[20]], margin=2) == 1.0


def test_a_person_is_judged_by_the_others() -> None:
    # The two who agree do perfectly; who marked nothing has precision 1 and recall 1/2.
    assert person_f1([[20], [20], []]) == pytest.approx((1 + 1 + 2 / 3) / 3)


@pytest.mark.parametrize(
    ("found", "marks", "expected"),
    [
        ([5], [[5]], 1.0),
        ([], [[5]], 0.5),
        ([4], [[5]], (5 * 4 / 5 + 5 * 5 / 6) / 10),
        ([], [[5], []], 0.75),
        ([2, 5, 8], [[5]], 0.6),  # the best parts are three of five points each
    ],
)
def test_covering_by_hand(found: list[int], marks: list[list[int]], expected: float) -> None:
    assert covering(found, marks, 10) == pytest.approx(expected, rel=1e-12)


def test_nobody_and_points_outside_are_refused() -> None:
    with pytest.raises(ConfigError, match="nobody looked"):
        f1([3], [])
    with pytest.raises(ConfigError, match="2 or more are needed, got 1"):
        person_f1([[3]])
    with pytest.raises(ConfigError, match=r"\[0, 10\] lie outside a series of 10"):
        covering([10], [[5]], 10)

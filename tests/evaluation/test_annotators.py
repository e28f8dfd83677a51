"""The measures of the Turing Change Point Dataset, compared with hand calculations."""

import pytest
from histories import person_agreement

from barograph.learning.metrics import f1_of_marks
from barograph.runtime.errors import ConfigError


@pytest.mark.parametrize(
    ("predicted", "marks", "expected"),
    [
        ([], [[], []], 1.0),
        ([], [[10], []], 6 / 7),  # precision 1, recall (1/2 + 1) / 2
        ([22, 80], [[20], [20, 50]], 20 / 27),  # precision 2/3, recall (1 + 2/3) / 2
        ([20, 50], [[20], [20, 50]], 1.0),  # a point that one person marked is not an error
        ([14, 26], [[20]], 0.4),  # both six points away: precision 1/3, recall 1/2
        ([15, 25], [[20]], 0.8),  # both within five points, but one mark counts once
        ([3], [[20]], 0.5),  # near index 0, which counts as found
        ([20], [[0, 20], [20]], 1.0),
    ],
)
def test_f1_matches_hand_calculation(
    predicted: list[int], marks: list[list[int]], expected: float
) -> None:
    assert f1_of_marks(predicted, marks) == pytest.approx(expected, rel=1e-12)


def test_f1_matches_only_within_its_margin() -> None:
    assert f1_of_marks([26], [[20]]) == pytest.approx(0.5)
    assert f1_of_marks([25], [[20]]) == 1.0


def test_person_agreement_compares_each_person_with_the_others() -> None:
    # The two who agree score 1; the one without marks has precision 1 and recall 1/2.
    assert person_agreement([[20], [20], []]) == pytest.approx((1 + 1 + 2 / 3) / 3)


def test_missing_annotators_are_refused() -> None:
    with pytest.raises(ConfigError, match="has no annotator"):
        f1_of_marks([3], [])
    with pytest.raises(ConfigError, match="2 people or more, got 1"):
        person_agreement([[3]])

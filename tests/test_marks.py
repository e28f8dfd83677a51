"""Which changes several people agree on."""

import pytest

from barograph.results.marks import majority_changes


@pytest.mark.parametrize(
    ("people", "agreed"),
    [
        ([[50], [52], [54]], [52]),
        ([[50], [55], []], [52]),
        ([[50], [50], [], []], []),  # half is not more than half
        ([[10], [12], []], [11]),
        ([[10], [16], []], []),
        ([[10, 100], [11, 101], [90]], [10, 100]),
        ([[10, 14], [18], [22]], [16]),
        ([[10, 11, 12], []], []),
        ([], []),
        ([[]], []),
    ],
)
def test_a_change_is_real_where_more_than_half_mark_it(
    people: list[list[int]], agreed: list[int]
) -> None:
    assert majority_changes(people) == agreed

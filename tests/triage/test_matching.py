from hypothesis import given
from hypothesis import strategies as st

from barograph.triage.matching import match

places = st.lists(st.integers(0, 60), max_size=8, unique=True)


def test_the_nearest_is_the_same_one() -> None:
    assert match([10, 20], [12, 19, 40]) == {0: 0, 1: 1}
    assert match([10, 13], [12]) == {0: 1}


def test_what_moved_too_far_is_another_one() -> None:
    assert match([10], [16]) == {}
    assert match([10], [16], reach=6) == {0: 0}


@given(places, places, st.integers(0, 10))
def test_pairs_are_within_reach_taken_once_and_none_is_left_out(
    old: list[int], new: list[int], reach: int
) -> None:
    found = match(old, new, reach)
    assert len(set(found.values())) == len(found)
    assert all(abs(old[k] - new[number]) <= reach for number, k in found.items())
    left_old = [one for k, one in enumerate(old) if k not in found.values()]
    left_new = [one for number, one in enumerate(new) if number not in found]
    assert all(abs(a - b) > reach for a in left_old for b in left_new)


@given(places)
def test_what_did_not_move_is_itself(there: list[int]) -> None:
    assert match(there, there) == {k: k for k in range(len(there))}

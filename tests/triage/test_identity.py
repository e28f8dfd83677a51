from hypothesis import given
from hypothesis import strategies as st

from barograph.triage.identity import match

places = st.lists(st.integers(0, 60), max_size=8, unique=True)


def test_match_pairs_the_nearest() -> None:
    assert match([10, 20], [12, 19, 40]) == {0: 0, 1: 1}
    assert match([10, 13], [12]) == {0: 1}


def test_match_ignores_points_out_of_reach() -> None:
    assert match([10], [16]) == {}
    assert match([10], [16], reach=6) == {0: 0}


@given(places, places, st.integers(0, 10))
def test_match_pairs_each_point_once_and_leaves_no_pair_out(
    old: list[int], new: list[int], reach: int
) -> None:
    found = match(old, new, reach)
    assert len(set(found.values())) == len(found)
    assert all(abs(old[k] - new[number]) <= reach for number, k in found.items())
    left_old = [one for k, one in enumerate(old) if k not in found.values()]
    left_new = [one for number, one in enumerate(new) if number not in found]
    assert all(abs(a - b) > reach for a in left_old for b in left_new)


@given(places)
def test_match_is_the_identity_without_moves(there: list[int]) -> None:
    assert match(there, there) == {k: k for k in range(len(there))}

from hypothesis import given
from hypothesis import strategies as st

from barograph.store.lookups import questions

pairs = st.sets(st.tuples(st.integers(0, 9), st.integers(-5, 5)), max_size=40)


@given(pairs)
def test_each_place_is_asked_for_once_and_no_other(places: set[tuple[int, int]]) -> None:
    asked = [(s, o) for numbers, orders in questions(places) for s in numbers for o in orders]
    assert sorted(asked) == sorted(places)


def test_one_commit_of_many_series_is_few_questions() -> None:
    asked = list(questions((number, 7) for number in range(2500)))
    assert [(len(numbers), orders) for numbers, orders in asked] == [
        (1000, [7]),
        (1000, [7]),
        (500, [7]),
    ]
    assert len(list(questions((3, order) for order in range(900)))) == 1

from hypothesis import given
from hypothesis import strategies as st

from barograph.server.store.ingest import batched_lookups

pairs = st.sets(st.tuples(st.integers(0, 9), st.integers(-5, 5)), max_size=40)


@given(pairs)
def test_batched_lookups_ask_for_each_place_once(places: set[tuple[int, int]]) -> None:
    lookups = [
        (s, o) for numbers, orders in batched_lookups(places) for s in numbers for o in orders
    ]
    assert sorted(lookups) == sorted(places)


def test_batched_lookups_need_few_queries_for_one_commit() -> None:
    lookups = list(batched_lookups((number, 7) for number in range(2500)))
    assert [(len(numbers), orders) for numbers, orders in lookups] == [
        (1000, [7]),
        (1000, [7]),
        (500, [7]),
    ]
    assert len(list(batched_lookups((3, order) for order in range(900)))) == 1

"""The newest points of a series lie apart, and nobody can tell from what the store says."""

import random

import pytest
import sqlalchemy as sa

from barograph.store import Measurement, Store, queries, shelf
from barograph.store.schema import newest
from barograph.store.schema import points as settled
from tests.store.samples import history, point, points

COUNT = sa.func.count()


def lie(store: Store, apart: int, beside: int) -> bool:
    """Whether so many points lie among the newest, if any do at all, and so many elsewhere."""
    with store.read() as connection:
        counts = [connection.scalar(sa.select(COUNT).select_from(t)) for t in (newest, settled)]
        return counts == ([apart, beside] if shelf.lies_apart(connection) else [0, apart + beside])


def grow(store: Store, first: int, last: int) -> None:
    for order in range(first, last):
        store.ingest([point(order, float(order))], "ci")


def test_the_newest_go_beside_the_others_once_in_so_many_points(store: Store) -> None:
    grow(store, 0, 14)
    assert lie(store, 14, 0)
    grow(store, 14, 15)  # the turn of series 1
    assert lie(store, 0, 15)
    grow(store, 15, 33)
    assert lie(store, 2, 31)


def test_many_points_at_once_lie_beside_the_others(store: Store) -> None:
    grow(store, 0, 3)
    store.ingest([point(order) for order in range(3, 400)], "ci")
    assert lie(store, 0, 400)


@pytest.mark.parametrize(
    "late",
    [point(3, 7.5), point(-1, 0.5), point(3, 1.0, run="b")],
    ids=["another value", "before all", "between"],
)
def test_what_comes_late_finds_all_points_together(store: Store, late: Measurement) -> None:
    grow(store, 0, 6)
    store.ingest([point(order, 1.0, "b") for order in range(3)], "ci")
    written = store.ingest([late], "ci").counts["written"]
    assert lie(store, 3, 6 + written)  # those of the other series alone
    grow(store, 6, 8)
    assert lie(store, 5, 6 + written)


def test_the_same_again_moves_nothing(store: Store) -> None:
    grow(store, 0, 6)
    again = store.ingest([point(order, float(order)) for order in range(6)], "ci")
    assert again.counts["duplicate"] == 6
    assert lie(store, 6, 0)


def test_reasons_are_kept_wherever_a_point_lay(store: Store) -> None:
    grow(store, 0, 20)
    for order in (4, 18):
        store.write(lambda c, o=order: queries.explain(c, 1, o, "", {"jump": o}))  # type: ignore[misc]
    with store.read() as connection:
        found = {one.order: one.reasons for one in queries.points_of(connection, 1)}
    assert (found[4], found[18]) == ({"jump": 4}, {"jump": 18})
    assert sum(one is not None for one in found.values()) == 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_none_of_the_newest_stands_before_one_of_the_others(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    sent = history("abcd", 60, seed, runs=2)
    for one in sent:
        store.ingest([one], "ci")
        if rng.random() < 0.05:
            late = rng.choice(sent)
            store.ingest([late._replace(value=late.value + 1.0)], "ci")
    with store.read() as connection:
        for number in range(1, 5):
            places = [
                connection.execute(
                    sa.select(t.c.order, t.c.run)
                    .where(t.c.series == number)
                    .order_by(t.c.order, t.c.run)
                ).all()
                for t in (settled, newest)
            ]
            every = [*places[0], *places[1]]
            assert every == sorted(every)
            assert len(places[1]) < shelf.EVERY
        assert connection.scalar(sa.select(COUNT).select_from(points)) == len(sent)


def test_pages_of_points_run_over_both(store: Store) -> None:
    grow(store, 0, 40)
    with store.read() as connection:
        by_page = [
            one.order
            for first in range(0, 40, 7)
            for one in queries.points_of(connection, 1, first=first, limit=7)
        ]
        last = [one.order for one in queries.points_of(connection, 1, limit=12, newest=True)]
        between = [one.order for one in queries.points_of(connection, 1, first=25, last=34)]
    assert by_page == list(range(40))
    assert last == list(range(28, 40))
    assert between == list(range(25, 35))

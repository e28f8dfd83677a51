"""Commits of which no file states an order get a place in the history of their project."""

import sqlalchemy as sa

from barograph.server.store import Measurement, Store
from barograph.server.store.exchange import place_commits
from barograph.server.store.schema import commits, points
from tests.store.digest import table
from tests.store.samples import point, series

TIME = 1_700_000_000_000


def placed(store: Store, **proposed: tuple[int, bool]) -> dict[str, int]:
    """Place commits of a project."""
    named = {("p", name): proposal for name, proposal in proposed.items()}
    orders = store.write(lambda connection: place_commits(connection, named))
    return {name: order for (_, name), order in orders.items()}


def test_new_commits_of_an_empty_project_get_the_proposed_orders(store: Store) -> None:
    assert placed(store, b=(7, False), a=(3, False), t=(-5, True)) == {"b": 7, "a": 3, "t": -5}


def test_known_commit_keeps_its_order(store: Store) -> None:
    store.ingest([point(5)], "ci")
    assert placed(store, c5=(TIME, True), new=(0, False)) == {"c5": 5, "new": 6}
    assert placed(store, new=(99, False)) == {"new": 6}
    with store.read() as connection:
        assert sorted(connection.execute(sa.select(commits)).all()) == [
            ("p", "c5", 5),
            ("p", "new", 6),
        ]


def test_commits_in_other_projects_play_no_part(store: Store) -> None:
    store.ingest([point(5)._replace(series=series(project="other"))], "ci")
    assert placed(store, c5=(1, False)) == {"c5": 1}


def test_commit_with_a_time_is_inserted_there_or_at_the_next_free_order(store: Store) -> None:
    placed(store, a=(TIME, True), b=(TIME + 50, True))
    assert placed(store, c=(TIME + 20, True), d=(TIME, True), e=(TIME - 9, True)) == {
        "c": TIME + 20,
        "d": TIME + 1,
        "e": TIME - 9,
    }


def test_commits_without_a_time_come_after_the_last_in_their_order(store: Store) -> None:
    placed(store, a=(TIME, True))
    assert placed(store, c=(1, False), b=(0, False)) == {"b": TIME + 1, "c": TIME + 2}


def test_time_is_not_compared_with_orders_of_another_kind(store: Store) -> None:
    store.ingest([point(1000 * TIME)], "ci")
    assert placed(store, a=(TIME, True)) == {"a": 1000 * TIME + 1}


def test_runs_without_a_name_are_told_apart_by_time(store: Store) -> None:
    sent = [
        Measurement(series("a"), value, 5, "c5", run, time, made_up=True)
        for value, run, time in ((1.0, "", 10), (2.0, "", 20), (3.0, "#2", 30), (3.0, "", 20))
    ]
    statuses = [store.ingest([row], "ci").points[0].status.value for row in sent]
    assert statuses == ["written", "written", "written", "revised"]
    assert {store.ingest([row], "ci").points[0].status.value for row in sent[:3]} == {"duplicate"}
    assert table(store, points, "run", "value", "time") == [
        ("", 1.0, 10),
        ("#2", 3.0, 20),
        ("#3", 3.0, 30),
    ]

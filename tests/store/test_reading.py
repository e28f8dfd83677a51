from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from barograph.runtime.errors import DataError
from barograph.server.store import Store, reading
from barograph.server.store.reading import orders_before
from barograph.server.triage import tickets
from tests.store.samples import history, number_of, point, series


def test_find_series_filters_by_label_and_pages(store: Store) -> None:
    store.ingest([point(0, 1.0, name) for name in "abcd"], "ci")
    with store.read() as connection:
        first = reading.find_series(connection, project="p", limit=3)
        rest = reading.find_series(connection, project="p", after=first[-1].id)
        assert [item.name for item in (*first, *rest)] == [series(name) for name in "abcd"]
        [row] = reading.find_series(connection, test="c")
        assert reading.get_series(connection, row.id) == row
        assert number_of(connection, series("c")) == row.id
        assert number_of(connection, series("unknown")) is None
        named = reading.series_named(connection, [series("unknown"), series("c")])
        assert named == {series("c"): row}
        with pytest.raises(DataError, match="no series 99"):
            reading.get_series(connection, 99)


def test_points_of_returns_points_in_order_with_decisions(store: Store) -> None:
    store.ingest(history("a", 20)[::-1], "ci")
    with store.read() as connection:
        every = reading.points_of(connection, 1)
        assert [result.order for result in every] == list(range(20))
        assert [result.order for result in every if result.decision.is_change] == [10]
        assert {result.model for result in every} == {"rule"}
        some = reading.points_of(connection, 1, first=3, last=9, limit=2)
        assert [result.order for result in some] == [3, 4]


def test_ticket_for_missing_candidate_is_refused(store: Store) -> None:
    with pytest.raises(DataError, match="no candidate 3"):
        store.write(lambda connection: tickets.file(connection, "A-1", "", "slow", [3], "ann"))
    number = store.write(lambda connection: tickets.file(connection, "A-1", "", "t", [], "ann"))
    again = store.write(lambda connection: tickets.file(connection, "A-1", "", "t", [], "bob"))
    assert number == again
    store.write(lambda connection: tickets.close(connection, "A-1", "ann"))
    with store.read() as connection:
        [ticket] = tickets.find(connection)
    assert (ticket.key, ticket.status, ticket.candidates) == ("A-1", "closed", ())
    with pytest.raises(DataError, match="no ticket 'B'"):
        store.write(lambda connection: tickets.close(connection, "B", "ann"))


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: reading.points_of(c, 1, limit=5),
        lambda c: reading.points_of(c, 1, first=100, limit=5),
        lambda c: orders_before(c, 1, 4_000, 20),
    ],
    ids=["first page", "later page", "keys"],
)
def test_points_of_reads_a_page_by_key(
    store: Store, ask: Callable[[sa.Connection], object]
) -> None:
    store.ingest([point(order) for order in range(4_000)], "ci")
    store.write(lambda connection: connection.execute(sa.text("ANALYZE points")))
    plans: list[str] = []

    def explain(connection: sa.Connection, _: object, text: str, values: Any, *__: object) -> None:
        if not text.startswith("SELECT"):
            return
        driver = connection.connection.cursor()
        how = "EXPLAIN" if connection.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
        driver.execute(f"{how} {text}", values)
        plans.append(str(driver.fetchall()))

    sa.event.listen(store._engine, "before_cursor_execute", explain)
    with store.read() as connection:
        ask(connection)
    [plan] = plans
    assert "pk_points" in plan or "USING PRIMARY KEY" in plan


def test_points_of_pages_cover_every_point(store: Store) -> None:
    for order in range(40):
        store.ingest([point(order, float(order))], "ci")
    with store.read() as connection:
        pages = [reading.points_of(connection, 1, first=n, limit=7) for n in range(0, 40, 7)]
        between = reading.points_of(connection, 1, first=25, last=34)
    assert [entry.order for page in pages for entry in page] == list(range(40))
    assert [result.order for result in between] == list(range(25, 35))

"""What filters and patterns allow, and how filters are saved."""

from typing import Any

import pytest

from barograph.runtime.errors import DataError
from barograph.server.store import Store
from barograph.server.triage import filters as saved_filters
from barograph.server.triage import patterns
from barograph.server.triage.filters import QueueFilter


@pytest.mark.parametrize(
    "expected", [{"state": "closed"}, {"sort": "colour"}, {"show": ("all",)}, {"effect": "bad"}]
)
def test_a_filter_names_the_values_that_it_allows(expected: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="is not one of"):
        QueueFilter(**expected)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"odd": ["x"]}, "no kind"),
        ({"canary": [""]}, "1 to 2000"),
        ({"canary": ["\0"]}, "1 to 2000"),
    ],
)
def test_patterns_that_cannot_be_stored_are_refused(
    store: Store, kinds: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        store.write(lambda connection: patterns.set_patterns(connection, kinds, "x"))


def test_patterns_of_one_kind_leave_the_others(store: Store) -> None:
    for kinds in ({"canary": ["b", "a", "a"], "informational": ["c"]}, {"canary": ["d"]}):
        store.write(lambda c, kinds=kinds: patterns.set_patterns(c, kinds, "x"))  # type: ignore[misc]
    with store.read() as connection:
        assert patterns.stored_patterns(connection) == {
            "canary": ("d",),
            "low_priority": (),
            "informational": ("c",),
        }


def test_filters_are_saved_replaced_and_deleted(store: Store) -> None:
    for query in ("effect=worse", "effect=better"):
        store.write(lambda c, query=query: saved_filters.save_filter(c, "Morning", query, "ann"))  # type: ignore[misc]
    with store.read() as connection:
        [saved] = saved_filters.every_filter(connection)
    assert saved[:3] == ("Morning", "effect=better", "ann")
    renamed = store.write(lambda c: saved_filters.rename_filter(c, "Morning", "Noon", "ben"))
    assert renamed == saved._replace(name="Noon")
    with pytest.raises(DataError, match="a saved filter 'Noon' already"):
        store.write(lambda c: saved_filters.rename_filter(c, "Noon", "Noon", "ben"))
    with store.read() as connection:
        assert saved_filters.every_filter(connection) == [renamed]
    store.write(lambda c: saved_filters.delete_filter(c, "Noon", "ann"))
    with pytest.raises(DataError, match="no saved filter 'Morning'"):
        store.write(lambda c: saved_filters.delete_filter(c, "Morning", "ann"))
    with pytest.raises(DataError, match="1 to 100 characters"):
        store.write(lambda c: saved_filters.save_filter(c, " ", "", "ann"))

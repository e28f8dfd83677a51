"""The commits between two results, by what git or a sender said about their parents."""

from collections.abc import Mapping

import pytest
import sqlalchemy as sa

from barograph.server.store import Store, commit_details
from barograph.server.store.commit_details import CommitDetails
from barograph.server.store.schema import commits
from barograph.server.triage.commits import commit_changes, commit_text
from barograph.server.triage.suspects import KnownRange, known_ranges, suspects
from tests.triage.test_evidence import refreshed, results

MEASURED = {"a": 10, "b": 20, "c": 30}


def describe(store: Store, parents: Mapping[str, str]) -> None:
    details = [CommitDetails("p", name, parent=parent) for name, parent in parents.items()]
    store.write(lambda connection: commit_details.save(connection, details))


def known(store: Store, low: int, high: int, parents: Mapping[str, str]) -> KnownRange:
    """The range between two measured commits, after others were described."""
    rows = [{"project": "p", "commit": name, "order": order} for name, order in MEASURED.items()]
    store.write(lambda connection: connection.execute(sa.insert(commits), rows))
    describe(store, parents)
    with store.read() as connection:
        return known_ranges(connection, "p", [(low, high)])[low, high]


@pytest.mark.parametrize(
    ("parents", "names", "is_complete"),
    [
        ({}, "b", False),
        ({"b": "a"}, "b", True),
        ({"b": "u"}, "u b", False),
        ({"b": "u", "u": "t"}, "t u b", False),
        ({"b": "u", "u": "a"}, "u b", True),
        ({"b": "u", "u": "t", "t": "a"}, "t u b", True),
        ({"b": "c", "c": "a"}, "b", False),
        ({"b": "u", "u": "b"}, "u b", False),
        ({"b": "u", "u": "t", "t": "u"}, "u t b", False),
    ],
)
def test_a_range_is_complete_if_parents_lead_from_its_end_to_its_start(
    store: Store, parents: dict[str, str], names: str, is_complete: bool
) -> None:
    found = known(store, 10, 20, parents)
    assert sorted(name for _, name in found.commits) == sorted(names.split())
    assert found.commits[-1] == (20, "b")
    assert found.is_complete == is_complete
    if is_complete:
        assert [name for _, name in found.commits] == names.split()


@pytest.mark.parametrize(
    ("parents", "is_complete"),
    [
        ({"c": "v", "v": "b", "b": "u", "u": "a"}, True),
        ({"c": "v", "v": "b", "b": "u"}, False),
        ({"c": "v", "b": "u", "u": "a"}, False),
    ],
)
def test_a_measured_commit_in_a_range_needs_a_parent_too(
    store: Store, parents: dict[str, str], is_complete: bool
) -> None:
    found = known(store, 10, 30, parents)
    assert found.commits == ((None, "u"), (20, "b"), (None, "v"), (30, "c"))
    assert found.is_complete == is_complete


def test_a_range_of_results_without_commits_has_the_order_of_its_end(store: Store) -> None:
    with store.read() as connection:
        assert known_ranges(connection, "p", [(1, 2)]) == {(1, 2): KnownRange(((2, ""),), False)}


def test_commits_without_a_result_are_suspects_and_are_run_next(store: Store) -> None:
    refreshed(store, results(1, range(40)), 20)
    describe(store, {"c20": "u2", "u2": "u1", "u1": "u0"})
    with store.read() as connection:
        open_ = suspects(connection, 1)
    assert [(commit.order, commit.commit) for commit in open_.commits] == [
        *((None, name) for name in ("u0", "u1", "u2")),
        (20, "c20"),
    ]
    assert (open_.count, open_.is_complete, open_.next) == (4, False, "u1")
    describe(store, {"u0": "c19"})
    with store.read() as connection:
        assert suspects(connection, 1).is_complete


def test_text_of_a_commit_calls_it_the_only_suspect_once_its_parent_is_known(store: Store) -> None:
    refreshed(store, results(1, range(40)), 20)

    def line() -> str:
        with store.read() as connection:
            return commit_text(commit_changes(connection, "p", 20)).splitlines()[-1]

    more = "commits that were not measured may lie between"
    assert line() == f"Suspect range: this commit; {more}."
    describe(store, {"c20": "u"})
    assert line() == f"Suspect range: 2 known commits; {more}."
    describe(store, {"u": "c19"})
    assert line() == "Suspect range: 2 commits."
    describe(store, {"c20": "c19"})
    assert line() == "Suspect range: this commit alone."

"""Results get the order of their file, of time, of git, or of their rows; a note says which."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from barograph.results.series import UNKNOWN_TIME
from barograph.sources.formats.base import Result
from barograph.sources.formats.orders import order_results
from barograph.sources.git import Repository
from tests.repositories import START, Made, make_repository
from tests.sources.formats.collecting import collected, result

NOWHERE = Repository("/")
SECOND = 1000
GONE = "f" * 40
# `two` was committed before `one`, but `one` is its parent. `side` is merged by `merge`.
COMMITS = {
    "one": Made(time=100),
    "two": Made(("one",), 50),
    "side": Made(("one",), 110, "topic"),
    "merge": Made(("two", "side"), 120),
    "last": Made(("merge",), 130),
}


class Tree(NamedTuple):
    """A repository and the hashes of its commits."""

    repository: Repository
    hashes: dict[str, str]

    def results(self, *names: str, time: int | None = None) -> list[Result]:
        """Return a result of each commit; names that are no commits stay as they are."""
        moment = UNKNOWN_TIME if time is None else time
        commits = [self.hashes.get(name, name) for name in names]
        return [result(k, commit=commit, time=moment) for k, commit in enumerate(commits)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("orders")
    hashes = make_repository(folder, COMMITS)
    return Tree(Repository(folder), hashes)


def sorted_rows(results: list[Result], repository: Repository = NOWHERE) -> tuple[list[int], str]:
    """Return the numbers of the results in their order, and the note."""
    ordered = order_results(collected(results), repository)
    places = ordered.orders.tolist()
    return sorted(range(len(places)), key=places.__getitem__), "; ".join(ordered.notes)


def test_orders_of_the_file_stay_and_need_no_note() -> None:
    ordered = order_results(collected([result(order=9), result(order=4)]), NOWHERE)
    assert (ordered.orders.tolist(), ordered.notes) == ([9, 4], [])


def test_orders_that_no_file_states_are_marked() -> None:
    stated = [result(order=9, commit="x"), result(order=4, commit="y")]
    assert order_results(collected(stated), NOWHERE).made_up.tolist() == []
    added = [*stated, result(2.0, "b", commit="x"), result(commit="z")]
    assert order_results(collected(added), NOWHERE).made_up.tolist() == [10]
    for sent in ([result(commit="x"), result(commit="y")], [result(time=5), result(time=8)]):
        ordered = order_results(collected(sent), NOWHERE)
        assert sorted(ordered.made_up.tolist()) == sorted(ordered.orders.tolist())


def test_results_without_an_order_come_after_all_others() -> None:
    sent = [result(order=9, commit="x"), result(commit="y"), result(order=4), result(commit="z")]
    ordered = order_results(collected(sent), NOWHERE)
    assert ordered.orders.tolist() == [9, 10, 4, 11]
    assert ordered.notes == ["2 results without an order: placed after all others"]


def test_result_without_an_order_gets_that_of_its_commit() -> None:
    sent = [result(order=9, commit="x"), result(order=12, commit="y"), result(2.0, "b", commit="x")]
    ordered = order_results(collected(sent), NOWHERE)
    assert (ordered.orders.tolist(), ordered.notes) == ([9, 12, 9], [])


def test_times_are_orders_in_milliseconds() -> None:
    times = [1_700_000_000_500, 1_700_000_000_001]
    ordered = order_results(collected([result(time=time) for time in times]), NOWHERE)
    assert (ordered.orders.tolist(), ordered.notes) == (times, ["ordered by time"])


def test_order_of_a_single_time_is_that_time() -> None:
    ordered = order_results(collected([result(time=1_700_000_000_500)]), NOWHERE)
    assert (ordered.orders.tolist(), ordered.notes) == ([1_700_000_000_500], [])


def test_commit_measured_by_several_tests_has_its_earliest_time() -> None:
    sent = [result(1, "a", commit="x", time=7000), result(1, "b", commit="x", time=6000)]
    ordered = order_results(collected([*sent, result(2, "a", commit="y", time=8000)]), NOWHERE)
    assert ordered.orders.tolist() == [6000, 6000, 8000]


def test_commits_of_one_time_are_a_millisecond_apart_as_listed() -> None:
    sent = [result(commit=name, time=time) for name, time in zip("abcd", (5, 5, 5, 6), strict=True)]
    ordered = order_results(collected(sent), NOWHERE)
    assert ordered.orders.tolist() == [5, 6, 7, 8]


def test_commits_of_one_time_are_reversed_where_the_newest_is_listed_first() -> None:
    sent = [result(commit=name, time=time) for name, time in zip("abc", (9, 5, 5), strict=True)]
    assert sorted_rows(sent)[0] == [2, 1, 0]


def test_commits_of_one_time_are_sorted_by_git(tree: Tree) -> None:
    rows, note = sorted_rows(tree.results("last", "merge", "one", "two", time=5), tree.repository)
    assert (rows, note) == ([2, 3, 1, 0], "ordered by time")


def test_results_without_a_date_are_placed_by_the_rows_around_them() -> None:
    sent = [result(commit="a", time=10), result(commit="b"), result(commit="c", time=30)]
    rows, note = sorted_rows(sent)
    assert (rows, note) == (
        [0, 1, 2],
        "ordered by time; 1 without a date placed by the rows around them",
    )
    rows, _ = sorted_rows([sent[2], sent[1], sent[0]])
    assert rows == [2, 1, 0]


def test_few_dates_do_not_order_a_history() -> None:
    sent = [result(commit="a", time=99), result(commit="b"), result(commit="c"), result(commit="d")]
    assert sorted_rows(sent) == (
        [0, 1, 2, 3],
        "ordered as listed, the oldest first: commits are without order and time; "
        "if the newest comes first, list them in reverse, or add a column `order` or `time`",
    )


def test_numbered_files_are_not_to_be_listed_in_reverse() -> None:
    # The names of `collected` are file0, file1 and file2: no list of them changes their order.
    files = [[result(commit=name)] for name in "abc"]
    (note,) = order_results(collected(*files), NOWHERE).notes
    assert note == (
        "ordered by the numbers of the files, the oldest first: commits are without order and "
        "time; if the newest comes first, number the files in reverse, or add a column `order` or "
        "`time`"
    )


@pytest.mark.parametrize(
    ("names", "is_reversed"),
    [
        (["r120", "r119", "r101"], True),
        (["1.10.0", "1.9.2", "1.9.1"], True),
        (["build #12", "build #11", "build #9"], True),
        (["r101", "r119", "r120"], False),
        (["r120", "r101", "r119"], False),
        (["c3", "b2", "a1"], False),
        (["12", "11"], False),
        (["120", "", "101"], False),
    ],
)
def test_commits_whose_numbers_fall_are_listed_newest_first(
    names: list[str], is_reversed: bool
) -> None:
    places, note = sorted_rows([result(commit=name) for name in names])
    assert places == sorted(range(len(names)), reverse=is_reversed)
    assert ("newest first: " in note) == is_reversed


def test_commits_are_ordered_by_git_and_not_by_their_dates(tree: Tree) -> None:
    rows, note = sorted_rows(tree.results("last", "two", "one"), tree.repository)
    assert (rows, note) == ([2, 1, 0], "ordered by the commits in git")


def test_merged_commit_comes_between_the_first_parent_and_the_merge(tree: Tree) -> None:
    rows, _ = sorted_rows(tree.results("merge", "side", "two", "one"), tree.repository)
    assert rows == [3, 2, 1, 0]


def test_commits_that_a_rebase_removed_come_after_the_row_before_them(tree: Tree) -> None:
    rows, note = sorted_rows(tree.results("one", GONE, "two", "merge"), tree.repository)
    assert rows == [0, 1, 2, 3]
    assert note == ("ordered by the commits in git; 1 commit unknown to git, placed as listed")


def test_rows_decide_if_git_knows_fewer_than_half_of_the_commits(tree: Tree) -> None:
    names = ["last", "0" * 40, "e" * 40, GONE]
    rows, note = sorted_rows(tree.results(*names), tree.repository)
    assert rows == [0, 1, 2, 3]
    assert note.startswith("ordered as listed")


def test_dates_of_commits_complete_those_of_rows(tree: Tree) -> None:
    sent = [
        result(commit="x", time=(START + 105) * SECOND),
        result(commit="y", time=(START + 125) * SECOND),
        result(commit=tree.hashes["merge"]),
    ]
    assert sorted_rows(sent, tree.repository) == ([0, 2, 1], "ordered by time")


def test_results_of_one_commit_have_one_order(tree: Tree) -> None:
    sent = tree.results("one", "two", "one", "merge")
    for repository in (NOWHERE, tree.repository):
        orders = order_results(collected(sent), repository).orders.tolist()
        assert orders[0] == orders[2] < orders[1] < orders[3]


def test_abbreviated_and_full_hash_are_one_commit(tree: Tree) -> None:
    sent = tree.results("one", "two")
    short = result(5.0, commit=tree.hashes["one"][:8])
    orders = order_results(collected([*sent, short]), tree.repository).orders.tolist()
    assert orders[0] == orders[2] < orders[1]


def test_commit_measured_again_after_another_is_noted() -> None:
    sent = [result(commit=name, time=time) for name, time in (("a", 1), ("b", 2), ("a", 3))]
    rows, note = sorted_rows(sent)
    assert rows == [0, 2, 1]
    assert note == (
        "ordered by time; commits that were measured again later count as runs of the first time"
    )


def test_rows_of_a_wide_table_are_ordered_as_listed() -> None:
    rows, note = sorted_rows([result(1.0), result(2.0), result(3.0)])
    assert rows == [0, 1, 2]
    assert note.startswith("ordered as listed, the oldest first: rows are without order and time")


def test_rows_of_a_long_table_are_counted_in_each_series() -> None:
    sent = [result(test=name) for name in ("a", "a", "a", "b", "b")]
    assert order_results(collected(sent), NOWHERE).orders.tolist() == [0, 1, 2, 0, 1]


def test_results_of_one_run_without_a_commit_have_one_order() -> None:
    files = [[result(test="a"), result(test="b")], [result(test="a"), result(test="b")]]
    ordered = order_results(collected(*files, kinds=["run", "run"]), NOWHERE)
    assert ordered.orders.tolist() == [0, 0, 1, 1]

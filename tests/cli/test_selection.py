"""Which results of each series a job asks about."""

import numpy as np
import pytest

from barograph.cli.judging import Selection
from barograph.results.series import Series, SeriesId
from barograph.runtime.errors import DataError


def series(name: str, orders: list[int], *, named: bool = True, project: str = "p") -> Series:
    commits = [f"commit-{order}" if named else "" for order in orders]
    identity = SeriesId(project, "", "", name, "")
    return Series(identity, np.array(orders), np.ones(len(orders)), commits)


@pytest.mark.parametrize("named", [True, False])
def test_newest_commits_of_the_project_count_and_not_those_of_each_series(named: bool) -> None:
    every = [
        series("a", [1, 2, 3, 4], named=named),
        series("b", [1, 2, 4], named=named),
        series("retired", [1, 2], named=named),
        series("first", [4], named=named),
    ]
    selection = Selection.of(every)
    assert selection.counts == [1, 1, 0, 1]
    assert (selection.new, selection.missing) == (["p/first/-"], ["p/retired/-"])
    assert Selection.of(every, newest=2).counts == [2, 1, 0, 1]
    assert Selection.of(every, newest=3).counts == [3, 2, 1, 1]


def test_projects_have_newest_commits_of_their_own() -> None:
    every = [series("a", [1, 2, 3]), series("b", [7, 8], project="q")]
    assert Selection.of(every).counts == [1, 1]


def test_orders_that_no_other_series_has_are_those_of_single_results() -> None:
    every = [series(str(k), [1000 + k, 2000 + k, 3000 + k], named=False) for k in range(4)]
    selection = Selection.of(every, newest=2)
    assert (selection.counts, selection.missing) == ([2, 2, 2, 2], [])


@pytest.mark.parametrize("since", ["commit-2", "commit", "2"])
def test_since_asks_about_all_results_after_a_commit(since: str) -> None:
    every = [series("a", [1, 2, 3, 4]), series("b", [1, 3]), series("c", [1, 2])]
    if since == "commit-2":
        selection = Selection.of(every, since=since)
        assert (selection.counts, selection.missing) == ([2, 1, 0], ["p/c/-"])
    elif since == "commit":  # the start of a name: the newest of them
        assert Selection.of(every, since=since).counts == [0, 0, 0]
    else:
        with pytest.raises(DataError, match="--since 2: no result is of this commit; the newest"):
            Selection.of(every, since=since)


def test_since_takes_an_order_where_commits_have_no_name() -> None:
    assert Selection.of([series("a", [1, 2, 3], named=False)], since="1").counts == [2]

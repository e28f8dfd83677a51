"""Which results of each series a job asks about."""

import numpy as np
import pytest

from barograph.cli.answers import Judging
from barograph.cli.gate import answer_job
from barograph.cli.judged import JobRow, counts_of
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
    assert counts_of(every) == [1, 1, 0, 1]
    assert counts_of(every, newest=2) == [2, 1, 0, 1]
    assert counts_of(every, newest=3) == [3, 2, 1, 1]


def test_series_without_earlier_and_without_new_results_are_named() -> None:
    every = [
        series("a", [1, 2, 3, 4]),
        series("retired", [1, 2]),
        series("first", [4]),
    ]
    rows: list[JobRow] = [
        (entry, {}, count, 0) for entry, count in zip(every, counts_of(every), strict=True)
    ]
    job = answer_job(Judging(), [], [], rows)
    assert (job.new, job.missing) == (["p/first/-"], ["p/retired/-"])


def test_projects_have_newest_commits_of_their_own() -> None:
    every = [series("a", [1, 2, 3]), series("b", [7, 8], project="q")]
    assert counts_of(every) == [1, 1]


def test_orders_that_no_other_series_has_are_those_of_single_results() -> None:
    every = [series(str(k), [1000 + k, 2000 + k, 3000 + k], named=False) for k in range(4)]
    assert counts_of(every, newest=2) == [2, 2, 2, 2]


@pytest.mark.parametrize("since", ["commit-2", "commit", "2"])
def test_since_asks_about_all_results_after_a_commit(since: str) -> None:
    every = [series("a", [1, 2, 3, 4]), series("b", [1, 3]), series("c", [1, 2])]
    if since == "commit-2":
        assert counts_of(every, since=since) == [2, 1, 0]
    elif since == "commit":  # the start of a name: the newest of them
        assert counts_of(every, since=since) == [0, 0, 0]
    else:
        with pytest.raises(DataError, match="--since 2: no result is of this commit; the newest"):
            counts_of(every, since=since)


def test_since_takes_an_order_where_commits_have_no_name() -> None:
    assert counts_of([series("a", [1, 2, 3], named=False)], since="1") == [2]

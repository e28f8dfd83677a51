"""The base branch is the history; the branch that is judged comes after it and never enters it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import ReadOptions, Result
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.formats.runs import Branches, split_branches
from barograph.sources.git import Repository
from tests.sources.formats.collecting import Kind, collected, result

CI = RunContext(branch="faster", base_branch="develop")


def history(*branches: str) -> list[Result]:
    return [result(k, branch=branch) for k, branch in enumerate(branches)]


def split(
    *branches: str,
    context: RunContext | None = None,
    run: list[Result] | None = None,
    **stated: Any,
) -> Branches:
    """Split a history with these branches, and a single run if there is one."""
    files = [history(*branches), *([run] if run else [])]
    kinds: list[Kind] = ["history", "run"]
    results = collected(*files, kinds=kinds[: len(files)])
    return split_branches(results, ReadOptions(**stated), context or RunContext())


def parts(branches: Branches) -> tuple[list[int], list[int], str]:
    """Return the numbers of the results of the base branch and of the judged one, and its name."""
    return branches.base.nonzero()[0].tolist(), branches.judged.nonzero()[0].tolist(), branches.name


def test_results_without_branches_are_the_history() -> None:
    assert parts(split("", "")) == ([0, 1], [], "")


def test_single_branch_is_the_history_whatever_its_name() -> None:
    separated = split("topic", "topic")
    assert (parts(separated), separated.notes) == (([0, 1], [], ""), [])


@pytest.mark.parametrize("base", ["main", "master", "trunk"])
def test_usual_name_is_the_base_even_if_rare(base: str) -> None:
    assert parts(split("topic", "topic", base))[0] == [2]


def test_full_name_of_a_branch_is_the_branch() -> None:
    assert parts(split("topic", "topic", "refs/heads/main", "main"))[0] == [2, 3]


def test_main_is_preferred_to_master() -> None:
    assert parts(split("master", "master", "main"))[0] == [2]


def test_target_of_the_job_is_preferred_to_main() -> None:
    assert parts(split("main", "develop", "faster", context=CI)) == ([1], [2], "faster")


def test_option_is_preferred_to_the_target_of_the_job() -> None:
    separated = split("main", "develop", "faster", context=CI, base_branch="main")
    assert parts(separated) == ([0], [2], "faster")


def test_most_frequent_branch_is_the_base_where_nothing_names_it() -> None:
    assert parts(split("a", "b", "b"))[0] == [1, 2]


def test_branch_to_judge_is_not_the_base_even_if_frequent() -> None:
    assert parts(split("a", "b", "b", branch="b")) == ([0], [1, 2], "b")


def test_results_without_a_branch_are_of_the_base() -> None:
    assert parts(split("", "main", "faster", branch="faster")) == ([0, 1], [2], "faster")


def test_further_branches_are_left_out_and_named() -> None:
    separated = split("main", "faster", "other", "more", branch="faster")
    assert parts(separated) == ([0], [1], "faster")
    assert separated.notes == [
        "2 results of other branches left out (other, more); --branch NAME judges one"
    ]


def test_long_list_of_branches_is_cut() -> None:
    [note] = split("main", *"abcdef").notes
    assert "(a, b, c, d, ...)" in note


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("branch", "--branch gone: no result is of this branch; the files name a, main"),
        ("base_branch", "base-branch gone: no result is of this branch"),
    ],
)
def test_branch_that_no_result_is_of_is_refused(option: str, message: str) -> None:
    options: Any = {option: "gone"}
    with pytest.raises(DataError, match=message):
        split("main", "a", **options)


def test_branch_is_refused_where_no_result_names_one() -> None:
    with pytest.raises(DataError, match="the files name none"):
        split("", branch="faster")


def test_base_branch_may_name_results_without_a_branch() -> None:
    separated = split("", "", "faster", base_branch="main", branch="faster")
    assert parts(separated) == ([0, 1], [2], "faster")


def test_single_run_is_of_the_branch_of_the_job() -> None:
    assert parts(split("", "", context=CI, run=[result(9)])) == ([0, 1], [2], "faster")


def test_single_run_is_of_the_branch_of_the_option() -> None:
    separated = split("", context=CI, run=[result(9)], branch="mine")
    assert parts(separated) == ([0], [1], "mine")


def test_single_run_keeps_the_branch_that_it_names() -> None:
    separated = split("main", context=CI, run=[result(9, branch="named")])
    assert parts(separated) == ([0], [1], "named")


def test_single_run_on_the_base_branch_continues_the_history() -> None:
    context = RunContext(branch="main")
    assert parts(split("main", "main", context=context, run=[result(9)])) == ([0, 1, 2], [], "")


ROWS = "test,branch,order,commit,value\n"
BRANCHES = (
    ROWS + "a,main,1,m1,1\na,faster,2,f1,20\na,main,3,m2,2\nb,main,3,m2,5\na,faster,1,f0,10\n"
)


def read(path: Path, content: str, **options: Any) -> FilesRead:
    path.write_text(content, encoding="utf-8")
    return read_files([path], ReadOptions(**options), Repository("/"), RunContext())


def test_judged_results_come_after_those_of_the_base_whatever_their_orders(tmp_path: Path) -> None:
    loaded = read(tmp_path / "t.csv", BRANCHES, branch="faster")
    series = {row.id.test: row for row in loaded.history}
    assert series["a"].values.tolist() == [1, 2, 10, 20]
    assert series["a"].orders.tolist() == [1, 3, 4, 5]
    assert series["b"].values.tolist() == [5]
    assert (loaded.branch, loaded.of_branch.tolist()) == ("faster", [2, 0])
    assert loaded.notes[-1].endswith(
        "2 results of branch faster placed after those of the base branch"
    )


def test_results_of_a_branch_that_is_not_judged_never_enter_the_history(tmp_path: Path) -> None:
    loaded = read(tmp_path / "t.csv", BRANCHES)
    assert [row.values.tolist() for row in loaded.history] == [[1, 2], [5]]
    assert (loaded.branch, loaded.of_branch.tolist()) == ("", [0, 0])


def test_commit_that_both_branches_measured_stays_in_the_history(tmp_path: Path) -> None:
    rows = ROWS.replace("order,", "") + "a,main,m1,1\na,main,m2,2\na,faster,m2,4\na,faster,f1,10\n"
    loaded = read(tmp_path / "t.csv", rows, branch="faster")
    assert loaded.history[0].values.tolist() == [1, 2, 4, 10]
    assert loaded.of_branch.tolist() == [2]


@pytest.mark.parametrize(("branch", "base"), [("", [0, 1]), ("topic", [0, 1, 2])])
def test_named_branch_beside_unnamed_results_is_the_base_only_if_the_job_is_of_it(
    branch: str, base: list[int]
) -> None:
    separated = split("", "", "topic", context=RunContext(branch=branch))
    assert (parts(separated)[0], len(separated.notes)) == (base, 3 - len(base))

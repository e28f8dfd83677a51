"""A single run gets its commit and time from options, CI or git; a series has one unit."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import pytest

from barograph.results.repeats import Results
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.formats.base import ReadOptions, Result
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.runs import (
    CONVERTED,
    OTHER_UNIT,
    complete_runs,
    in_one_unit,
    of_runs,
)
from barograph.sources.git import Repository
from barograph.sources.report import LoadReport
from tests.repositories import START, Made, make_repository
from tests.sources.formats.collecting import Kind, collected, result

NOWHERE = Repository("/")
CI = RunContext(commit="c" * 40)
COMMITS = {"old": Made(time=10), "head": Made(("old",), 20)}


class Tree(NamedTuple):
    """A repository and the hashes of its commits."""

    repository: Repository
    hashes: dict[str, str]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("runs")
    hashes = make_repository(folder, COMMITS)
    return Tree(Repository(folder), hashes)


def complete(
    *files: list[Result],
    repository: Repository = NOWHERE,
    context: RunContext | None = None,
    history: bool = False,
    **stated: Any,
) -> Results:
    """Complete the results of files, of which the first may be a history."""
    kinds: list[Kind] = ["history" if history and not k else "run" for k in range(len(files))]
    options = ReadOptions(**stated)
    results = collected(*files, kinds=kinds)
    return complete_runs(results, options, context or RunContext(), repository)[0]


def test_commit_of_the_options_is_preferred_to_that_of_the_job(tree: Tree) -> None:
    completed = complete([result()], repository=tree.repository, context=CI, commit="mine")
    assert list(completed.commits) == ["mine"]


def test_commit_of_the_job_is_preferred_to_that_of_git(tree: Tree) -> None:
    completed = complete([result()], repository=tree.repository, context=CI)
    assert list(completed.commits) == ["c" * 40]


def test_commit_that_is_checked_out_is_the_last_resort(tree: Tree) -> None:
    completed = complete([result()], repository=tree.repository)
    assert list(completed.commits) == [tree.hashes["head"]]
    assert completed.times.tolist() == [1000 * (START + 20)]


def test_commit_that_the_file_names_stays(tree: Tree) -> None:
    sent = [result(commit="named"), result(test="b")]
    completed = complete(sent, repository=tree.repository, context=CI, commit="mine")
    assert list(completed.commits) == ["named", "mine"]


def test_history_is_not_completed() -> None:
    completed = complete([result()], [result()], history=True, commit="mine", time=5)
    assert (list(completed.commits), completed.times.tolist()) == (["", "mine"], [UNKNOWN_TIME, 5])


def test_runs_of_one_series_in_several_files_are_of_unknown_commits(tree: Tree) -> None:
    files = [[result(1)], [result(2)]]
    completed = complete(*files, repository=tree.repository, context=CI)
    assert (list(completed.commits), completed.times.tolist()) == (["", ""], [UNKNOWN_TIME] * 2)
    assert list(complete(*files, commit="mine").commits) == ["mine", "mine"]


def test_files_of_different_series_are_one_run() -> None:
    completed = complete([result(1)], [result(2, "b")], context=CI)
    assert list(completed.commits) == ["c" * 40] * 2


def test_time_of_the_options_is_preferred_to_that_of_the_commit(tree: Tree) -> None:
    sent = [result(commit=tree.hashes["old"])]
    assert complete(sent, repository=tree.repository, time=77).times.tolist() == [77]


def test_time_of_the_file_is_preferred_to_that_of_the_options() -> None:
    assert complete([result(time=3)], time=77).times.tolist() == [3]


def test_time_is_that_of_the_commit(tree: Tree) -> None:
    completed = complete([result(commit=tree.hashes["old"][:9])], repository=tree.repository)
    assert completed.times.tolist() == [1000 * (START + 10)]


def test_time_of_an_unknown_commit_is_the_present() -> None:
    before = int(time.time() * 1000)
    [moment] = complete([result(commit="v1")]).times.tolist()
    assert before <= moment <= int(time.time() * 1000)


def in_unit(*units: str) -> tuple[Results, LoadReport]:
    """Return the values 1, 2, 3 ... of one series with these units, in one unit."""
    report = LoadReport("all")
    results = collected([result(k, unit=unit) for k, unit in enumerate(units, 1)])
    return in_one_unit(results, report), report


def test_values_are_converted_to_the_first_unit() -> None:
    converted, report = in_unit("ms", "us", "s")
    assert converted.values.tolist() == [1, 0.002, 3000]
    assert report.corrected == {CONVERTED: 2}


def test_converted_results_have_the_unit_of_their_values() -> None:
    converted, _ = in_unit("ms", "us", "", "MB")
    assert list(converted.units) == ["ms"] * 3


def test_value_without_a_unit_has_that_of_the_others() -> None:
    converted, report = in_unit("", "ms", "us")
    assert converted.values.tolist() == [1, 2, 0.003]
    assert report.corrected == {CONVERTED: 1}


def test_two_names_of_one_unit_convert_nothing() -> None:
    converted, report = in_unit("ms", "milliseconds", "msec")
    assert (converted.values.tolist(), +report.corrected) == ([1, 2, 3], {})


def test_value_of_another_dimension_is_left_out_and_named() -> None:
    converted, report = in_unit("ms", "MB", "ms")
    assert converted.values.tolist() == [1, 3]
    [skip] = report.examples["points", OTHER_UNIT]
    assert (skip.place.unit, skip.place.document, skip.value) == ("row", 2, "MB")


def test_each_series_has_its_own_unit() -> None:
    sent = [result(1, "a", unit="ms"), result(2, "b", unit="s"), result(3, "b", unit="ms")]
    converted = in_one_unit(collected(sent), LoadReport("all"))
    assert converted.values.tolist() == [1, 2, 0.003]


@pytest.mark.parametrize(("unit", "expected"), [("ms", -1), ("ops/s", 1), ("", 0), ("x", 0)])
def test_direction_is_that_of_the_unit(unit: str, expected: int) -> None:
    assert in_unit(unit)[0].directions.tolist() == [expected]


def test_direction_of_the_file_is_preferred_to_that_of_the_unit() -> None:
    sent = [result(unit="ms", direction=Direction.HIGHER_IS_BETTER)]
    assert in_one_unit(collected(sent), LoadReport("all")).directions.tolist() == [1]


def test_direction_of_a_measurement_that_is_not_read_does_not_matter() -> None:
    of_other = result()._replace(
        series=SeriesId("", "", "", "a", "p50"), direction=Direction.HIGHER_IS_BETTER
    )
    options = ReadOptions(metrics=("p99",))
    assert collected([of_other, of_other], options=options).values.size == 0


@pytest.mark.parametrize(
    ("rows", "stated", "expected"),
    [
        ([result(test="a"), result(test="b")], "", "c" * 40),
        ([result(test="a"), result(test="a")], "", ""),  # a history, ordered as listed
        ([result(test="a"), result(test="a")], "a1", "a1"),
        ([result(test="a", time=7)], "", ""),
        ([result(test="a", time=7)], "a1", "a1"),
        ([result(test="a", order=7)], "", ""),
        ([result(test="a", order=7)], "a1", "a1"),
        ([result(test="a", order=7), result(test="a", order=8)], "a1", ""),
        ([result(test="a"), result(test="b", commit="d4")], "a1", ""),
    ],
)
def test_table_without_a_place_in_history_is_a_single_run(
    rows: list[Result], stated: str, expected: str
) -> None:
    options, table = ReadOptions(commit=stated), collected(rows, kinds=["table"])
    completed, _ = complete_runs(table, options, CI, NOWHERE)
    assert completed.commits[0] == expected
    assert of_runs(completed)[0] == bool(expected)


def test_branch_that_is_checked_out_comes_with_its_commit(tree: Tree) -> None:
    context = (ReadOptions(), RunContext(), tree.repository)
    completed, [note] = complete_runs(collected([result()], kinds=["run"]), *context)
    assert list(completed.branches) == ["main"]
    assert note == f"of commit {tree.hashes['head'][:7]} of branch main, as checked out"


@pytest.mark.parametrize("commit", ["", "8674f78"])
def test_branch_that_is_checked_out_is_not_that_of_another_commit(tree: Tree, commit: str) -> None:
    assert list(complete([result(commit="a1")], repository=tree.repository).branches) == [""]
    context = RunContext(commit=commit, branch="" if commit else "topic")
    completed = complete([result()], repository=tree.repository, context=context)
    assert list(completed.branches) == [""]

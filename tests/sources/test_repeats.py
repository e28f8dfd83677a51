"""Several results of one commit become one point; nothing is left out without a count."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.results.history import History
from barograph.results.repeats import PointRuns, Results
from barograph.results.series import SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import ConfigError
from barograph.sources import LoadReport, open_source
from tests.same import assert_same
from tests.sources.documents import load

HEAD = "test,order,commit,run,value\n"


def loaded(folder: Path, text: str, **options: object) -> tuple[History, LoadReport]:
    """Load one flat file."""
    path = folder / "points.csv"
    path.write_text(text)
    report = load(open_source("files", str(path), **options), folder / "out")
    return History.read(folder / "out"), report


def results(rows: Sequence[tuple[int, int, float, str | None]]) -> Results:
    """Return results with an owner, an order, a value and a run each."""
    owners, orders, values, runs = zip(*rows, strict=True)
    ids = [SeriesId("", "", "", str(owner), "") for owner in range(max(owners) + 1)]
    names = Texts.from_strings(runs)
    return Results.of(ids, [0] * len(ids), owners, values, orders=orders, runs=names)


def test_runs_of_one_commit_are_one_point_of_their_median(tmp_path: Path) -> None:
    rows = "a,1,x,1,10\na,1,x,2,14\na,2,y,1,20\na,1,x,3,11\n"
    history, report = loaded(tmp_path, HEAD + rows)
    assert history.orders.tolist() == [1, 2]
    assert history.values.tolist() == [11.0, 20.0]
    assert history.run_counts(0).tolist() == [3, 1]
    assert history.runs_of(0) == {0: {"1": 10.0, "2": 14.0, "3": 11.0}, 1: {"1": 20.0}}
    assert report.corrected["results of commits with several runs, replaced by their median"] == 3
    assert (report.read["points"], report.kept["points"]) == (4, 2)


def test_mean_instead_of_the_median_by_option(tmp_path: Path) -> None:
    rows = "a,1,x,1,10\na,1,x,2,14\na,1,x,3,12.5\na,2,x,1,3.25\n"
    history, _ = loaded(tmp_path, HEAD + rows, aggregate="mean")
    assert history.values.tolist() == [pytest.approx(36.5 / 3), 3.25]
    with pytest.raises(ConfigError, match="'best'; allowed: median, mean"):
        open_source("files", "x.csv", aggregate="best")


def test_rows_without_a_run_are_runs_unless_time_and_value_are_equal(tmp_path: Path) -> None:
    text = "order,time,value\n1,2020-01-01,5\n1,2020-01-01,5\n1,2020-01-02,5\n1,2020-01-01,8\n"
    history, report = loaded(tmp_path, text)
    assert history.runs_of(0) == {0: {"": 5.0, "#2": 5.0, "#3": 8.0}}
    assert history.values.tolist() == [5.0]
    assert report.corrected["results given twice, counted once"] == 1
    assert report.read["points"] == 4


def test_last_result_of_a_run_counts_and_the_others_are_counted(tmp_path: Path) -> None:
    rows = "a,1,x,1,10\na,1,x,2,14\na,1,x,1,11\na,1,x,2,14\n"
    history, report = loaded(tmp_path, HEAD + rows)
    assert history.runs_of(0) == {0: {"1": 11.0, "2": 14.0}}
    assert report.corrected["results with a later value for the same run, replaced"] == 1
    assert report.corrected["results given twice, counted once"] == 1


def test_runs_of_a_commit_are_one_point_though_each_has_an_order(tmp_path: Path) -> None:
    rows = "a,1,x,r1,10\na,2,y,r1,20\na,3,y,r2,22\na,4,z,r1,30\na,5,y,r3,21\nb,3,y,r2,5\n"
    history, report = loaded(tmp_path, HEAD + rows)
    assert history.orders.tolist() == [1, 2, 4, 3]
    assert history.values.tolist() == [10.0, 21.0, 30.0, 5.0]
    assert report.corrected["runs of one commit with another order, placed at its first"] == 2
    history, _ = loaded(tmp_path, HEAD + "a,1,x,r1,10\na,1,x,r2,11\na,2,x,r1,20\na,3,y,r1,5\n")
    assert history.values.tolist() == [10.5, 20.0, 5.0]  # measured again
    history, report = loaded(tmp_path, "order,commit,value\n1,x,10\n2,x,11\n")
    assert history.orders.tolist() == [1, 2]  # no run is named: two points
    assert report.corrected == {}


def test_result_of_another_commit_with_the_same_order_is_skipped(tmp_path: Path) -> None:
    rows = "".join(f"a,{k},c{k},1,{k}\n" for k in range(40)) + "a,3,z,2,99\na,4,,2,4.5\n"
    history, report = loaded(tmp_path, HEAD + rows)
    assert history.runs_of(0)[3] == {"1": 3.0}
    assert history.runs_of(0)[4] == {"1": 4.0, "2": 4.5}
    assert report.skipped["points"] == {"another commit has this order": 1}
    assert report.examples["points", "another commit has this order"][0].place[1:] == (41, "row")
    assert report.read["points"] == 42


def test_commit_that_only_a_later_run_names_is_kept(tmp_path: Path) -> None:
    history, _ = loaded(tmp_path, HEAD + "a,1,,1,10\na,1,x,2,12\n")
    assert list(history.commits) == ["x"]


def test_tables_with_runs_come_back_as_they_were(tmp_path: Path) -> None:
    rows = "a,1,x,1,10\na,1,x,2,14\na,1,x,10,11.5\na,2,y,,20\nb,1,x,,1\nb,1,x,,2\nb,1,x,,3.5\n"
    first, _ = loaded(tmp_path, HEAD + rows)
    load(open_source("files", str(tmp_path / "out")), tmp_path / "again")
    second = History.read(tmp_path / "again")
    assert second.runs is not None
    assert_same(second, first)


@pytest.mark.parametrize("cell", ["[1]", "{}", '{"1": "x"}', "{", '{"1": true}', '{"1": 1e999}'])
def test_invalid_column_of_results_is_reported(tmp_path: Path, cell: str) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "series.csv").write_text("project,variant,task,test,measurement\np,v,t,x,m\n")
    quoted = cell.replace('"', '""')
    lines = "".join(f"0,{k},{k},\n" for k in range(30)) + f'0,30,5,"{quoted}"\n'
    (tmp_path / "t" / "points.csv").write_text("series,order,value,results\n" + lines)
    report = load(open_source("files", str(tmp_path / "t")), tmp_path / "out")
    assert report.kept["points"] == 30
    assert list(report.skipped["points"]) == ["not a JSON object of the value of each run"]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(0, 3),
            st.floats(-1e6, 1e6),
            st.sampled_from([None, "1", "2", "b"]),
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(["median", "mean"]),
)
def test_combining_is_numpys_aggregate_of_every_points_runs(
    rows: list[tuple[int, int, float, str | None]], aggregate: str
) -> None:
    points, _, _ = History.from_results(results(rows), aggregate)
    counts = np.concatenate([points.run_counts(number) for number in range(len(points))])
    expected: dict[tuple[int, int], dict[object, float]] = {}
    for owner, order, value, run in rows:
        key = run if run is not None else ("", value)  # without a run, equal values are one
        expected.setdefault((owner, order), {})[key] = value
    owners = np.repeat(np.arange(len(points)), np.diff(points.offsets))
    places = list(zip(owners.tolist(), points.orders.tolist(), strict=True))
    assert places == sorted(expected)
    for k, place in enumerate(places):
        values = [*expected[place].values()]
        assert counts[k] == len(values)
        target = np.median(values) if aggregate == "median" else np.mean(values)
        assert points.values[k] == pytest.approx(target)
        if len(values) == 1:
            assert points.values[k] == values[0]


@pytest.mark.parametrize("count", [2, 3, 5, 9, 40])
def test_spread_estimates_the_standard_deviation_of_a_run(count: int) -> None:
    draws = np.random.default_rng(1).normal(0.0, 3.0, (4000, count))
    rows = [
        (k, 0, value, str(run))
        for k, row in enumerate(draws.tolist())
        for run, value in enumerate(row)
    ]
    runs = History.from_results(results(rows))[0].runs
    assert isinstance(runs, PointRuns)
    points, counts, spreads = runs.spreads()
    assert (points.size, set(counts.tolist())) == (4000, {count})
    assert spreads.mean() == pytest.approx(3.0, rel=0.03)

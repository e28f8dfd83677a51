"""Histories in memory and on disk: the same points, runs, commits and candidates."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from barograph.results.candidates import Candidates
from barograph.results.history import History
from barograph.results.repeats import Results
from barograph.results.series import UNKNOWN_TIME, SeriesId
from barograph.results.texts import Texts
from tests.same import assert_same

NAMES = [SeriesId("db", "", "", test, "") for test in ("insert", "find")]
Row = tuple[int, int, int, float, str | None, str | None]
# Series, order, time, value, commit, run.
ROWS: list[Row] = [
    (1, 3, 30, 7.0, "c3", None),
    (0, 2, 20, 5.0, "c2", "a"),
    (0, 1, 10, 4.0, None, None),
    (0, 2, 25, 6.0, "c2", "b"),
    (1, 2, UNKNOWN_TIME, 6.5, "c2", None),
]


def results(rows: list[Row], *directions: int) -> Results:
    """Return the rows as columns."""
    owners, orders, times, values, commits, runs = zip(*rows, strict=True)
    return Results.of(
        NAMES,
        directions,
        owners,
        values,
        orders=orders,
        times=times,
        commits=Texts.from_strings(commits),
        runs=Texts.from_strings(runs),
    )


def test_results_in_any_order_become_points() -> None:
    history, _, _ = History.from_results(results(ROWS, 1, 0))
    assert repr(history) == "History(2 series, 4 points, 0 candidates)"
    first, second = history
    assert (first.orders.tolist(), first.values.tolist()) == ([1, 2], [4.0, 5.5])
    assert list(first.commits) == ["", "c2"]
    assert (second.orders.tolist(), list(second.commits)) == ([2, 3], ["c2", "c3"])
    assert history.times.tolist() == [10, 25, UNKNOWN_TIME, 30]
    assert history.runs_of(0) == {1: {"a": 5.0, "b": 6.0}}
    assert history.run_counts(0).tolist() == [1, 2]
    assert (history.directions.tolist(), history.runs_of(1)) == ([1, 0], {})


def test_history_without_repeats_keeps_no_runs() -> None:
    plain = [row for row in ROWS if row[-1] is None]
    history, _, _ = History.from_results(results(plain, 0, 0))
    assert history.runs is None
    assert history.run_counts(1).tolist() == [1, 1]


@pytest.mark.parametrize("rows", [ROWS, [row for row in ROWS if row[-1] is None]])
def test_written_history_is_read_back(tmp_path: Path, rows: list[Row]) -> None:
    made, _, _ = History.from_results(results(rows, -1, 0))
    bundles = Candidates(
        series=np.array([0, 1]),
        index=np.array([1, 1]),
        verdict=np.array(["true_positive", "not_triaged"]),
        calculated_on=np.array([50, UNKNOWN_TIME]),
        triaged_on=np.array([60, UNKNOWN_TIME]),
        orders=np.array([2, 3]),
        commits=Texts.from_strings(["c2", None]),
        algorithms=Texts.from_strings(["hunter", None]),
        present=np.ones(2, dtype=np.bool_),
        discovery=np.full(2, -1),
        q=np.full(2, np.nan),
    )
    history = History(**{**vars(made), "candidates": bundles})
    history.write(tmp_path)
    back = History.read(tmp_path)
    if history.runs is not None:  # the tables have no times of single runs
        assert back.runs is not None
        assert back.runs.times.tolist() == [25, 25]
        back.runs.times[:] = history.runs.times
    assert_same(back, history)


def test_texts_are_views_with_one_name_for_each_text() -> None:
    texts = Texts.from_strings(["b", "", "a", "b", None])
    part = texts[2:]
    assert np.shares_memory(part.codes, texts.codes)
    assert (list(part), part[-2], len(texts.names)) == (["a", "b", ""], "b", 3)
    assert list(texts[np.array([2, 0])]) == ["a", "b"]
    assert list(texts[texts.known()]) == ["b", "a", "b"]
    ranks, names = texts.ranks()
    assert (ranks.tolist(), names) == ([1, -1, 0, 1, -1], ["a", "b"])
    both = Texts.concatenate([part, Texts.unknown(1), texts[:1]])
    assert (list(both), len(both.names)) == (["a", "b", "", "", "b"], 3)


def test_units_are_empty_unless_known_and_kept_by_tables(tmp_path: Path) -> None:
    history, _, _ = History.from_results(results(ROWS, 0, 0))
    assert [series.unit for series in history] == ["", ""]
    measured = replace(history, units=["ops/s", ""])
    assert [series.unit for series in measured] == ["ops/s", ""]
    measured.write(tmp_path)
    assert History.read(tmp_path).units == ["ops/s", ""]
    history.write(tmp_path)
    assert History.read(tmp_path).units == ()
    former = pq.read_table(tmp_path / "series.parquet").drop_columns(["unit"])
    pq.write_table(former, tmp_path / "series.parquet")
    assert History.read(tmp_path).units == ()

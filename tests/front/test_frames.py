"""`History.from_frame` reads data frames like results files, and refuses what it cannot use."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import barograph as bg
from barograph.results.series import UNKNOWN_TIME, Direction
from barograph.runtime.errors import ConfigError, DataError
from tests.same import assert_same

ROOT = Path(__file__).resolve().parent.parent.parent
FRAME = pd.DataFrame({"order": [1, 2, 3], "value": [4.0, 5.0, 6.0]})


def changed(**columns: Any) -> pd.DataFrame:
    return FRAME.assign(**columns)


FULL = pd.DataFrame(
    {
        "project": "db",
        "test": ["insert", "find", "insert", "insert", "find", "find"],
        "args": ['{"b": 2}', None, '{"b": 2}', '{"b": 2}', None, None],
        "args.threads": [8, 1, 8, 8, 1, 1],
        "direction": ["higher_is_better", None, "higher_is_better", 1, None, None],
        "order": [3, 1, 2, 2, 2, 1],
        "run": ["a", "a", "a", "b", "a", "b"],
        "commit": ["c3", "c1", "c2", None, "c2", "c1"],
        "time": pd.to_datetime(["2026-01-03", "2026-01-01", "", "", "2026-01-02", ""]),
        "value": [9.0, 1.5, 7.0, 8.0, 2.0, 2.5],
    }
)


def test_a_frame_is_read_like_a_file(tmp_path: Path) -> None:
    for frame in (pd.read_csv(ROOT / "docs/results.csv"), FULL):
        path = tmp_path / "results.csv"
        frame.to_csv(path, index=False)
        expected, actual = bg.read(path), bg.History.from_frame(frame)
        for number in range(len(actual)):
            assert actual.runs_of(number) == expected.runs_of(number)
            assert actual.run_counts(number).tolist() == expected.run_counts(number).tolist()
        assert_same(replace(actual, runs=None), replace(expected, runs=None))


def test_rows_are_sorted_and_runs_combined() -> None:
    history = bg.History.from_frame(FULL)
    insert = history[0]
    assert str(insert.id) == "db/insert/- b=2 threads=8"
    assert insert.direction is Direction.HIGHER_IS_BETTER
    assert (insert.orders.tolist(), np.asarray(insert).tolist()) == ([2, 3], [7.5, 9.0])
    assert list(insert.commits) == ["c2", "c3"]
    assert insert.times is not None
    assert insert.times.tolist() == [UNKNOWN_TIME, 1767398400000]
    assert history.runs_of(0) == {0: {"a": 7.0, "b": 8.0}, 1: {"a": 9.0}}
    assert history.values_of(1).tolist() == [2.0, 2.0]


def test_without_labels_a_frame_is_one_series() -> None:
    history = bg.History.from_frame(FRAME, name="latency")
    assert repr(history) == "History(1 series, 3 points, 0 candidates)"
    assert str(history[0].id) == "latency"
    assert bg.detect(history[0]) == []


@pytest.mark.parametrize(
    "times",
    [
        ["2026-01-01", "2026-01-01T12:00:00+02:00", None],
        [1767225600000, 1767261600000, None],
        pd.Series(["2026-01-01", "2026-01-01 10:00", None], dtype="datetime64[s]"),
        pd.Series([date(2026, 1, 1), pd.Timestamp(1767261600000, unit="ms"), None], dtype=object),
    ],
)
def test_times_are_texts_milliseconds_or_datetimes(times: Any) -> None:
    history = bg.History.from_frame(changed(time=times))
    assert history.times.tolist() == [1767225600000, 1767261600000, UNKNOWN_TIME]


@pytest.mark.parametrize("orders", [[1.0, 2.0, 3.0], pd.array([1, 2, 3], dtype="Int64")])
def test_orders_are_whole_numbers_of_any_type(orders: Any) -> None:
    assert bg.History.from_frame(changed(order=orders)).orders.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME[["order"]], r"misses the columns \['value'\]; has \['order'\]"),
        (changed(Commit="x"), r"unknown columns \['Commit'\]; known are \['order', 'value'"),
        (FRAME[:0], "has no rows"),
        (changed(order=[1, 2.5, 3]), r"frame\['order'\]\[1\] is 2.5: order is not a whole"),
        (changed(order=[1, None, 3]), r"frame\['order'\]\[1\] is nan: order is missing"),
        (changed(order=["1", "2", "3"]), r"frame\['order'\]\[0\] is '1': order is not a whole"),
        (changed(value=[1, np.nan, 3]), r"frame\['value'\]\[1\] is nan: value is not finite"),
        (changed(value=[1, None, "x"]), r"frame\['value'\]\[1\] is None: value is missing"),
        (changed(value=[1, "x", 3]), r"frame\['value'\]\[1\] is 'x': value is not a number"),
        (
            changed(time=["2026-01-01", "now", None]),
            r"frame\['time'\]\[1\] is 'now': not a date",
        ),
        (changed(direction=[1, 1, -1]), r"frame\['direction'\]\[2\] is -1: earlier rows"),
        (changed(unit=["ms", "ms", "s"]), r"frame\['unit'\]\[2\] is 's': earlier rows of"),
        (changed(branch=["main", "x", "x"]), r"holds 'main' and 'x'; pass the rows of one branch"),
        (changed(direction="left"), r"\[0\] is 'left': direction is not -1, 0, 1, lower_is_"),
        (changed(test=["a", None, "a"]), r"row 1 of the frame names no series"),
        (changed(test="a", args="[1]"), r"frame\['args'\]\[0\] is '\[1\]': args is not a"),
        (changed(test="a", args="{"), r"frame\['args'\]\[0\] is '{': args is not a JSON object"),
        (changed(test=[["a"]] * 3), r"frame\['test'\]\[0\] is \['a'\]: not a text"),
        (changed(order=1, commit=["a", "b", "a"]), r"frame\['commit'\]\[1\] is 'b'; another"),
        (changed(order=[1, 2**60, 3]), r"\['order'\]\[1\] is 1152921504606846976: order is too"),
        (
            changed(order=[1, 2.0**60, 3]),
            r"\['order'\]\[1\] is 1.152\d+e\+18: order is too large; orders are at most",
        ),
        (
            changed(order=[1, 1e300, 3]),
            r"frame\['order'\]\[1\] is 1e\+300: order is too large; orders",
        ),
        (
            changed(time=10**18),
            r"\['time'\]\[0\] is 1000000000000000000: not a date, or a number of mill",
        ),
    ],
)
def test_wrong_frames_are_refused_by_column_and_row(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        bg.History.from_frame(frame)


@pytest.mark.parametrize(("unit", "direction"), [("ms", -1), ("ops/s", 1), ("apples", 0)])
def test_unit_is_kept_and_gives_the_direction(unit: str, direction: int) -> None:
    [series] = bg.History.from_frame(changed(test="a", unit=unit, branch="main"))
    assert (series.unit, int(series.direction)) == (unit, direction)
    [stated] = bg.History.from_frame(changed(test="a", unit=unit, direction=-1))
    assert (stated.unit, int(stated.direction)) == (unit, -1)


def test_a_missing_unit_or_direction_contradicts_no_other_row() -> None:
    for unit, way in ((["ms", None, "ms"], [1, None, 1]), ([None, "ms", None], [None, 1, None])):
        [series] = bg.History.from_frame(changed(unit=unit, direction=way))
        assert (series.unit, int(series.direction)) == ("ms", 1)


@pytest.mark.parametrize("parameter", [{"aggregate": "max"}, {"name": 3}])
def test_wrong_parameters_are_refused(parameter: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"name is 3: it must|aggregate is 'max': allowed are m"):
        bg.History.from_frame(FRAME, **parameter)


def test_other_objects_are_refused() -> None:
    with pytest.raises(DataError, match="frame is dict; it must be a data frame"):
        bg.History.from_frame({"order": [1]})


def test_replaced_results_are_counted_in_a_warning() -> None:
    frame = changed(order=[1, 1, 2], run="a")
    with pytest.warns(
        UserWarning, match="frame: results with a later value for the same run, replaced: 1"
    ):
        history = bg.History.from_frame(frame)
    assert history.values_of(0).tolist() == [5.0, 6.0]

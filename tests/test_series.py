"""Series, their identities, and the check of arrays."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import Hunter
from barograph.results.history import History
from barograph.results.parquet import SCHEMAS
from barograph.results.series import (
    UNKNOWN_TIME,
    Direction,
    Series,
    SeriesId,
    as_floats,
    normalize_args,
    require_finite,
)
from barograph.runtime.errors import DataError

NAME = SeriesId("db", "linux", "insert", "load", "ops", (("threads", "8"), ("size", "1")))


def test_series_id_sorts_its_arguments() -> None:
    assert NAME.args == (("size", "1"), ("threads", "8"))
    assert str(NAME) == "db/linux/insert/load/ops size=1 threads=8"


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (("", "", "", "insert", ""), "insert"),
        (("", "", "", "core::sort", "p99"), "core::sort/p99"),
        (("db", "", "", "insert", "ops"), "db/insert/ops"),
        (("db", "", "", "insert", ""), "db/insert/-"),
        (("", "arm", "", "insert", ""), "-/arm/-/insert/-"),
        (("", "", "test_io.py", "test_read", "median"), "test_io.py: test_read/median"),
        (("", "", "", "tests/test_io.py", ""), '"tests/test_io.py"'),
    ],
)
def test_series_id_prints_as_people_name_it(
    labels: tuple[str, str, str, str, str], name: str
) -> None:
    assert str(SeriesId(*labels)) == name


PART = st.text(alphabet='ab/ -"=:\\', max_size=3)
ARGS = st.dictionaries(PART, PART, max_size=2).map(lambda found: tuple(found.items()))
IDS = st.builds(SeriesId, PART, PART, PART, PART, PART, ARGS)


@settings(deadline=None, max_examples=150)
@given(st.lists(IDS, min_size=2, max_size=40))
def test_no_two_series_ids_print_equally(ids: list[SeriesId]) -> None:
    assert len(set(map(str, ids))) == len(set(ids))


def test_series_id_survives_a_table_row() -> None:
    row = {**NAME.labels, "args": NAME.args_json, "direction": 1}
    assert json.loads(NAME.args_json) == {"size": "1", "threads": "8"}
    assert SeriesId.from_row(row) == NAME
    assert SeriesId.from_row({**row, "args": "{}"}).args == ()


def test_series_is_read_only_and_leaves_its_arrays_writable() -> None:
    values = np.arange(3.0)
    series = Series(NAME, np.arange(3), values)
    assert not series.values.flags.writeable
    assert values.flags.writeable
    assert len(series) == 3
    assert series.index_of(2) == 2
    with pytest.raises(DataError, match=r"must be equally long, not \[3, 2\]"):
        Series(NAME, np.arange(3), np.arange(2.0))
    with pytest.raises(DataError, match=r"must be equally long, not \[3, 3, 1\]"):
        Series(NAME, np.arange(3), values, ["a"])


def test_detectors_accept_a_series() -> None:
    values = np.repeat([1.0, 9.0], 30) + np.tile([0.0, 0.1], 30)
    series = Series(NAME, np.arange(60), values)
    assert Hunter().detect(series) == Hunter().detect(values) != []


def test_history_gives_series(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "series": [
            {"test": name, "args": "{}", "direction": way} for name, way in (("a", 1), ("b", 0))
        ],
        "points": [
            {"series": 0, "order": 1, "commit": "x", "time": 5, "value": 1.5},
            {"series": 1, "order": 1, "commit": None, "time": None, "value": 2.5},
        ],
        "candidates": [],
    }
    for name, schema in SCHEMAS.items():
        pq.write_table(pa.Table.from_pylist(rows[name], schema), tmp_path / f"{name}.parquet")
    history = History.read(tmp_path)
    first, second = history
    assert (first.id.test, first.direction) == ("a", Direction.HIGHER_IS_BETTER)
    assert (first.commits[0], list(second.commits), list(first.commits[:1])) == ("x", [""], ["x"])
    assert first.times is not None
    assert second.times is not None
    assert (first.times.tolist(), second.times.tolist()) == ([5], [UNKNOWN_TIME])
    assert np.shares_memory(first.values, history.values)
    assert history[-1].id == second.id
    for outside in (2, -3):
        with pytest.raises(IndexError, match=f"no series {outside}; there are 2"):
            history[outside]
    with pytest.raises(TypeError, match="'slice' object cannot be interpreted as an integer"):
        history[:1]  # type: ignore[index]
    assert history == history
    assert (history == History.read(tmp_path), len({history})) == (False, 1)


def test_as_floats_copies_read_only_arrays_and_no_others() -> None:
    values = np.arange(6.0)
    assert as_floats(values) is values
    values.flags.writeable = False
    result = as_floats(values[::2])
    assert result.flags.c_contiguous
    assert result.flags.writeable
    assert result.tolist() == [0.0, 2.0, 4.0]


def test_as_floats_refuses_what_is_not_a_number() -> None:
    with pytest.raises(DataError, match=r"x\[1\] is 'two'; it must be a number"):
        as_floats(np.array([1.0, "two"], dtype=object), "x")
    with pytest.raises(DataError, match="it must be a number"):
        as_floats(np.array(["2020-01-01"], dtype="datetime64[ns]"))
    with pytest.raises(DataError, match=r"values\[0\] is an integer too large for a float"):
        as_floats([10**400])


def test_require_finite_names_the_place() -> None:
    require_finite(np.array([[1.0]]))
    with pytest.raises(DataError, match=r"values\[1\] is nan; every value must be finite"):
        require_finite(np.array([1.0, np.nan]))
    with pytest.raises(DataError, match=r"matrix\[0, mean\] is inf"):
        require_finite(np.array([[1.0, np.inf]]), "matrix", ["sd", "mean"])


@pytest.mark.parametrize("value", [8, 8.0, "8"])
def test_normalize_args_treats_equal_numbers_as_equal(value: object) -> None:
    assert normalize_args({"threads": value, "a": True}) == (("a", "true"), ("threads", "8"))


def test_normalize_args_ignores_the_order_of_names() -> None:
    assert normalize_args({"b": {"y": 1, "x": 2}, "a": 0.5}) == (
        ("a", "0.5"),
        ("b", '{"x": 2, "y": 1}'),
    )
    assert normalize_args(None) == normalize_args({}) == ()


def test_normalize_args_refuses_invalid_text_and_deep_nesting() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(DataError, match="nested too deeply"):
        normalize_args({"a": nested})
    with pytest.raises(DataError, match="not valid text"):
        normalize_args({"a": "\ud800"})

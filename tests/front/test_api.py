"""`detect` takes a series in any form, `read` takes every source; errors say what and where."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import barograph as bg
from barograph.api import as_values
from barograph.results.series import SeriesId
from barograph.runtime.errors import ConfigError, DataError

ROOT = Path(__file__).resolve().parent.parent.parent
VALUES = [10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20
FRAME = pd.DataFrame({"commit": [f"c{k}" for k in range(120)], "value": VALUES})


@pytest.mark.parametrize(
    "values",
    [
        VALUES,
        tuple(VALUES),
        np.array(VALUES, dtype=np.float32),
        pd.Series(VALUES, index=range(500, 620)),
        pd.Series(VALUES, dtype="Float64"),
        FRAME,
        FRAME.assign(order=range(0, 240, 2), test="insert"),
        bg.Series(SeriesId("p", "v", "t", "x", "m"), np.arange(120), np.array(VALUES)),
    ],
    ids=["list", "tuple", "array", "pandas", "nullable", "frame", "ordered", "series"],
)
def test_detect_takes_a_series_in_any_form(values: object) -> None:
    [point] = bg.detect(values)
    assert point.index == 60
    assert point.probability is not None
    assert point.probability > 0.9
    assert point.before.mean == pytest.approx(10.0, abs=1e-6)
    assert point.after.mean == pytest.approx(12.0, abs=1e-6)


def test_detect_is_the_default_detector() -> None:
    values = np.random.default_rng(1).normal(100, 2, 200) + np.repeat([0, 8, 3, 20], 50)
    assert bg.detect(values) == bg.Triaged().detect(values)


def test_detect_finds_nothing_in_a_short_series() -> None:
    assert bg.detect([5.0]) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "values is empty; there must be at least one value"),
        (FRAME[:0], r"values\['value'\] is empty"),
        ([1.0, 2.0, float("nan")], r"values\[2\] is nan; every value must be finite"),
        (np.ma.masked_equal([1.0, 9.0, 2.0], 9.0), r"values\[1\] is nan"),
        ([1.0, None, 2.0], r"values\[1\] is nan; every value must be finite"),
        ([1.0, pd.NA, 2.0], r"values\[1\] is nan"),
        ([1.0, 10**400], r"values\[1\] is an integer too large for a float"),
        (np.arange(3).astype("timedelta64[ns]"), r"values\[0\] is np.timedelta64\(0,'ns'\); it m"),
        (["1", "2"], r"values\[0\] is '1'; it must be a number"),
        ([1.0, 2j], r"must be a number"),
        ([[1.0, 2.0]], r"values must be one-dimensional, but has the shape \(1, 2\)"),
        (7.0, "values is 7.0; it must be a list or an array of numbers"),
        (FRAME[["value"]].to_numpy(), r"but has the shape \(120, 1\)"),
        (FRAME[["commit"]], r"values has no column 'value'; its columns are \['commit'\]"),
        (FRAME.assign(value="x"), r"values\['value'\]\[0\] is 'x'"),
        (FRAME.assign(test=["a", "b"] * 60), r"several series, by the columns \['test'\]"),
        (FRAME.assign(order=range(120, 0, -1)), r"is 119 after 120 at row 1; sort the rows"),
        (FRAME.assign(order=np.nan), r"is nan after nan at row 1"),
    ],
)
def test_detect_refuses_wrong_input_in_one_line(values: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        bg.detect(values)
    assert "\n" not in str(raised.value)


def test_detect_refuses_a_history_by_naming_the_way() -> None:
    with pytest.raises(DataError, match=r"a history of 2 series; pass one, such as values\[0\]"):
        bg.detect(bg.read(ROOT / "docs/results.csv"))


def test_read_returns_the_history_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    history = bg.read(ROOT / "docs/results.csv")
    assert [str(series.id) for series in history] == [
        "db/insert/ops_per_sec",
        "db/query/latency_ms",
    ]
    assert np.array_equal(as_values(history[0]), history.values_of(0))
    assert list(tmp_path.iterdir()) == []


def test_read_passes_options_to_the_source(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("order;value\n1;2\n2;3\n")
    assert bg.read(path, delimiter=";").values_of(0).tolist() == [2.0, 3.0]
    with pytest.raises(ConfigError, match=r"source files: .*'speed'; options:"):
        bg.read(path, speed=1)
    with pytest.raises(ConfigError, match="no kind 'graph'; allowed"):
        bg.read(path, kind="graph")


def test_read_warns_about_skipped_results(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    rows = [f"{order},{order % 3}" for order in range(40)]
    path.write_text("\n".join(["order,value", *rows, "40,fast"]))
    with pytest.warns(UserWarning, match="skipped 1 of 41 points: value is not a number") as caught:
        assert len(bg.read(path)[0]) == 40
    assert caught[0].filename == __file__
    with pytest.raises(DataError, match=r"0\.0% allowed"):
        bg.read(path, max_skipped_share=0.0)


def test_read_refuses_what_is_no_location() -> None:
    with pytest.raises(ConfigError, match="location is None: give a path, or the name of a data"):
        bg.read(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [-0.1, 2.0, float("nan")])
def test_read_refuses_a_share_that_is_none(tmp_path: Path, share: float) -> None:
    (tmp_path / "results.csv").write_text("commit,value\na,1\nb,2\n")
    with pytest.raises(ConfigError, match=f"max_skipped_share: {share}; allowed: 0 to 1"):
        bg.read(tmp_path / "results.csv", max_skipped_share=share)


def test_empty_labels_name_one_series_and_different_arguments_several() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0] * 20, "project": np.nan})
    assert as_values(frame).size == 40
    with pytest.raises(DataError, match=r"holds several series, by the columns \['args.threads'\]"):
        as_values(frame.assign(**{"args.threads": [1, 2] * 20}))

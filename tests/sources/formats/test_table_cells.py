"""What the cells of a table mean: numbers, times, directions, units, commits and orders."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from barograph.results.fields import FieldError
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.cells import measured
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
from tests.sources.formats.tables import NOWHERE, read, skips, values


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,5", "2,75"], [1.5, 2.75]),
        (["1e3", "-.5"], [1000.0, -0.5]),
        (["234,5 ms", "2,25 ms"], [234.5, 2.25]),
        (["1,204", "950"], [1.204, 950.0]),
        (["1,2 \u00b5s", "0,9 \u00b5s"], [1.2, 0.9]),
        (["99,038", "101,250"], [99.038, 101.25]),
        (["0,125", "1234,500"], [0.125, 1234.5]),
    ],
)
def test_decimal_sign_is_found(tmp_path: Path, cells: list[str], expected: list[float]) -> None:
    content = "test;value\n" + "".join(f"a;{cell}\n" for cell in cells)
    assert values(read(tmp_path / "t.csv", content)) == {"a": expected}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("12.5 ms", (12.5, "ms")), ("12.5ms", (12.5, "ms")), ("850 \u00b5s", (850, "\u00b5s")),
        ("3.5 MB/s", (3.5, "MB/s")), ("45%", (45, "%")), ("7", (7, "")),
        ("-1.5e-3 s", (-1.5e-3, "s")), ("2s", (2, "s")), ("1.5 days", (1.5, "days")),
        ("8 B", (8, "B")),
    ],
)  # fmt: skip
def test_cell_with_a_unit_is_read(cell: str, expected: tuple[float, str]) -> None:
    assert measured(cell, "value") == expected


@pytest.mark.parametrize(
    "cell",
    [
        "7b",
        "5 apples",
        "v1.2",
        "1.2.3 ms",
        "ms",
        "1 ms 2",
        "\u00b1 3",
        "1 2 3",
        "12 3456",
        "1'5 ms",
        "4K",  # a resolution, or the size of a model
        "1.2 m",  # milli, or minutes
        "1.2 K apples",
        "1,5",  # with a decimal point
        "1,2,3",
        "1.234,567",
        "12,3456",
    ],
)
def test_cell_that_only_looks_like_a_value_with_a_unit_is_no_number(cell: str) -> None:
    with pytest.raises(FieldError):
        measured(cell, "value")


@pytest.mark.parametrize("width", [2, 20])
def test_units_in_cells_are_converted_to_the_first_of_their_column(
    tmp_path: Path, width: int
) -> None:
    header = ",".join(["Time", *(f"m{k}" for k in range(width)), "model"])
    rows = [
        "2024-01-31 10:00:00" + ",1.5 ms" * width + ",7b",
        "2024-01-31 10:05:00" + ",850 \u00b5s" * width + ",7b",
        "2024-01-31 10:10:00" + ",0.002 s" * width + ",13b",
    ]
    loaded = read(tmp_path / "grafana.csv", "\n".join([header, *rows]) + "\n")
    expected = pytest.approx([1.5, 0.85, 2.0])
    assert values(loaded) == {f"grafana/m{k}": expected for k in range(width)}
    assert set(loaded.history.directions.tolist()) == {-1}


def test_unit_of_a_cell_counts_before_that_of_its_column(tmp_path: Path) -> None:
    loaded = read(tmp_path / "t.csv", "commit,p50 (ms),ops\na,3,5\nb,4000 us,6\nc,5,7\n")
    assert values(loaded) == {"t/p50": [3, 4, 5], "t/ops": [5, 6, 7]}


def test_very_long_cell_of_digits_is_refused_in_linear_time() -> None:
    started = time.process_time()
    with pytest.raises(FieldError, match="is not a number"):
        measured("9" * 100_000 + "x", "value")
    assert time.process_time() - started < 5


MIDNIGHT = 1_706_659_200_000  # 2024-01-31


@pytest.mark.parametrize(
    "cell",
    [
        "2024-01-31", "2024-01-31T00:00:00Z", "2024.01.31 1:00:00 +0100", "20240131",
        "31/01/2024", "31.01.2024", "01/31/2024", "1/31/2024 00:00:00",
        "1706659200", "1706659200000", "1706659200000000", "1706659200000000000",
    ],
)  # fmt: skip
def test_time_is_read(tmp_path: Path, cell: str) -> None:
    loaded = read(tmp_path / "t.csv", f'test,date,value\na,"{cell}",1\n')
    assert loaded.history.times.tolist() == [MIDNIGHT]


def test_order_of_day_and_month_follows_from_the_file(tmp_path: Path) -> None:
    rows = "test,date,value\na,02/01/2024,1\na,{},2\n"
    loaded = read(tmp_path / "t.csv", rows.format("13/01/2024"))
    assert loaded.history.times.tolist() == [1_704_153_600_000, 1_705_104_000_000]
    unclear = read(tmp_path / "t.csv", rows.format("03/01/2024"))
    assert "dates such as 02/01/2024 read as" in unclear.notes[0]


@pytest.mark.parametrize(
    ("content", "direction"),
    [
        ("test,direction,value\na,lower,1\n", -1),
        ("test,direction,value\na,smaller_is_better,1\n", -1),
        ("test,direction,value\na,higher,1\n", 1),
        ("test,direction,value\na,-1,1\n", -1),
        ("test,lower_is_better,value\na,false,1\n", 1),
        ("test,unit,value\na,ms,1\n", -1),
        ("test,unit,value\na,ops/s,1\n", 1),
        ("commit,latency (ms)\nx,1\n", -1),
        ("test,value\na,1\n", 0),
        ("commit,p50_ms\nx,1\n", -1),
        ("commit,opsPerSecond\nx,1\n", 1),
        ("metric,value\nreal_time_ns,1\n", -1),
        ("metric,unit,value\nqueue_ms,ops/s,1\n", 1),  # the unit counts
        ("metric,direction,value\nuptime_ms,higher,1\n", 1),
        *[(f"metric,value\n{name},1\n", 0) for name in ("latency_min", "ops_s", "free_bytes")],
        ("test,value\nsleep_10_ms,1\n", 0),  # not a measurement
    ],
)
def test_direction_is_known_from(tmp_path: Path, content: str, direction: int) -> None:
    assert read(tmp_path / "t.csv", content).history.directions.tolist() == [direction]


def test_the_caller_knows_a_direction_better_than_the_name_of_a_measurement(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("commit,age_ms,wait (ms),kept\nx,1,1,1\n")
    loaded = read_files([path], None, NOWHERE, RunContext(), lambda name: int("age" in name))
    assert loaded.history.directions.tolist() == [1, -1, 0]


def test_directions_that_differ_are_counted_and_the_first_counts(tmp_path: Path) -> None:
    loaded = read(tmp_path / "t.csv", "test,order,value,direction\na,1,1,1\na,2,2,-1\n")
    assert loaded.history.directions.tolist() == [1]
    assert [*loaded.report.corrected.values()] == [1]


def test_units_of_one_dimension_are_converted_and_others_named(tmp_path: Path) -> None:
    rows = "test,order,unit,value\na,1,ms,5\na,2,us,6000\na,3,MB,7\na,4,,8\n"
    loaded = read(tmp_path / "t.csv", rows)
    assert values(loaded) == {"a": [5, 6, 8]}
    reason = "the unit cannot be converted to that of the series' first value"
    assert skips(loaded)[reason][:2] == ("points", 1)


def test_numbers_of_all_kinds_are_one_argument(tmp_path: Path) -> None:
    rows = [
        {"test": "a", "args": {"n": n}, "order": k, "value": k} for k, n in enumerate((8, 8.0, "8"))
    ]
    answer = read(tmp_path / "t.json", json.dumps(rows))
    assert values(answer) == {"a n=8": [0, 1, 2]}


def test_a_run_of_a_commit_in_the_history_is_a_run_of_that_commit(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("commit,test,value\nx,t,10\ny,t,20\n")
    (tmp_path / "run.json").write_text('[{"name": "t", "unit": "ms", "value": 22}]')
    paths = [tmp_path / "h.csv", tmp_path / "run.json"]
    history = read_files(paths, ReadOptions(commit="y"), NOWHERE, RunContext()).history
    assert history.values.tolist() == [10, 21]
    assert history.runs_of(0).keys() == {1}


def test_abbreviated_hashes_are_those_of_the_full_ones(tmp_path: Path) -> None:
    full, other = "0a8cb97" + "6" * 33, "0a8cb98" + "6" * 33
    listed = ["0a8cb97", full, other, "0a8cb9", "2024010", "20240101"]
    rows = "".join(f"{name},t,{k}\n" for k, name in enumerate(listed))
    loaded = read(tmp_path / "t.csv", "commit,test,value\n" + rows)
    assert list(loaded.history.commits) == [full, *listed[2:]]
    assert values(loaded)["t"] == [0.5, 2, 3, 4, 5]
    twins = [full, full[:-1] + "7"]
    rows = "".join(f"{name},t,1\n" for name in ["0a8cb97", *twins])
    loaded = read(tmp_path / "t.csv", "commit,test,value\n" + rows)
    assert list(loaded.history.commits) == ["0a8cb97", *twins]


def test_orders_beyond_the_limit_are_an_error(tmp_path: Path) -> None:
    rows = "".join(f"{2**62 + k},1\n" for k in range(3))
    with pytest.raises(DataError, match=r"number the commits, or give times in milliseconds"):
        read(tmp_path / "u.csv", f"order,value\n{rows}")
    rows = "".join(f"{2**53 - k},1\n" for k in range(3))
    loaded = read(tmp_path / "v.csv", f"order,value\n{rows}")
    assert loaded.history.orders.tolist() == [2**53 - 2, 2**53 - 1, 2**53]


@pytest.mark.parametrize("column", ["build", "Build #", "order"])
def test_builds_written_with_a_sign_are_numbers(tmp_path: Path, column: str) -> None:
    files = read(tmp_path / "t.csv", f"{column},value\n#12,2\n#9,1\n # 13,0\n")
    [series] = files.history
    assert series.orders.tolist() == [9, 12]
    assert series.values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("content", "units"),
    [
        (
            "test,order,value,unit\na,1,2,ms\nb,1,3,\na,2,2,ms\nc,1,4,widgets\n",
            ["ms", "", "widgets"],
        ),
        ("order,latency [ms],size (kB),p50_ms\n1,2,3,4\n2,2,3,4\n", ["ms", "kB", ""]),
        ("test,order,value\na,1,2.5 ms\na,2,2 ms\nb,1,2\n", ["ms", ""]),
        ("test,order,value,unit\na,1,2,ms\na,2,2,us\na,3,5,\n", ["ms"]),
        ("test,order,branch,value,unit\na,1,x,2,ms\na,2,main,2,s\na,3,main,3,s\n", ["ms"]),
        ("test,order,value\na,1,2\n", [""]),
    ],
)
def test_series_has_the_unit_that_its_results_state(
    tmp_path: Path, content: str, units: list[str]
) -> None:
    assert [series.unit for series in read(tmp_path / "t.csv", content).history] == units


def test_units_of_several_files_stay_with_their_series(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("test,order,value,unit\na,1,2,ms\nb,1,9,kB\n")
    (tmp_path / "b.csv").write_text("test,order,value\nc,1,2\na,2,3\n")
    known = read_files([tmp_path / "a.csv", tmp_path / "b.csv"], direction_of=lambda _: 1)
    units = {series.id.test: (series.unit, len(series)) for series in known.history}
    assert units == {"a": ("ms", 2), "b": ("kB", 1), "c": ("", 1)}


@pytest.mark.parametrize("unit", ["ms", "ops/s"])
def test_format_states_the_unit(tmp_path: Path, unit: str) -> None:
    (tmp_path / "run.json").write_text(f'[{{"name": "t", "unit": "{unit}", "value": 22}}]')
    assert read_files([tmp_path / "run.json"]).history[0].unit == unit

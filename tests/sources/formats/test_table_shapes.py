"""Tables of any shape: which column is what."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.results.series import UNKNOWN_TIME
from barograph.runtime.errors import ConfigError
from tests.sources.formats.tables import read, skips, values

SHAPES = {
    "long": ("test,commit,value\na,x,1\na,y,2\n", {"a": [1, 2]}),
    "long with metrics": ("bench,metric,value\ns,p50,1\ns,p99,9\n", {"s/p50": [1], "s/p99": [9]}),
    "wide": ("commit,p50,p99\nx,1,9\ny,2,\n", {"t/p50": [1, 2], "t/p99": [9]}),
    "wide with tests": ("test,commit,p50\na,x,1\nb,x,2\n", {"a/p50": [1], "b/p50": [2]}),
    "numbers only": ("3.5\n4\n", {"t": [3.5, 4]}),
    "one column": ("value\n3.5\n4\n", {"t": [3.5, 4]}),
    "one column of a metric": ("p50_ms\n3.5\n4\n", {"t/p50_ms": [3.5, 4]}),
    "capitals and spaces": ("Benchmark, Commit ,Value\na,x,1\n", {"a": [1]}),
    "spread beside the value": ("test,mean,stddev\na,1,0.1\n", {"a/mean": [1]}),
    "parameters": ("test,args.n,value\na,8,1\na,16,2\n", {"a n=8": [1], "a n=16": [2]}),
    "threads": ("test,threads,v\na,8,5\na,1,6\n", {"a/v threads=8": [5], "a/v threads=1": [6]}),
    "comments": ("# made by us\n\ntest,value\na,1\n", {"a": [1]}),
    "measured time": ("test,commit,time\na,x,0.5\na,y,0.6\n", {"a/time": [0.5, 0.6]}),
    "one object": ('{"test": "a", "value": 3}', {"a": [3]}),
    "records": ('[{"test": "a", "value": 3}, {"test": "a", "value": 4}]', {"a": [3, 4]}),
    "wide records": ('[{"commit": "x", "p50": 3}, {"commit": "y", "p50": 4}]', {"t/p50": [3, 4]}),
    "nested records": ('[{"commit": {"id": "x"}, "test": "a", "value": 3}]', {"a": [3]}),
    "posted points": ('{"points": [{"test": "a", "order": 1, "value": 3}]}', {"a": [3]}),
    "lines": ('{"test": "a", "value": 3}\n\n{"test": "a", "value": 4}\n', {"a": [3, 4]}),
    "not a number": ('[{"test": "a", "value": 3}, {"test": "a", "value": NaN}]', {"a": [3]}),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shape_is_read(tmp_path: Path, shape: str) -> None:
    content, expected = SHAPES[shape]
    assert values(read(tmp_path / "t.txt", content)) == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    content = "test,order,value\na,1,1.5\n".replace(",", delimiter)
    assert values(read(tmp_path / "t.csv", content)) == {"a": [1.5]}


@pytest.mark.parametrize(
    "content",
    [
        "test,value\r\na,1\r\n".encode("utf-8-sig"),
        "test,value\na,1\n".encode("utf-16"),
        gzip.compress(b"test,value\na,1\n", mtime=0),
        gzip.compress(b"test,value\n", mtime=0) + gzip.compress(b"a,1\n", mtime=0),
    ],
)
def test_encoding_is_found(tmp_path: Path, content: bytes) -> None:
    assert values(read(tmp_path / "t", content)) == {"a": [1]}


def test_mapped_columns(tmp_path: Path) -> None:
    content = "name,label,n,took,order\nx,a,8,1,5\n"
    mapping = {"LABEL": "test", "took": "value", "n": "args.size", "name": "ignore"}
    loaded = read(tmp_path / "t.csv", content, mapping=mapping)
    assert values(loaded) == {"a size=8": [1]}
    assert not loaded.notes
    chosen = read(tmp_path / "t.csv", "a,b,c\n1,2,3\n", value_columns=("b", "c"), order_by="a")
    assert (values(chosen), chosen.history.orders.tolist()) == ({"t/b": [2], "t/c": [3]}, [1, 1])
    with pytest.raises(ConfigError, match="no column 'd'; there are 'a', 'b', 'c'"):
        read(tmp_path / "t.csv", "a,b,c\n1,2,3\n", value_columns=("d",))


@pytest.mark.parametrize("name", ["release", "stable_release", "is_release"])
@pytest.mark.parametrize("cells", [("8.0", ""), ("0", "1")])
def test_a_column_of_releases_is_ignored(tmp_path: Path, name: str, cells: tuple[str, str]) -> None:
    for table in (f"test,{name},value\n", f"test,{name},latency\n"):
        rows = [f"a,{cell},{k}\n" for k, cell in enumerate(cells)]
        loaded = read(tmp_path / "t.csv", table + "".join(rows))
        assert [*values(loaded).values()] == [[0, 1]]
        assert f"columns ignored: {name}" in str(loaded.notes)


def test_unknown_columns_are_named_once(tmp_path: Path) -> None:
    loaded = read(tmp_path / "t.csv", "test,value,note,host_load\na,1,x,3\na,2,y,4\n")
    assert loaded.notes[0].endswith(
        "columns ignored: note, host_load; --map COLUMN=FIELD reads one"
    )


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index"])
def test_the_row_numbers_of_pandas_are_no_metric(tmp_path: Path, name: str) -> None:
    loaded = read(tmp_path / "t.csv", f"{name},commit,latency\n0,x,1\n1,y,2\n")
    assert values(loaded) == {"t/latency": [1, 2]}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_metric_that_json_lines_name_late_is_read(tmp_path: Path) -> None:
    rows = [
        {"commit": f"c{k}", "p50": k} | ({"p99": 9 * k, "x": "a"} if k > 1 else {})
        for k in range(5)
    ]
    answer = read(tmp_path / "t.ndjson", lines(*rows))
    assert values(answer) == {"t/p50": [0, 1, 2, 3, 4], "t/p99": [18, 27, 36]}
    assert answer.notes[0].endswith("columns ignored: x; --map COLUMN=FIELD reads one")


def test_rows_after_the_last_value_are_skipped_and_counted(tmp_path: Path) -> None:
    rows = [{"test": "a", "order": k} | ({"value": k} if k < 2 else {}) for k in range(4)]
    answer = read(tmp_path / "t.ndjson", lines(*rows))
    assert values(answer) == {"a": [0, 1]}
    assert skips(answer) == {"value is missing": ("points", 2, 3)}


def test_parquet_with_types_of_all_kinds(tmp_path: Path) -> None:
    table = pa.table(
        {
            "test": pa.array(["a", "a", "b"]).dictionary_encode(),
            "order": pa.array([1.0, 2.0, 3.0]),
            "value": pa.array([1, 2, 3], pa.int32()),
            "commit": pa.array([7, 8, 9]),
            "time": pa.array([0, 86_400, None], pa.timestamp("s")),
        }
    )
    pq.write_table(table, tmp_path / "x")
    loaded = read(tmp_path / "t", (tmp_path / "x").read_bytes())
    assert values(loaded) == {"a": [1.0, 2.0], "b": [3.0]}
    assert list(loaded.history.commits) == ["7", "8", "9"]
    assert loaded.history.times.tolist() == [0, 86_400_000, UNKNOWN_TIME]


@pytest.mark.parametrize(("unit", "time"), [("us", 1_234_567), ("ns", 1_234_567_891)])
def test_times_of_parquet_may_be_finer_than_milliseconds(
    tmp_path: Path, unit: str, time: int
) -> None:
    times = pa.array([time, 2 * time], pa.timestamp(unit, "UTC"))
    pq.write_table(pa.table({"value": [1.0, 2.0], "time": times}), tmp_path / "x")
    loaded = read(tmp_path / "t", (tmp_path / "x").read_bytes())
    assert loaded.history.times.tolist() == [1234, 2469]


def test_columns_of_jmh_influx_and_elastic_are_known(tmp_path: Path) -> None:
    jmh = '"Benchmark","Mode","Threads","Score","Score Error (99.9%)","Unit","Param: size"\n'
    jmh += '"a.Sort","thrpt",1,12.5,0.1,"ops/ms",10\n"a.Sort","thrpt",1,3.5,0.1,"ops/ms",100\n'
    loaded = read(tmp_path / "jmh.csv", jmh).history
    assert [dict(name.args) for name in loaded.ids] == [
        {"Threads": "1", "size": size} for size in ("10", "100")
    ]
    assert loaded.directions.tolist() == [1, 1]
    influx = "#group,false\n,result,table,_time,_value,_field,_measurement\n"
    rows = [f",,0,2024-01-01T1{k}:00:00Z,{k},latency,http\n" for k in range(2)]
    read_ = read(tmp_path / "influx.csv", influx + "".join(rows))
    assert [str(name) for name in read_.history.ids] == ["http/latency"]
    assert "columns ignored: table;" in read_.notes[0]
    rows = [f'{{"@timestamp": "2024-01-0{3 - k}T10:00:00Z", "ms": {k}}}\n' for k in range(2)]
    assert read(tmp_path / "e.ndjson", "".join(rows)).history.values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("column", "dates"),
    [
        ("Datum", ["13.01.2025 08:00", "14.01.2025", "15.01.2025"]),
        ("when", ["2025-01-13T08:00:00Z", "2025-01-14 08:00", "2025/01/15"]),
    ],
)
def test_the_only_column_of_dates_is_the_time(
    tmp_path: Path, column: str, dates: list[str]
) -> None:
    rows = [f"{date},{value},x\n" for value, date in enumerate(dates, 1)]
    loaded = read(tmp_path / "t.csv", f"{column},p50,note\n" + "".join(reversed(rows)))
    assert values(loaded) == {"t/p50": [1, 2, 3]}
    assert loaded.notes[0] == f"{tmp_path / 't.csv'}: column {column} read as time"


def test_one_of_several_columns_of_dates_is_not_guessed(tmp_path: Path) -> None:
    content = "built,tested,p50\n2025-01-02,2025-01-04,1\n2025-01-01,2025-01-03,2\n"
    loaded = read(tmp_path / "t.csv", content)
    assert values(loaded) == {"t/p50": [1, 2]}
    assert "columns ignored: built, tested" in loaded.notes[0]


@pytest.mark.parametrize(
    ("header", "series"),
    [
        ("Benchmark Name,Metric,git.sha,ns", "a/b"),
        ("Test case,measurement,commit.id,ns", "a/b"),
        ("scenario,metric,git.commit,ns", "a/b"),
        ("series_id,metric,commit,ns", "a/b"),
        ("series_name,metric,commit,ns", "a/b"),
    ],
)
def test_usual_names_of_columns_are_known(tmp_path: Path, header: str, series: str) -> None:
    loaded = read(tmp_path / "t.csv", f"{header}\na,b,c1,1\na,b,c2,2\n")
    assert values(loaded) == {series: [1, 2]}
    assert list(loaded.history.commits) == ["c1", "c2"]


@pytest.mark.parametrize("column", ["timestamp_ms", "date_ms"])
def test_times_in_milliseconds_are_no_metric(tmp_path: Path, column: str) -> None:
    content = f"{column},build,memory\n1736755200000,7,4992238\n1736841600000,8,5000\n"
    loaded = read(tmp_path / "t.csv", content)
    assert values(loaded) == {"t/memory": [4_992_238, 5_000]}
    assert loaded.history.times.tolist() == [1736755200000, 1736841600000]


@pytest.mark.parametrize("header", ["commit,1,2", "step,0.5,0.99", "step,50,99,99.9"])
def test_columns_may_be_called_like_quantiles_and_numbers_of_threads(
    tmp_path: Path, header: str
) -> None:
    width = header.count(",")
    loaded = read(tmp_path / "t.csv", f"{header}\na{',5.5' * width}\nb{',6.5' * width}\n")
    assert len(loaded.history) == width

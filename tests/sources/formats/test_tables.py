"""Tables of any shape: which column is what, and what happens to cells that cannot be used."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.errors import BarographError, ConfigError, DataError
from barograph.git import Repository
from barograph.series import ORDER_HINT, UNKNOWN_TIME
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files

HEAD = "project,test,order,commit,time,value\n"
NOWHERE = Repository("/")


def read(path: Path, content: str | bytes, **options: Any) -> FilesRead:
    """Read one file; half of the rows may be unusable."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    options = {"max_skipped_share": 0.5, **options}
    return read_files([path], ReadOptions(**options), NOWHERE, RunContext())


def values(found: FilesRead) -> dict[str, list[float]]:
    return {str(series.id): series.values.tolist() for series in found.history}


def skips(found: FilesRead) -> dict[str, tuple[str, int, int]]:
    """Return the kind, the count and the first line of the skips of each reason."""
    return {
        reason: (kind, entry.count, [*entry.examples[0].values()][1])
        for kind, reasons in found.report.skipped.items()
        for reason, entry in reasons.items()
    }


SHAPES = {
    "long": ("test,commit,value\na,x,1\na,y,2\n", {"a": [1, 2]}),
    "long with metrics": ("bench,metric,value\ns,p50,1\ns,p99,9\n", {"s/p50": [1], "s/p99": [9]}),
    "wide": ("commit,p50,p99\nx,1,9\ny,2,\n", {"t/p50": [1, 2], "t/p99": [9]}),
    "wide with tests": ("test,commit,p50\na,x,1\nb,x,2\n", {"a/p50": [1], "b/p50": [2]}),
    "numbers only": ("3.5\n4\n", {"t": [3.5, 4]}),
    "one column": ("value\n3.5\n4\n", {"t": [3.5, 4]}),
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
    found = read(tmp_path / "t.csv", content, mapping=mapping)
    assert values(found) == {"a size=8": [1]}
    assert not found.notes
    chosen = read(tmp_path / "t.csv", "a,b,c\n1,2,3\n", value_columns=("b", "c"), order_by="a")
    assert (values(chosen), chosen.history.orders.tolist()) == ({"t/b": [2], "t/c": [3]}, [1, 1])
    with pytest.raises(ConfigError, match="no column 'd'; there are 'a', 'b', 'c'"):
        read(tmp_path / "t.csv", "a,b,c\n1,2,3\n", value_columns=("d",))


def test_unknown_columns_are_named_once(tmp_path: Path) -> None:
    found = read(tmp_path / "t.csv", "test,value,note,host_load\na,1,x,3\na,2,y,4\n")
    assert found.notes[0].endswith("columns ignored: note, host_load; --map COLUMN=FIELD reads one")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,5", "2,75"], [1.5, 2.75]),
        (["1.234,5", "2,25"], [1234.5, 2.25]),
        (["1,234.5", "2"], [1234.5, 2.0]),
        (["1e3", "-.5"], [1000.0, -0.5]),
    ],
)
def test_decimal_sign_is_found(tmp_path: Path, cells: list[str], expected: list[float]) -> None:
    content = "test;value\n" + "".join(f"a;{cell}\n" for cell in cells)
    assert values(read(tmp_path / "t.csv", content)) == {"a": expected}


MIDNIGHT = 1_706_659_200_000  # 2024-01-31


@pytest.mark.parametrize(
    "cell",
    [
        "2024-01-31", "2024-01-31T00:00:00Z", "2024.01.31 1:00:00 +0100", "20240131",
        "31/01/2024", "31.01.2024", "31.1.24", "01/31/2024", "1/31/2024 12:00:00 AM",
        "Wed, 31 Jan 2024 00:00:00 +0000",
        "1706659200", "1706659200000", "1706659200000000", "1706659200000000000",
    ],
)  # fmt: skip
def test_time_is_read(tmp_path: Path, cell: str) -> None:
    found = read(tmp_path / "t.csv", f'test,date,value\na,"{cell}",1\n')
    assert found.history.times.tolist() == [MIDNIGHT]


def test_day_and_month_are_told_apart_by_the_file(tmp_path: Path) -> None:
    rows = "test,date,value\na,02/01/2024,1\na,{},2\n"
    found = read(tmp_path / "t.csv", rows.format("13/01/2024"))
    assert found.history.times.tolist() == [1_704_153_600_000, 1_705_104_000_000]
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
    found = read_files([path], None, NOWHERE, RunContext(), lambda name: int("age" in name))
    assert found.history.directions.tolist() == [1, -1, 0]


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index"])
def test_the_row_numbers_of_pandas_are_no_metric(tmp_path: Path, name: str) -> None:
    found = read(tmp_path / "t.csv", f"{name},commit,latency\n0,x,1\n1,y,2\n")
    assert values(found) == {"t/latency": [1, 2]}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("# by hand\ncommit,value\nx,1\ny,many\n", "line 4"),
        ('{"commit": "x", "value": 1}\n{"commit": "y", "value": "many"}\n', "line 2"),
        ('[{"commit": "x", "value": "many"}, {"commit": "y", "value": 1}]', "row 1"),
        ("commit,unit,value\nx,ms,1\ny,MB,2\n", "row 2"),
    ],
)
def test_a_skipped_value_is_named_by_its(tmp_path: Path, content: str, place: str) -> None:
    found = read(tmp_path / "t.csv", content)
    assert f"t.csv: {place}: " in found.report.first_skip("points")


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
    found = read(tmp_path / "t.csv", "commit,test,value\n" + rows)
    assert list(found.history.commits) == [full, *listed[2:]]
    assert values(found)["t"] == [0.5, 2, 3, 4, 5]
    twins = [full, full[:-1] + "7"]
    rows = "".join(f"{name},t,1\n" for name in ["0a8cb97", *twins])
    found = read(tmp_path / "t.csv", "commit,test,value\n" + rows)
    assert list(found.history.commits) == ["0a8cb97", *twins]


def test_directions_that_differ_are_counted_and_the_first_counts(tmp_path: Path) -> None:
    found = read(tmp_path / "t.csv", "test,order,value,direction\na,1,1,1\na,2,2,-1\n")
    assert found.history.directions.tolist() == [1]
    assert [*found.report.corrected.values()] == [1]


def test_units_of_one_dimension_are_converted_and_others_named(tmp_path: Path) -> None:
    rows = "test,order,unit,value\na,1,ms,5\na,2,us,6000\na,3,MB,7\na,4,,8\n"
    found = read(tmp_path / "t.csv", rows)
    assert values(found) == {"a": [5, 6, 8]}
    reason = "the unit cannot be converted to that of the series' first value"
    assert skips(found)[reason][:2] == ("points", 1)


def test_orders_beyond_the_limit_are_times_only_if_milliseconds_tell_them_apart(
    tmp_path: Path,
) -> None:
    stamps = [1_706_220_908_000_000_000 + k * 1_000_000 for k in range(3)]
    found = read(tmp_path / "t.csv", "order,value\n" + "".join(f"{k},1\n" for k in stamps))
    assert found.history.orders.tolist() == [k // 1_000_000 for k in stamps]
    rows = "".join(f"{2**62 + k},1\n" for k in range(3))
    with pytest.raises(DataError, match=r"number the commits, or give times in milliseconds"):
        read(tmp_path / "u.csv", f"order,value\n{rows}")
    rows = "".join(f"{2**53 - k},1\n" for k in range(3))
    found = read(tmp_path / "v.csv", f"order,value\n{rows}")
    assert found.history.orders.tolist() == [2**53 - 2, 2**53 - 1, 2**53]


def test_rows_without_an_order_are_named_with_the_other_orders(tmp_path: Path) -> None:
    rows = [f"{k if k % 4 else ''},c{k},{k}\n" for k in range(40)]
    with pytest.raises(DataError) as error:
        read(tmp_path / "t.csv", "order,commit,value\n" + "".join(rows), max_skipped_share=0.05)
    assert str(error.value) == (
        f"{tmp_path / 't.csv'}: 10 of 40 results have no order (lines 2, 6, 10, 14, 18, ...); fill "
        "the column in, or ignore it with --map order=ignore to order by time, by commit or as "
        "listed"
    )
    found = read(
        tmp_path / "t.csv", "order,commit,value\n" + "".join(rows), mapping={"order": "ignore"}
    )
    assert found.history.values.tolist() == list(range(40))


TOO_LARGE = f"order is too large; {ORDER_HINT}"
CSV_FAULTS = {
    "p,a,1,c,,": "value is missing",
    "p,a,1,c,,-inf": "value is not finite",
    "p,a,1,c,,1e999": "value is not finite",
    "p,a,1,c,,fast": "value is not a number",
    "p,a,1,c,,1_0": "value is not a number",
    "p,a,,c,,1": "order is missing",
    "p,a,1.5,c,,1": "order is not a whole number",
    f"p,a,{2**53 + 1},c,,1": TOO_LARGE,
    f"p,a,-{2**63},c,,1": TOO_LARGE,
    f"p,a,{'9' * 5000},c,,1": "order is not a whole number",
    "p,a,1,c,yesterday,1": "not a time",
    "p,a,1,c,1": "not as many cells as columns",
    "p,a,1,c,,1,1": "not as many cells as columns",
    ",,1,c,,1": "no identity",
    'p,a,1,"c"d,,1': "not readable as CSV: ',' expected after '\"'",
}


@pytest.mark.parametrize("row", CSV_FAULTS, ids=range(len(CSV_FAULTS)))
def test_bad_row_is_named_by_its_line_and_the_others_are_kept(tmp_path: Path, row: str) -> None:
    found = read(tmp_path / "t.csv", f"{HEAD}p,a,5,c5,,5\n{row}\np,a,6,c6,,6\n")
    assert found.history.values.tolist() == [5.0, 6.0]
    assert skips(found) == {CSV_FAULTS[row]: ("points", 1, 3)}
    assert found.report.read["points"] == 3


JSON_FAULTS: dict[str, str] = {
    '{"test": "a", "order": 1}': "value is missing",
    '{"test": "a", "order": 1, "value": NaN}': "value is missing",
    f'{{"test": "a", "order": 1, "value": 1{"0" * 400}}}': "value is not finite",
    '{"test": "a", "order": 1, "value": true}': "value is not a number",
    '{"test": "a", "order": 1.5, "value": 1}': "order is not a whole number",
    '{"test": "a", "order": 1, "value": 1, "args": [1]}': "args is not a JSON object",
    '{"test": "a", "order": 1, "value": 1, "args": true}': "args is not a JSON object",
    '{"test": "\\ud800", "order": 1, "value": 1}': "not valid text",
    '{"order": 1, "value": 1}': "no identity",
    '{"test": "a", "order": 1': "not a JSON object",
    f'{{"order": {"9" * 5000}}}': "not a JSON object",
    "[" * 99_999: "not a JSON object",
    "7": "not a JSON object",
}


@pytest.mark.parametrize("line", JSON_FAULTS, ids=range(len(JSON_FAULTS)))
def test_bad_json_line_is_named_and_the_others_are_kept(tmp_path: Path, line: str) -> None:
    sound = [json.dumps({"test": "a", "order": order, "value": order}) for order in (5, 6)]
    found = read(tmp_path / "t.ndjson", "\n".join([sound[0], "", line, sound[1]]))
    assert found.history.values.tolist() == [5.0, 6.0]
    assert skips(found) == {JSON_FAULTS[line]: ("points", 1, 3)}


def test_numbers_of_all_kinds_are_one_argument(tmp_path: Path) -> None:
    rows = [
        {"test": "a", "args": {"n": n}, "order": k, "value": k} for k, n in enumerate((8, 8.0, "8"))
    ]
    found = read(tmp_path / "t.json", json.dumps(rows))
    assert values(found) == {"a n=8": [0, 1, 2]}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture
def _two_rows_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barograph.sources.formats.rows.CHUNK", 2)


@pytest.mark.usefixtures("_two_rows_a_chunk")
def test_metric_that_json_lines_name_late_is_read(tmp_path: Path) -> None:
    rows = [
        {"commit": f"c{k}", "p50": k} | ({"p99": 9 * k, "x": "?"} if k > 1 else {})
        for k in range(5)
    ]
    found = read(tmp_path / "t.ndjson", lines(*rows))
    assert values(found) == {"t/p50": [0, 1, 2, 3, 4], "t/p99": [18, 27, 36]}
    assert found.notes[0].endswith("columns ignored: x; --map COLUMN=FIELD reads one")


@pytest.mark.usefixtures("_two_rows_a_chunk")
def test_late_column_that_changes_what_a_row_is_is_refused(tmp_path: Path) -> None:
    rows = [{"commit": f"c{k}", "p50": k} | ({"value": 1} if k > 1 else {}) for k in range(4)]
    message = "columns value first appear after row 2, and would change how the rows before"
    with pytest.raises(DataError, match=message):
        read(tmp_path / "t.ndjson", lines(*rows))


@pytest.mark.usefixtures("_two_rows_a_chunk")
def test_rows_after_the_last_value_are_skipped_and_counted(tmp_path: Path) -> None:
    rows = [{"test": "a", "order": k} | ({"value": k} if k < 2 else {}) for k in range(4)]
    found = read(tmp_path / "t.ndjson", lines(*rows))
    assert values(found) == {"a": [0, 1]}
    assert skips(found) == {"value is missing": ("points", 2, 3)}


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
    found = read(tmp_path / "t", (tmp_path / "x").read_bytes())
    assert values(found) == {"a": [1.0, 2.0], "b": [3.0]}
    assert list(found.history.commits) == ["7", "8", "9"]
    assert found.history.times.tolist() == [0, 86_400_000, UNKNOWN_TIME]


MESSAGES = {
    "": "the file is empty",
    "hello world\nand more\n": "text of no known format, which begins 'hello world'",
    "project,order\np,x\n": "no column of values among 'project', 'order'; name it with",
    "test,order,value,value\np,1,1,1\n": "two columns are called 'value'",
    HEAD: "no results",
    HEAD + 'p,a,1,"c,,1\np,a,2,c,,2\n': "a quoted cell has no end",
    HEAD
    + "p,a,1,c,,bad\n": r"100\.0% of 1 results are unusable, 50\.0% allowed: value is not a number",
    '{"a": 1, "b": {}}': "JSON of no known format, with the keys a, b",
    '{"points": 7}': "with the keys points",
    "[" * 9999: "a JSON array of no known format",
    "PAR1 and then nothing": "not a readable Parquet file",
    "\x1f\x8bno gzip": "the file is empty|binary data|gzip",
}


@pytest.mark.parametrize("content", MESSAGES, ids=range(len(MESSAGES)))
def test_file_that_is_no_table_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=MESSAGES[content]) as caught:
        read(tmp_path / "t.csv", content.encode("latin-1"))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) - len(str(tmp_path)) < 300


def test_sizes_are_bounded(tmp_path: Path) -> None:
    bomb = gzip.compress(b"value\n" + b"1" * 5_000_000, mtime=0)
    with pytest.raises(DataError, match="larger than 1 MiB; --max-size MIB allows more"):
        read(tmp_path / "t.csv", bomb, max_bytes=1 << 20)
    with pytest.raises(DataError, match="300 columns; at most 200 are allowed: write a row"):
        read(
            tmp_path / "t.csv",
            ",".join(f"p{k}" for k in range(300)) + "\n" + ",".join(["1"] * 300),
            max_keys=200,
        )
    with pytest.raises(DataError, match="a cell is too long"):
        read(tmp_path / "t.csv", f'test,value\n"{"a" * 200_000}",1\n')


SAMPLE = (
    b'test,order,commit,time,value,"note"\na,1,c1,2024-01-31,1.5,"x,y"\na,2,c2,31/01/2024,"2,5",\n',
    b'[{"test": "a", "order": 1, "value": 1.5, "args": {"n": 8}}, {"test": "b", "p50": null}]',
    b'{"test": "a", "time": 1706659200, "value": 1.5}\n{"test": "a", "value": "x"}\n',
)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    st.sampled_from(SAMPLE),
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 3), st.binary(max_size=3)), max_size=4),
)
def test_any_bytes_give_results_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, changes: list[tuple[int, int, bytes]]
) -> None:
    for place, length, new in changes:
        content = content[:place] + new + content[place + length :]
    message = ""
    try:
        found = read(tmp_path_factory.getbasetemp() / "mutated", content, max_skipped_share=1.0)
        assert found.history.values.size
    except BarographError as error:
        message = str(error)
    assert "\n" not in message


def test_columns_of_jmh_influx_and_elastic_are_known(tmp_path: Path) -> None:
    jmh = '"Benchmark","Mode","Threads","Score","Score Error (99.9%)","Unit","Param: size"\n'
    jmh += '"a.Sort","thrpt",1,12.5,0.1,"ops/ms",10\n"a.Sort","thrpt",1,3.5,0.1,"ops/ms",100\n'
    found = read(tmp_path / "jmh.csv", jmh).history
    assert [dict(name.args) for name in found.ids] == [
        {"Threads": "1", "size": size} for size in ("10", "100")
    ]
    assert found.directions.tolist() == [1, 1]
    influx = "#group,false\n,result,table,_time,_value,_field,_measurement\n"
    rows = [f",,0,2024-01-01T1{k}:00:00Z,{k},latency,http\n" for k in range(2)]
    read_ = read(tmp_path / "influx.csv", influx + "".join(rows))
    assert [str(name) for name in read_.history.ids] == ["http/latency"]
    assert "columns ignored: (no name), result, table;" in read_.notes[0]
    rows = [f'{{"@timestamp": "2024-01-0{3 - k}T10:00:00Z", "ms": {k}}}\n' for k in range(2)]
    assert read(tmp_path / "e.ndjson", "".join(rows)).history.values.tolist() == [1, 0]


@pytest.mark.parametrize("sign", ["[", " "])
def test_very_long_name_of_a_column_is_read_in_linear_time(tmp_path: Path, sign: str) -> None:
    started = time.process_time()
    found = read(tmp_path / "t.csv", f"commit,a{sign * 100_000}[,b\na1,5,6\n")
    assert (len(found.history), time.process_time() - started < 2) == (2, True)

"""Cells, rows and files that cannot be used are named by their place and reason."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.results.series import ORDER_HINT
from barograph.runtime.errors import BarographError, DataError
from barograph.sources.formats.cells import NO_ORDER_GIVEN
from tests.sources.formats.tables import HEAD, read, skips


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
    loaded = read(tmp_path / "t.csv", content)
    assert f"t.csv: {place}: " in loaded.report.first_skip("points")


def test_rows_without_an_order_are_counted_with_a_hint(tmp_path: Path) -> None:
    rows = [f"{k if k % 4 else ''},c{k},{k}\n" for k in range(40)]
    with pytest.raises(DataError) as error:
        read(tmp_path / "t.csv", "order,commit,value\n" + "".join(rows), max_skipped_share=0.05)
    assert (
        "order is missing; fill it in, or ignore the column with --map COLUMN=ignore (10 "
        in str(error.value)
    )
    assert f"first {tmp_path / 't.csv'}: line 2: order = '')" in str(error.value)
    loaded = read(
        tmp_path / "t.csv", "order,commit,value\n" + "".join(rows), mapping={"order": "ignore"}
    )
    assert loaded.history.values.tolist() == list(range(40))


TOO_LARGE = f"order is too large; {ORDER_HINT}"


CSV_FAULTS = {
    "p,a,1,c,,": "value is missing",
    "p,a,1,c,,-inf": "value is not finite",
    "p,a,1,c,,1e999": "value is not finite",
    "p,a,1,c,,fast": "value is not a number",
    "p,a,1,c,,1_0": "value is not a number",
    "p,a,,c,,1": NO_ORDER_GIVEN,
    "p,a,1.5,c,,1": "order is not a whole number",
    f"p,a,{2**53 + 1},c,,1": TOO_LARGE,
    f"p,a,{-(2**53) - 1},c,,1": TOO_LARGE,
    f"p,a,-{2**63},c,,1": TOO_LARGE,
    f"p,a,{'9' * 5000},c,,1": "order is not a whole number",
    "p,a,1,c,yesterday,1": "is not a time",
    "p,a,1,c,1": "not as many cells as columns",
    "p,a,1,c,,1,1": "not as many cells as columns",
    ",,1,c,,1": "no identity",
}


@pytest.mark.parametrize("row", CSV_FAULTS, ids=range(len(CSV_FAULTS)))
def test_bad_row_is_named_by_its_line_and_the_others_are_kept(tmp_path: Path, row: str) -> None:
    loaded = read(tmp_path / "t.csv", f"{HEAD}p,a,5,c5,,5\n{row}\np,a,6,c6,,6\n")
    assert loaded.history.values.tolist() == [5.0, 6.0]
    assert skips(loaded) == {CSV_FAULTS[row]: ("points", 1, 3)}
    assert loaded.report.read["points"] == 3


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
    answer = read(tmp_path / "t.ndjson", "\n".join([sound[0], "", line, sound[1]]))
    assert answer.history.values.tolist() == [5.0, 6.0]
    assert skips(answer) == {JSON_FAULTS[line]: ("points", 1, 3)}


MESSAGES = {
    "": "the file is empty",
    "hello world\nand more\n": "of no known format: text that begins 'hello world'",
    "2024-01-01,100.5\n2024-01-02,100.6\n": "line 1: no header; the first line must name the col",
    "a1b2c3,100.5\na1b2c4,100.6\n": "line 1: no header; the first line must name the columns",
    "project,order\np,x\n": "no column of values among 'project', 'order'; name it with",
    "test,order,value,value\np,1,1,1\n": "two columns are called 'value'",
    HEAD: "no results",
    HEAD + 'p,a,1,"c,,1\np,a,2,c,,2\n': "a quoted cell has no end",
    HEAD + "p,a,1,c,,bad\n": r"100\.0% of 1 result cannot be used, 50\.0% allowed: value is not a",
    '{"a": 1, "b": {}}': "of no known format: JSON with the keys a, b",
    '{"points": 7}': "with the keys points",
    "[" * 9999: "nested too deeply|it ends early",
    HEAD + 'p,a,1,"c"d,,1\n': "line 2: not readable as CSV: ',' expected after '\"'",
    "test,value\n\xe9,1\n": "not valid UTF-8 at byte 11",
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
    with pytest.raises(DataError, match="larger than 1 MiB; `max-size` in"):
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
        loaded = read(tmp_path_factory.getbasetemp() / "mutated", content, max_skipped_share=1.0)
        assert loaded.history.values.size
    except BarographError as error:
        message = str(error)
    assert "\n" not in message


@pytest.mark.parametrize("sign", ["[", " "])
def test_very_long_name_of_a_column_is_read_in_linear_time(tmp_path: Path, sign: str) -> None:
    started = time.process_time()
    loaded = read(tmp_path / "t.csv", f"commit,a{sign * 100_000}[,b\na1,5,6\n")
    assert (len(loaded.history), time.process_time() - started < 2) == (2, True)

"""JSON as a table: the same answer as its CSV, and every bad row told with its number."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from barograph.errors import DataError
from barograph.parquet import SCHEMAS
from barograph.series import SeriesId
from barograph.sources import load
from barograph.sources.tabular import Tabular
from tests.sources.test_tabular import loaded, own_tables, same, skips

ROWS: list[dict[str, Any]] = [
    {
        "project": "db",
        "variant": "v",
        "task": "t",
        "test": test,
        "measurement": "m",
        "args": {"threads": threads, "größe": "L"},
        "direction": "lower_is_better",
        "order": order,
        "commit": f"c{order}",
        "time": time,
        "value": value,
    }
    for test, threads in (("insert", 8), ("query", 16))
    for order, time, value in ((1, 1_704_067_200_000, 1.5), (2, None, 3), (3, 86_400_000, 1e-7))
]


def write(path: Path, rows: Any) -> Path:
    """Write rows as the ending of the name says."""
    if ".json" in path.name and "jsonl" not in path.name:
        text = json.dumps(rows)
    else:
        text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def as_csv(path: Path) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        for row in ROWS:
            time = "1970-01-02" if row["time"] == 86_400_000 else row["time"]
            writer.writerow({**row, "args": json.dumps(row["args"]), "time": time})
    return path


@pytest.mark.parametrize("ending", ["json", "ndjson", "jsonl", "json.gz", "ndjson.gz", "jsonl.gz"])
def test_json_says_what_its_csv_says(tmp_path: Path, ending: str) -> None:
    load(Tabular(str(as_csv(tmp_path / "x.csv"))), tmp_path / "csv")
    report = load(Tabular(str(write(tmp_path / f"x.{ending}", ROWS))), tmp_path / "json")
    assert same(tmp_path / "csv", tmp_path / "json")
    assert (report.points, skips(report)) == (6, {})


@pytest.mark.parametrize(("form", "count"), [(ROWS[0], 1), (ROWS, 6), ({"points": ROWS}, 6)])
def test_what_the_service_takes_as_one_text(tmp_path: Path, form: Any, count: int) -> None:
    history, report = loaded(write(tmp_path / "x.json", form))
    assert report.points == count
    assert history.ids[0] == SeriesId(
        "db", "v", "t", "insert", "m", (("größe", "L"), ("threads", "8"))
    )


def test_own_tables_as_lines(tmp_path: Path) -> None:
    own, target = own_tables(tmp_path / "own"), tmp_path / "lines"
    target.mkdir()
    for name in SCHEMAS:
        rows = json.loads(
            json.dumps(pq.read_table(own / f"{name}.parquet").to_pylist(), default=str)
        )
        write(target / f"{name}.ndjson", rows)
    load(Tabular(str(target)), tmp_path / "out")
    assert same(own, tmp_path / "out")


def test_numbers_of_all_kinds_are_one_argument_and_keep_their_value(tmp_path: Path) -> None:
    told: list[Any] = [8, 8.0, "8"]
    rows = [
        {"test": "a", "args": {"n": n}, "order": order, "value": value}
        for order, (n, value) in enumerate(zip(told, [1, 2.5, "3.5"], strict=True))
    ]
    history, _ = loaded(write(tmp_path / "x.ndjson", rows))
    assert history.values.tolist() == [1.0, 2.5, 3.5]
    assert history.ids[0].args == (("n", "8"),)


FAULTS: dict[str, str] = {
    '{"test": "a", "order": 1}': "value is missing",
    '{"test": "a", "order": 1, "value": null}': "value is missing",
    '{"test": "a", "order": 1, "value": NaN}': "value is not finite",
    '{"test": "a", "order": 1, "value": -Infinity}': "value is not finite",
    '{"test": "a", "order": 1, "value": 1e999}': "value is not finite",
    f'{{"test": "a", "order": 1, "value": 1{"0" * 400}}}': "value is not finite",
    '{"test": "a", "order": 1, "value": "fast"}': "value is not a number",
    '{"test": "a", "order": 1, "value": true}': "neither a text nor a number",
    '{"test": {"b": 1}, "order": 1, "value": 1}': "neither a text nor a number",
    '{"test": "a", "value": 1}': "order is missing",
    '{"test": "a", "order": 1.5, "value": 1}': "order is not a whole number",
    f'{{"test": "a", "order": {2**63}, "value": 1}}': "order is not a whole number",
    '{"test": "a", "order": 1, "value": 1, "args": [1]}': "args is not a JSON object",
    '{"test": "a", "order": 1, "value": 1, "args": true}': "args is not a JSON object",
    '{"test": "a", "order": 1, "value": 1, "time": "yesterday"}': "not a time",
    '{"test": "a", "order": 1, "value": 1, "direction": "up"}': "direction is not -1, 0 or 1, nor "
    "one of lower_is_better, unknown, higher_is_better",
    '{"test": "\\ud800", "order": 1, "value": 1}': "not valid text",
    '{"order": 1, "value": 1}': "no identity",
    '{"test": "a", "order": 1': "not a JSON object",
    f'{{"order": {"9" * 5000}}}': "not a JSON object",
    "[" * 99_999: "not a JSON object",
    "[1]": "not a JSON object",
    "7": "not a JSON object",
}


@pytest.mark.parametrize("line", FAULTS, ids=range(len(FAULTS)))
def test_bad_line_is_reported_and_the_others_are_kept(tmp_path: Path, line: str) -> None:
    sound = [json.dumps({"test": "a", "order": order, "value": order}) for order in (5, 6)]
    path = write(tmp_path / "x.ndjson", [sound[0], "", line, sound[1]])
    history, report = loaded(path)
    assert history.values.tolist() == [5.0, 6.0]
    assert skips(report) == {FAULTS[line]: ("points", 1)}
    assert report.read["points"] == 3
    example = report.skipped["points"][FAULTS[line]].examples[0]
    assert (example["file"], example["document"]) == (str(path), 2)


def test_rows_are_numbered_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barograph.sources.tabular.objects.BATCH", 2)
    rows: list[Any] = [{"test": "a", "order": k, "value": k} for k in range(5)]
    rows[1], rows[4] = "broken", {"test": "a", "order": 9, "value": "x", "commit": "late"}
    history, report = loaded(write(tmp_path / "x.json", rows))
    assert history.values.tolist() == [0.0, 2.0, 3.0]
    places = {why: one.examples[0]["document"] for why, one in report.skipped["points"].items()}
    assert places == {"not a JSON object": 2, "value is not a number": 5}


def test_bytes_that_are_no_text_and_a_mark_before_the_first(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    line = b'{"test": "a%s", "order": %d, "value": 1}\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + line % (b"", 1) + line % (b"\xff", 2))
    history, report = loaded(path)
    assert history.ids[0].test == "a"
    assert skips(report) == {"not valid text": ("points", 1)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "", "not readable as JSON: .*one object on each line is named .ndjson"),
        ("x.json", '{"a": 1}\n{"a": 2}\n', "not readable as JSON: Extra data: line 2"),
        ("x.json", "[" * 99_999, "not readable as JSON"),
        ("x.json", "7", "neither an object nor an array"),
        ("x.json", '{"points": 7}', "points is no array"),
        ("x.json", '{"points": [], "x": 1}', r"next to points, got \['x'\]"),
        ("x.json", "[]", r"misses the columns \['order', 'value'\]; has \[\]"),
        ("x.jsonl", "", r"misses the columns \['order', 'value'\]; has \[\]"),
        ("x.jsonl", '{"order": 1, "test": "a"}', r"misses the columns \['value'\]"),
        ("x.jsonl", '{"order": 1, "value": 1, "load": 4}', r"unknown columns \['load'\]"),
        ("x.jsonl.gz", "no gzip", "cannot be read"),
    ],
)
def test_files_that_are_no_such_table(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        loaded(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)

"""A folder with the tables series, points and candidates, in any of the kinds of tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import InputFile, ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.folder import matches
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.git import Repository

Rows = list[dict[str, Any]]
SERIES: Rows = [
    {"test": "a", "measurement": "p50", "args": '{"n": 8}', "direction": -1},
    {"test": "b", "measurement": "", "args": "{}", "direction": 0},
]
POINTS: Rows = [
    {"series": 0, "order": 1, "commit": "c1", "value": 1.5},
    {"series": 0, "order": 2, "commit": "c2", "value": 2.5},
    {"series": 1, "order": 2, "commit": "c2", "value": 7.0},
]
CANDIDATES: Rows = [{"series": 0, "order": 2, "commit": "c2", "verdict": "true_positive"}]


def as_csv(rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: Rows) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), content)
    return content.getvalue()


def as_json(rows: Rows) -> bytes:
    return json.dumps(rows).encode()


def as_lines(rows: Rows) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


KINDS: dict[str, Callable[[Rows], bytes]] = {
    ".csv": as_csv,
    ".json": as_json,
    ".ndjson": as_lines,
    ".jsonl": as_lines,
    ".parquet": as_parquet,
    ".csv.gz": lambda rows: gzip.compress(as_csv(rows), 1),
}


def read(
    folder: Path,
    series: Rows = SERIES,
    points: Rows = POINTS,
    candidates: Rows = CANDIDATES,
    ending: str = ".json",
) -> FilesRead:
    """Write a folder and read it; half of the rows may be unusable."""
    tables = {"series": series, "points": points, "candidates": candidates}
    for name, rows in tables.items():
        if rows:
            (folder / f"{name}{ending}").write_bytes(KINDS[ending](rows))
    return read_files([folder], ReadOptions(max_skipped_share=0.5), Repository("/"), RunContext())


def skips(files: FilesRead) -> list[tuple[str, str, int]]:
    """Return the kind, the reason and the first row of what was skipped."""
    return [
        (kind, reason, examples[0].place.document)
        for (kind, reason), examples in files.report.examples.items()
    ]


@pytest.mark.parametrize("ending", KINDS)
def test_tables_of_a_kind_are_one_history(tmp_path: Path, ending: str) -> None:
    loaded = read(tmp_path, ending=ending)
    assert [row.values.tolist() for row in loaded.history] == [[1.5, 2.5], [7.0]]
    assert list(map(str, loaded.history.ids)) == ["a/p50 n=8", "b"]
    assert loaded.history.directions.tolist() == [-1, 0]
    assert list(loaded.history.commits) == ["c1", "c2", "c2"]
    assert loaded.history.candidates.verdict.tolist() == ["true_positive"]
    assert skips(loaded) == []


def test_folder_needs_no_candidates(tmp_path: Path) -> None:
    loaded = read(tmp_path, candidates=[])
    assert (loaded.history.values.size, len(loaded.history.candidates.index)) == (3, 0)


def test_folder_is_recognised_by_its_tables(tmp_path: Path) -> None:
    assert not matches(InputFile("t", tmp_path, None))
    (tmp_path / "series.csv").write_bytes(b"")
    assert not matches(InputFile("t", tmp_path, None))
    (tmp_path / "points.parquet").write_bytes(b"")
    assert matches(InputFile("t", tmp_path, None))


def test_two_files_of_one_table_are_refused(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_bytes(as_csv(POINTS))
    with pytest.raises(DataError, match="there must be one of them"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"series": [{"name": "a"}]}, r"series.json: misses the columns \['test'\]"),
        ({"points": [{"series": 0, "value": 1}]}, r"misses the columns \['order'\]; has"),
        ({"candidates": [{"series": 0}]}, r"misses the columns \['order', 'verdict'\]"),
    ],
)
def test_table_without_a_needed_column_is_refused(
    tmp_path: Path, tables: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, **tables)


@pytest.mark.parametrize(
    ("table", "changes", "reason"),
    [
        ("points", {"series": 9}, "no such series"),
        ("points", {"series": -1}, "no such series"),
        ("points", {"order": "x"}, "order is not a whole number"),
        ("points", {"value": None}, "value is missing"),
        ("points", {"results": "[1]"}, "not a JSON object of the value of each run"),
        ("candidates", {"series": 9}, "no such series"),
        ("candidates", {"order": None, "commit": ""}, "neither order nor commit"),
        ("candidates", {"verdict": "maybe"}, "unknown label"),
    ],
)
def test_row_that_cannot_be_used_is_skipped_with_its_line(
    tmp_path: Path, table: str, changes: dict[str, Any], reason: str
) -> None:
    first, *others = POINTS if table == "points" else CANDIDATES
    changed: Any = {"candidates": [], table: [first | changes, *others]}
    [(kind, actual, line)] = skips(read(tmp_path, ending=".csv", **changed))
    assert (kind, actual.partition(";")[0], line) == (table, reason, 2)


def test_points_of_a_skipped_series_are_skipped_too(tmp_path: Path) -> None:
    loaded = read(tmp_path, series=[SERIES[0], SERIES[1] | {"args": "[]"}])
    assert [reason for _, reason, _ in skips(loaded)] == [
        "args is not a JSON object",
        "its series was skipped",
    ]
    assert loaded.history.values.tolist() == [1.5, 2.5]


def test_results_of_a_point_are_its_runs(tmp_path: Path) -> None:
    first = POINTS[0] | {"results": '{"r1": 1, "r2": 2, "r3": 6}'}
    answer = read(tmp_path, points=[first, *POINTS[1:]], ending=".ndjson")
    assert answer.history.values.tolist() == [2, 2.5, 7]
    assert answer.history.run_counts(0).tolist() == [3, 1]
    assert answer.history.runs_of(0) == {0: {"r1": 1, "r2": 2, "r3": 6}}


def test_verdict_without_an_order_is_placed_by_its_commit(tmp_path: Path) -> None:
    loaded = read(tmp_path, candidates=[CANDIDATES[0] | {"order": None}])
    assert loaded.history.candidates.orders.tolist() == [2]

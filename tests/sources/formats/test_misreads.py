"""Numbers that are no results are not read as results, and results are not left out."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files


def read(path: Path) -> FilesRead:
    return read_files([path], context=RunContext())


def read_text(folder: Path, name: str, content: object) -> FilesRead:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    return read(folder / name)


def values(files: FilesRead) -> dict[str, list[float]]:
    return {str(series.id): [*map(float, series.values)] for series in files.history}


@pytest.mark.parametrize(
    "document",
    [
        {"version": "3.0.6", "month": 4, "suites": [{"name": "a", "p50": 5.0}]},
        {"commit": "a1", "day": 7, "run": {"cases": [{"name": "a", "mean": 5.0}]}},
        [{"version": "3.0.6", "month": 4, "suites": [{"name": "a", "p50": 5.0}]}],
        {"version": "3.0.6", "month": 4, "tasks": {"a": {"latency": 5.0}}},
        {"version": "3.0.6", "metadata": {"rng-seed": 7}},
        {"version": "3.0.6", "Context": {"cpus": 8}, "machine_info": {"mhz": 2400}},
    ],
)
def test_no_number_around_results_becomes_a_result(tmp_path: Path, document: object) -> None:
    with pytest.raises(DataError, match=r"no column of values|of no known format"):
        read_text(tmp_path, "out.json", document)


def test_metadata_beside_results_is_left_out(tmp_path: Path) -> None:
    rows = [{"commit": f"c{k}", "p50": k, "metadata": {"seed": 7, "os": "x"}} for k in range(3)]
    for name, content in (("a.json", rows), ("a.ndjson", "\n".join(map(json.dumps, rows)))):
        files = read_text(tmp_path, name, content)
        assert values(files) == {"a/p50": [0, 1, 2]}
        assert "columns ignored: metadata.seed, metadata.os;" in files.notes[0]


def test_object_without_lists_of_objects_is_a_row(tmp_path: Path) -> None:
    content = {"commit": "a1", "latency": {"p50": 5, "p99": 9}, "tags": ["x"]}
    files = read_text(tmp_path, "out.json", content)
    assert values(files) == {"out/latency.p50": [5], "out/latency.p99": [9]}


def test_index_of_pandas_is_no_measurement(tmp_path: Path) -> None:
    frame = pd.DataFrame({"commit": [f"c{k}" for k in range(9)], "p50": range(9)})
    frame[frame["p50"].isin([0, 1, 4, 6])].to_parquet(tmp_path / "runs.parquet")
    assert values(read(tmp_path / "runs.parquet")) == {"runs/p50": [0, 1, 4, 6]}


@pytest.mark.parametrize("width", [2, 20])
@pytest.mark.parametrize("quote", ["", '"'])
def test_columns_that_begin_late_are_read(tmp_path: Path, width: int, quote: str) -> None:
    more = [f"m{k}" for k in range(width)]
    lines = [",".join([f"{quote}commit{quote}", *more, "late", "later", "never", "note"])]
    for k in range(200):
        cells = [str(k) for k in range(width)]
        late, later = k if k >= 100 else "", "NaN" if k < 150 else k
        lines.append(",".join([f"c{k}", *cells, str(late), str(later), "", "x" * (k > 120)]))
    files = read_text(tmp_path, "wide.csv", "\n".join(lines))
    assert len(files.history) == width + 2
    assert values(files)["wide/late"] == list(range(100, 200))
    assert values(files)["wide/later"] == list(range(150, 200))
    assert [note for note in files.notes if "ignored" in note] == [
        f"{tmp_path / 'wide.csv'}: columns ignored: note; --map COLUMN=FIELD reads one"
    ]


def test_columns_that_are_not_named_as_values_do_not_begin_late(
    tmp_path: Path,
) -> None:
    rows = [f"c{k},{k},{k if k > 20 else ''}" for k in range(40)]
    (tmp_path / "wide.csv").write_text("\n".join(["commit,a,b", *rows]))
    options = ReadOptions(value_columns=("a",))
    files = read_files([tmp_path / "wide.csv"], options, context=RunContext())
    assert list(values(files)) == ["wide/a"]


def test_unit_of_data_js_ends_at_the_tab(tmp_path: Path) -> None:
    units = ["ns/op", "ns/op\t   15342 B/op\t     221 allocs/op"]
    benches = [
        {"name": "BenchmarkSort", "value": 5 + k, "unit": unit} for k, unit in enumerate(units)
    ]
    entries = [
        {"commit": {"id": f"c{k}"}, "date": 1700000000000 + k, "tool": "go", "benches": [bench]}
        for k, bench in enumerate(benches)
    ]
    data = json.dumps({"lastUpdate": 1, "repoUrl": "", "entries": {"suite": entries}})
    files = read_text(tmp_path, "data.js", f"window.BENCHMARK_DATA = {data}")
    assert values(files) == {"suite: BenchmarkSort": [5, 6]}
    assert files.history.units == ["ns/op"]
    assert not files.report.skipped["points"]


@pytest.mark.parametrize("first", ["[]", "[ ]\n[]"])
def test_lines_that_begin_with_an_empty_list_are_read(tmp_path: Path, first: str) -> None:
    rows = [json.dumps({"commit": f"c{k}", "p50": k}) for k in range(3)]
    files = read_text(tmp_path, "runs.jsonl", "\n".join([first, *rows]))
    assert values(files) == {"runs/p50": [0, 1, 2]}
    runs = [json.dumps({"timestamp": k, "metrics": [{"name": "a", "value": k}]}) for k in (1, 2)]
    files = read_text(tmp_path, "nyrkio.jsonl", "\n".join([first, *runs]))
    assert values(files) == {"-/a": [1, 2]}
    assert not files.report.skipped["points"]


@pytest.mark.parametrize("name", ["README.md", "README", "LICENSE", "readme.txt", "notes.rst"])
def test_texts_for_people_in_a_folder_are_left_out(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# Results\n\nMeasured at night.\n")
    (tmp_path / "runs.csv").write_text("commit,value\na1,5\nb2,6\n")
    assert values(read(tmp_path)) == {"runs": [5, 6]}


CATCH2 = {
    "version": 1,
    "metadata": {"name": "bench", "rng-seed": 2066320506, "catch2-version": "3.5.2"},
    "test-cases": [{"name": "Trees", "tags": [], "filename": "tree.cpp", "line": 4}],
}


def test_json_of_catch2_is_refused_as_it_has_no_benchmarks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Catch2's JSON reporter prints; .* --reporter xml"):
        read_text(tmp_path, "out.json", CATCH2)

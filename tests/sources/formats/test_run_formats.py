"""What the formats of single runs do beyond their samples."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from barograph.results.series import Direction
from barograph.runtime.errors import DataError
from barograph.sources.formats import (
    benchmarkdotnet,
    catch2,
    go_bench,
    google_benchmark,
    jmh,
    k6,
    locust,
    pytest_benchmark,
    rust,
    vitest,
)
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.read import read_files
from barograph.sources.report import Skip
from tests.sources.formats.samples import SAMPLES


def read(form: Format, content: str | list[Any] | dict[str, Any]) -> list[Result | Skip]:
    text = content if isinstance(content, str) else json.dumps(content)
    entries = list(form.read(InputFile("out", Path("out"), text.encode())))
    return [entry for entry in entries if isinstance(entry, (Result, Skip))]


def results(form: Format, content: str | list[Any] | dict[str, Any]) -> list[Result]:
    loaded = read(form, content)
    assert all(isinstance(entry, Result) for entry in loaded)
    return [entry for entry in loaded if isinstance(entry, Result)]


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


def test_k6_reads_lines_of_any_length() -> None:
    tags = {"url": "x" * (1 << 20)}
    metric = {"type": "Metric", "metric": "iters", "data": {"type": "trend"}}
    point = {"type": "Point", "metric": "iters", "data": {"value": 3, "tags": tags}}
    point["data"]["time"] = "2026-01-01T00:00:00Z"  # type: ignore[index]
    lines = "\n".join(map(json.dumps, (metric, point)))
    assert [result.value for result in results(k6.FORMAT, lines)] == [3.0, 3.0]


def test_line_in_an_error_counts_blank_lines_and_lines_in_cells() -> None:
    header = "Type,Name,Request Count,Failure Count,Median Response Time,95%,Requests/s,Failures/s"
    rows = ["", "", header, '"GET","/a', 'b",5,0,12,30,1.5,0', "GET,/c,5,0,fast,30,1.5,0"]
    loaded = read(locust.FORMAT, "\n".join(rows))
    assert [entry.value for entry in loaded if isinstance(entry, Result)] == [12, 30, 1.5, 0]
    [skip] = [entry for entry in loaded if isinstance(entry, Skip)]
    assert (skip.field, skip.value) == ("line 6.Median Response Time", "fast")


def test_csv_of_benchmarkdotnet_in_another_culture() -> None:
    content = (
        "Method;Job;Runtime;WarmupCount;N;Mean;Error;Allocated\r\n"
        "Graft;ShortRun;.NET 8.0;3;10;1.234,5 \u03bcs;1,0 \u03bcs;1,5 KB\r\n"
        "Prune;ShortRun;.NET 8.0;3;10;3;1;-\r\n"
        "Sow;ShortRun;.NET 8.0;3;10;5 MB;1;-\r\n"
    )
    graft, allocated, prune, skip = read(benchmarkdotnet.FORMAT, content)
    assert isinstance(graft, Result)
    assert isinstance(allocated, Result)
    assert isinstance(prune, Result)
    assert isinstance(skip, Skip)
    assert str(graft.series) == "-/ShortRun/-/Graft/mean N=10"
    assert graft.value == pytest.approx(1_234_500)
    assert graft.unit == "ns"
    assert (allocated.value, allocated.unit) == (1536, "B")
    assert prune.value == 3
    assert (skip.field, skip.reason) == ("line 4.Mean", "is not a time")


def test_csv_of_benchmarkdotnet_has_one_decimal_sign() -> None:
    content = (
        "Method;Job;WarmupCount;Mean;Error;Allocated\n"
        "Graft;ShortRun;3;1,234 us;0,01 us;-\nPrune;ShortRun;3;12,34 us;0,02 us;-\n"
    )
    assert [result.value for result in results(benchmarkdotnet.FORMAT, content)] == pytest.approx(
        [1_234, 12_340]
    )


def test_catch2_refuses_declarations_of_entities() -> None:
    lines = [f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 20)]
    document = (
        f"<!DOCTYPE a [<!ENTITY e0 'x'>{''.join(lines)}]><Catch2TestRun>&e19;</Catch2TestRun>"
    )
    with pytest.raises(DataError, match="out: line 1: declarations are not allowed"):
        read(catch2.FORMAT, document)


def test_catch2_refuses_deep_nesting() -> None:
    with pytest.raises(DataError, match="nested too deeply"):
        read(catch2.FORMAT, "<Catch2TestRun>" + "<a>" * 10_000)


def test_catch2_reads_xml_that_states_another_encoding() -> None:
    document = (
        '<?xml version="1.0" encoding="ISO-8859-1"?><Catch2TestRun><TestCase name="T">'
        '<BenchmarkResults name="größe"><mean value="5"/></BenchmarkResults>'
        "</TestCase></Catch2TestRun>"
    )
    assert str(results(catch2.FORMAT, document)[0].series) == "T: größe/mean"


def test_jmh_reads_the_score_where_raw_data_are_missing() -> None:
    entry = sample("jmh/run.json")[2]
    del entry["primaryMetric"]["rawData"]
    [result] = results(jmh.FORMAT, [entry])
    assert (result.value, result.run) == (3.5, "")


def test_google_benchmark_of_an_old_version_is_read_by_names() -> None:
    entries = [
        {"name": f"BM_sort/8{suffix}", "real_time": value, "cpu_time": value, "time_unit": "ns"}
        for suffix, value in (("", 5.0), ("", 7.0), ("_mean", 6.0), ("_stddev", 1.0))
    ]
    actual = results(google_benchmark.FORMAT, {"context": {}, "benchmarks": entries[:2]})
    assert [result.value for result in actual if result.series.measurement == "real_time"] == [5, 7]
    actual = results(google_benchmark.FORMAT, {"context": {}, "benchmarks": entries[2:3]})
    assert {result.value for result in actual} == {6.0}


@pytest.mark.parametrize(
    ("context", "commit"),
    [({"git_sha": "c0ffee1"}, "c0ffee1"), ({"commit": "unknown"}, ""), ({}, "")],
)
def test_google_benchmark_reads_the_commit_of_the_context(
    context: dict[str, str], commit: str
) -> None:
    entry = {"name": "BM_sort", "real_time": 5.0, "time_unit": "ns"}
    actual = results(google_benchmark.FORMAT, {"context": context, "benchmarks": [entry]})
    assert [result.commit for result in actual] == [commit]


def test_go_reads_the_direction_that_a_unit_line_states() -> None:
    text = "Unit hits/op better=higher assume=exact\nBenchmarkGet-4 100 5.5 hits/op 3 waits/op\n"
    hits, waits = results(go_bench.FORMAT, text)
    assert (hits.direction, waits.direction) == (Direction.HIGHER_IS_BETTER, Direction.UNKNOWN)
    assert hits.series.args == (("GOMAXPROCS", "4"),)


def test_go_skips_a_line_whose_value_is_missing() -> None:
    [skip] = read(go_bench.FORMAT, "BenchmarkGet 100 NaN ns/op\n")
    assert isinstance(skip, Skip)
    assert (skip.field, skip.reason) == ("line 1", "is missing")


def test_points_of_k6_give_the_series_of_its_summary() -> None:
    points = (SAMPLES / "k6" / "points.json").read_text(encoding="utf-8")
    summary = results(k6.FORMAT, sample("k6/machine-readable.json"))
    assert {result.series for result in results(k6.FORMAT, points)} == {
        result.series for result in summary
    }


def test_two_versions_of_python_are_two_series_but_two_machines_are_not() -> None:
    document = sample("pytest-benchmark/run.json")
    names = []
    for node, version in (("a", "3.12.4"), ("b", "3.12.5"), ("b", "3.13.0")):
        document["machine_info"] |= {"node": node, "python_version": version}
        names.append(results(pytest_benchmark.FORMAT, document)[0].series)
    assert names[0] == names[1] != names[2]


def test_pytest_benchmark_names_parameters_without_text_by_the_id_of_the_test() -> None:
    document = sample("pytest-benchmark/run.json")
    document["benchmarks"][1]["params"] = {"tree": {"kind": "oak"}}
    assert results(pytest_benchmark.FORMAT, document)[1].series.args == (("param", "64-oak"),)


def test_vitest_leaves_out_the_folder_of_the_machine() -> None:
    document = sample("vitest/run.json")
    document["files"][0]["groups"][0]["fullName"] = "/home/a/bench/tree.bench.ts > grafting"
    actual = [entry for entry in read(vitest.FORMAT, document) if isinstance(entry, Result)]
    assert actual[0].series.task == "tree.bench.ts > grafting"


def test_criterion_folder_without_its_names_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "graft" / "new").mkdir(parents=True)
    (tmp_path / "graft" / "new" / "estimates.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"benchmark\.json: no such file"):
        list(rust.FORMAT.read(InputFile(str(tmp_path), tmp_path, None)))


@pytest.mark.parametrize("line", [" " * 3_900, "1 " * 1_900, "a time: [" * 400, "9" * 3_900])
@pytest.mark.parametrize("form", [catch2.FORMAT, rust.FORMAT, go_bench.FORMAT])
def test_long_lines_take_no_longer_than_short_ones(form: Format, line: str) -> None:
    started = time.process_time()
    assert not results(form, f"{line}\n" * 20)
    assert time.process_time() - started < 0.5


def test_run_with_failed_benchmarks_is_read() -> None:
    answer = read_files([SAMPLES / "hyperfine" / "run.json"], context=RunContext())
    assert len(answer.history) == 2
    assert answer.report.skipped_share("points") > 0.3


def test_run_in_which_every_benchmark_failed_names_the_first(tmp_path: Path) -> None:
    document = sample("hyperfine/run.json")
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document | {"results": document["results"][1:]}), encoding="utf-8")
    with pytest.raises(DataError, match="no results: the command failed"):
        read_files([path], context=RunContext())


def test_error_in_a_file_of_a_folder_names_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "steps"
    shutil.copytree(SAMPLES / "criterion" / "folder", folder)
    (folder / "graft" / "new" / "estimates.json").write_bytes(b'{"\xff')
    with pytest.raises(DataError, match=r"steps/graft/new/estimates\.json: not valid UTF-8"):
        read_files([folder], context=RunContext())


def test_name_of_a_file_that_is_too_long_is_an_error_of_the_file_that_names_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(SAMPLES / "otava" / "project", folder)
    for path in folder.rglob("*.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace("read.csv", "x" * 5_000 + ".csv"))
    with pytest.raises(DataError, match=r"project: tests\.local\.names\.file: is not an existing"):
        read_files([folder], context=RunContext())


@pytest.mark.parametrize(
    "text", [b'["\xed\xa0\x80", NaN]', '["\ud800", NaN]'.encode("utf-16-le", "surrogatepass")]
)
def test_bytes_of_lone_surrogates_are_not_valid_text(text: bytes) -> None:
    with pytest.raises(DataError, match=r"out: not valid UTF-(8|16-LE) at byte "):
        decode_json(text, "out")

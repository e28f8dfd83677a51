"""The formats of histories: directions, verdicts, old versions, and errors with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barograph.results.fields import FieldError
from barograph.results.repeats import Results
from barograph.results.series import UNKNOWN_TIME, Direction, Verdict
from barograph.runtime.errors import DataError
from barograph.sources.formats import (
    asv,
    github_action,
    perfherder,
    skia,
    tcpd,
)
from barograph.sources.formats.base import (
    InputFile,
    Judgement,
    ReadOptions,
    Result,
)
from barograph.sources.formats.content import project_of_url
from barograph.sources.formats.read import OTHER_DIRECTION, Collector, read_files
from barograph.sources.report import Skip
from tests.sources.formats.samples import SAMPLES, all_formats, results_of

FORMATS = all_formats()
Entry = Result | Results | Judgement | str | Skip
LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


def read(name: str, data: Any) -> list[Entry]:
    """Return what a format yields for data, which is written as JSON unless it is text."""
    content = data if isinstance(data, str) else json.dumps(data)
    return list(FORMATS[name].read(InputFile("file", None, content.encode())))


def read_folder(name: str, folder: Path) -> list[Entry]:
    return list(FORMATS[name].read(InputFile("folder", folder, None)))


BENCH = {"name": "b", "value": 1, "unit": "ms"}
ENTRY = {"commit": {"id": "c"}, "tool": "go", "benches": [BENCH]}
SUITE = {"entries": {"S": [ENTRY]}}
RUN = {"commit_hash": "c", "params": {"machine": "m"}, "requirements": {}, "results": {}}
ROWS = RUN | {"result_columns": ["result", "params"]}
SKIA = {"version": 1, "git_hash": "c", "results": []}
POST = {"commitid": "c", "benchmark": "b", "result_value": 1}
SIGNED = {"id": 1, "signature_hash": "h", "suite": "s"}
ALERT = {"id": 5, "status": 4, "series_signature": SIGNED}


@pytest.mark.parametrize(
    ("name", "data", "field"),
    [
        ("github-action-benchmark", [], "(file)"),
        ("github-action-benchmark", {"entries": []}, "entries"),
        ("github-action-benchmark", {"entries": {"S": {}}}, "entries.S"),
        ("github-action-benchmark", {"entries": {"S": [3]}}, "entries.S[0]"),
        (
            "github-action-benchmark",
            {"entries": {"S": [ENTRY | {"benches": [BENCH | {"value": True}]}]}},
            "entries.S[0].benches[0].value",
        ),
        (
            "github-action-benchmark",
            {"entries": {"S": [ENTRY | {"benches": [BENCH | {"name": None}]}]}},
            "entries.S[0].benches[0].name",
        ),
        (
            "github-action-benchmark",
            {"entries": {"S": [ENTRY | {"commit": {"timestamp": "now"}}]}},
            "entries.S[0].commit.timestamp",
        ),
        ("asv", RUN | {"results": {"t": {"result": ["x"]}}}, "results.t[0]"),
        ("asv", ROWS | {"results": {"t": {"result": 1}}}, "results.t"),
        ("asv", ROWS | {"results": {"t": [[1], [1]]}}, "results.t.params[0]"),
        ("asv", ROWS | {"results": {"t": [[1], [[{}]]]}}, "results.t.params[0][0]"),
        ("asv", ROWS | {"date": {}}, "date"),
        ("bencher", {"b": {"m": {"value": "1"}}}, "b.m.value"),
        ("bencher", {"b": 1}, "b"),
        ("codespeed", [POST | {"result_value": []}], "[0].result_value"),
        ("codespeed", [POST | {"benchmark": {}}], "[0].benchmark"),
        ("codespeed", [POST | {"benchmark": None}], "[0].benchmark"),
        ("codespeed", [POST | {"lessisbetter": "maybe"}], "[0].lessisbetter"),
        ("codespeed", [POST | {"revision_date": 10**30}], "[0].revision_date"),
        ("graphite", [{"target": "a", "datapoints": [[1, 2, 3]]}], "[0].datapoints[0]"),
        ("graphite", [{"target": "a", "datapoints": [["1", 2]]}], "[0].datapoints[0][0]"),
        ("graphite", {"error": "no"}, "(file)"),
        ("metric-records", [{"metrics": 3}], "[0].metrics"),
        ("metric-records", [{"metrics": {}, "time": "soon"}], "[0].time"),
        ("metric-records", [{"metrics": {"a": {"value": 1, "unit": 2}}}], "[0].metrics.a.unit"),
        (
            "metric-records",
            [{"metrics": {"a": {"value": 1, "direction": "left"}}}],
            "[0].metrics.a.direction",
        ),
        ("metric-records", '{"metrics": {}}\n{"metrics": 1}\n', "line 2.metrics"),
        ("nyrkio", [{"metrics": {"a": 1}}], "[0].metrics"),
        ("nyrkio", [{"metrics": [{"name": "a", "value": "1"}]}], "[0].metrics[0].value"),
        (
            "nyrkio",
            [{"metrics": [{"name": "a", "value": 1, "direction": 2}]}],
            "[0].metrics[0].direction",
        ),
        ("perfherder", [{"alerts": [ALERT | {"status": 9}]}], "[0].alerts[0].status"),
        ("perfherder", [{"alerts": [ALERT | {"status": "invalid"}]}], "[0].alerts[0].status"),
        ("perfherder", [{"alerts": [{}]}], "[0].alerts[0].series_signature"),
        ("perfherder", {"h": [{"signature_id": 1, "value": "x"}]}, "h[0].value"),
        ("perfherder-log", {"suites": {}}, "suites"),
        ("perfherder-log", "PERFHERDER_DATA: {\"suites\": [{}]}", "line 1: suites[0].name"),
        ("skia", SKIA | {"version": 2}, "version"),
        ("skia", SKIA | {"results": [{"measurement": [1]}]}, "results[0].measurement"),
        ("skia", SKIA | {"results": [{"key": {"test": {}}, "measurement": 1}]},
         "results[0].measurement.key.test"),
        ("tcpd", {"name": 1}, "name"),
        ("tcpd", {"name": "a", "series": [{"raw": ["1"]}]}, "series[0].raw[0]"),
        ("tcpd", {"name": "a", "series": [], "annotations": {"u": [1.5]}}, "annotations.u[0]"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_by_its_place(name: str, data: Any, field: str) -> None:
    with pytest.raises(FieldError) as raised:
        read(name, data)
    assert raised.value.field == field


def test_every_result_of_another_direction_is_counted() -> None:
    metric = {"name": "a", "value": 1, "direction": "lower_is_better"}
    other = metric | {"direction": "higher_is_better"}
    runs = [{"timestamp": i, "metrics": [way]} for i, way in enumerate([metric, other, other])]
    collector = Collector(ReadOptions(), "x")
    collector.add(InputFile("x", None, json.dumps(runs).encode()), FORMATS["nyrkio"])
    assert collector.report.corrected[OTHER_DIRECTION] == 2


def test_codespeed_keeps_the_name_of_a_project_and_takes_the_first_known_date() -> None:
    dates = {"revision_date": "", "result_date": "2026-01-31 09:00:00"}
    [result] = read("codespeed", [POST | {"project": "acme/parser", "branch": "None"} | dates])
    assert isinstance(result, Result)
    assert (result.series.project, result.branch) == ("acme/parser", "None")
    assert result.time == 1769850000000


@pytest.mark.parametrize("repository", ["git@git.example:parser.git", "https://git.example/parser"])
def test_nyrkio_names_the_project_without_the_host(repository: str) -> None:
    metric = {"name": "m", "value": 1}
    [result] = read("nyrkio", [{"metrics": [metric], "attributes": {"git_repo": repository}}])
    assert isinstance(result, Result)
    assert result.series.project == "parser"


@pytest.mark.parametrize("options", ["e10s fission", ["e10s", "fission"]])
def test_perfherder_reads_options_in_one_text(options: object) -> None:
    signature = SIGNED | {"extra_options": options}
    signed = {"1": signature, "h": [{"signature_id": 1, "value": 2, "signature_hash": "h"}]}
    [result] = read("perfherder", signed)
    assert isinstance(result, Result)
    assert result.series.args == (("options", "e10s fission"),)


def test_a_value_that_a_scale_makes_infinite_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("time,a\n2026-01-01,1e300\n")
    config = "tests: {t: {type: csv, file: data.csv, metrics: {a: {scale: 1.0e+300}}}}"
    file = InputFile("otava.yaml", tmp_path / "otava.yaml", config.encode())
    with pytest.raises(DataError, match=r"otava.yaml: a value is not finite"):
        Collector(ReadOptions(), "x").add(file, FORMATS["otava"])


@pytest.mark.parametrize(
    ("tool", "unit", "direction"),
    [
        ("pytest", "iter/sec", HIGHER),
        ("benchmarkjs", "ops/sec", HIGHER),
        ("go", "ns/op", LOWER),
        ("go", "MB/s", HIGHER),
        ("go", "allocs/op", LOWER),
        ("jmh", "ops/ms", LOWER),
        ("cargo", "ns/iter", LOWER),
        ("googlecpp", "ns/iter", LOWER),
        ("catch2", "ms", LOWER),
        ("julia", "ns", LOWER),
        ("benchmarkluau", "", LOWER),
        ("benchmarkdotnet", "ns", LOWER),
        ("customBiggerIsBetter", "ms", HIGHER),
        ("customSmallerIsBetter", "ops/s", LOWER),
        ("", "ms", Direction.UNKNOWN),
    ],
)
def test_direction_of_the_action_follows_tool_and_unit(
    tool: str, unit: str, direction: Direction
) -> None:
    assert github_action.direction_of(tool, unit) == direction


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/parser",
        "https://github.com/acme/parser.git",
        "git@github.com:acme/parser.git",
        "ssh://git@host.example:2222/acme/parser/",
        "https://user:token@github.com/acme/parser",
    ],
)
def test_project_is_the_path_of_the_repository(url: str) -> None:
    assert project_of_url(url) == "acme/parser"


def test_asv_reads_the_results_of_a_project_folder(tmp_path: Path) -> None:
    (tmp_path / ".asv").symlink_to(SAMPLES / "asv", target_is_directory=True)
    assert asv.matches(InputFile("t", tmp_path, None))
    assert read_folder("asv", tmp_path)


def test_asv_reads_the_folder_of_a_machine_without_the_facts_about_it() -> None:
    for name in ("bench2", "bench2/*.json"):
        series = read_files([SAMPLES / "asv/results" / name]).history.ids
        assert {each.variant.partition("/")[0] for each in series} == {"bench2"}


def test_asv_leaves_out_a_broken_file_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "machine.json").write_text("{}")
    (tmp_path / "m" / "a.json").write_text("{")
    (tmp_path / "m" / "b.json").write_text(json.dumps(RUN | {"results": {"time_x": 2.5}}))
    skip, batch = read_folder("asv", tmp_path)
    assert isinstance(skip, Skip)
    assert (skip.field, skip.reason) == ("m/a.json", "file cannot be read")
    (result,) = results_of([batch])
    assert (result.value, result.series.variant) == (2.5, "m")


def test_asv_keeps_quotes_that_distinguish_parameters() -> None:
    data = ROWS | {"results": {"t": [[1, 2], [["1", "'1'"]]]}}
    args = [result.series.args for result in results_of(read("asv", data))]
    assert args == [(("param1", "1"),), (("param1", "'1'"),)]


def test_asv_reads_no_more_combinations_than_results() -> None:
    many = [[str(i) for i in range(1000)]] * 6
    entries = read("asv", ROWS | {"results": {"t": [[1, 2], many]}})
    assert len(results_of(entries)) == 2


@pytest.mark.parametrize(
    ("status", "overall", "verdict"),
    [
        (0, 0, Verdict.NOT_TRIAGED),
        (None, 5, Verdict.UNDER_INVESTIGATION),
        (0, 3, Verdict.FALSE_POSITIVE),
        (1, 1, Verdict.TRUE_POSITIVE),
        (2, 7, Verdict.TRUE_POSITIVE),
        (3, 7, Verdict.FALSE_POSITIVE),
        (4, 6, Verdict.TRUE_POSITIVE),
    ],
)
def test_status_of_an_alert_is_a_verdict(status: Any, overall: int, verdict: Verdict) -> None:
    summary = {"id": 1, "revision": "r", "push_timestamp": 5, "status": overall}
    (judgement,) = read("perfherder", summary | {"alerts": [ALERT | {"status": status}]})
    assert isinstance(judgement, Judgement)
    assert (judgement.verdict, judgement.commit, judgement.time) == (verdict, "r", 5000)


def test_perfherder_without_data_and_alerts_is_an_error() -> None:
    with pytest.raises(DataError, match="neither performance data nor alerts"):
        read("perfherder", {"77": SIGNED})


def test_higher_is_better_only_where_perfherder_says_it() -> None:
    points = [{"signature_id": i, "value": 1, "revision": "r"} for i in (1, 2, 3)]
    about = {"1": SIGNED, "2": SIGNED | {"id": 2, "lower_is_better": False}}
    entries = read("perfherder", {"signatures": about, "data": {"x": points}})
    directions = [result.direction for result in results_of(entries)]
    assert directions == [LOWER, HIGHER, Direction.UNKNOWN]


def test_the_end_of_a_long_log_is_searched(tmp_path: Path) -> None:
    log = tmp_path / "live.log"
    log.write_text("INFO - nothing\n" * 10_000 + 'PERFHERDER_DATA: {"suites": []}\n')
    assert perfherder.matches_log(InputFile("log", log, log.read_bytes()))
    log.write_text("INFO - nothing\n" * 10_000)
    assert not perfherder.matches_log(InputFile("log", log, log.read_bytes()))


def test_a_log_with_a_cut_line_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match="file line 2: not valid JSON"):
        read("perfherder-log", 'x\nPERFHERDER_DATA: {"suites": [}\n')
    with pytest.raises(DataError, match="no JSON object"):
        read("perfherder-log", "PERFHERDER_DATA: none\n")


def test_folders_that_are_no_date_say_nothing_about_the_time_of_skia_results(
    tmp_path: Path,
) -> None:
    inner = tmp_path / "2026" / "02" / "30" / "10"
    inner.mkdir(parents=True)
    run = SKIA | {"results": [{"key": {"test": "t"}, "measurement": 1}]}
    (inner / "a.json").write_text(json.dumps(run))
    (result,) = results_of(read_folder("skia", tmp_path))
    assert result.time == UNKNOWN_TIME


def test_a_folder_of_other_json_is_of_no_format(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    sample = InputFile("t", tmp_path, None)
    assert not any(module.matches(sample) for module in (asv, perfherder, skia, tcpd))


def test_a_mark_outside_the_observations_is_no_verdict() -> None:
    data = {"name": "a", "series": [{"raw": [1, 2]}], "annotations": {"u": [0, 40]}}
    assert not [entry for entry in read("tcpd", data) if isinstance(entry, Judgement)]


def test_annotations_of_the_folder_above_are_found_for_one_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "a.json"
    path.write_text(json.dumps({"name": "a", "series": [{"raw": [1, 1, 9, 9]}]}))
    (tmp_path / "annotations.json").write_text('{"a": {"u": [2]}}')
    entries = tcpd.read(InputFile("a.json", path, path.read_bytes()))
    assert [entry.position for entry in entries if isinstance(entry, Judgement)] == [2]

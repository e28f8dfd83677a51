"""`barograph append` on the command line, and the whole loop: append results, gate the history."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import code

SAMPLES = Path(__file__).parent.parent / "sources" / "formats" / "samples"
COMMITS = 40
STEP = 37  # index of the first slower commit


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_SHA", "GITHUB_REF_NAME", "GITHUB_HEAD_REF", "GITHUB_BASE_REF"):
        monkeypatch.delenv(name, raising=False)


def benchmark(folder: Path, index: int, seconds: float) -> Path:
    """Write the JSON of pytest-benchmark for one commit."""
    text = (SAMPLES / "pytest-benchmark" / "run.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    day = f"2026-03-{1 + index // 2:02}T{8 + index % 2:02}:00:00+00:00"
    document["commit_info"] |= {"id": f"{index:040x}", "time": day}
    document["benchmarks"] = document["benchmarks"][:1]
    document["benchmarks"][0]["stats"]["median"] = seconds
    path = folder / f"out{index}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_forty_appends_and_a_gate_find_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history, noise = tmp_path / "history.csv", np.random.default_rng(3)
    for index in range(COMMITS):
        level = 0.0126 if index < STEP else 0.0151
        result = benchmark(tmp_path, index, level * float(1 + 0.01 * noise.standard_normal()))
        assert code("append", str(history), str(result)) == 0
    assert len(history.read_text(encoding="utf-8").splitlines()) == COMMITS + 1
    capsys.readouterr()
    left = code("gate", str(history), "--newest", "3", "--format", "json")
    answer = json.loads(capsys.readouterr().out)
    assert left == 2
    [regression] = answer["regressions"]
    assert regression["begins_commit"] == f"{STEP:040x}"
    assert regression["percent"] == pytest.approx(20, abs=3)


def test_gate_judges_the_branch_of_the_ci_job_after_the_base_branch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history, noise = tmp_path / "history.csv", np.random.default_rng(1)
    rows = [
        f"{k},c{k},{'main' if k < 40 else 'feature'},sort,lower,{level * (1 + 0.01 * draw):.4f}"
        for k, level, draw in zip(
            range(43), [10.0] * 40 + [14.0] * 3, noise.standard_normal(43), strict=True
        )
    ]
    header = "order,commit,branch,test,direction,value"
    history.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    assert code("gate", str(history), "--newest", "3") == 0
    monkeypatch.setenv("GITHUB_HEAD_REF", "feature")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    assert code("gate", str(history), "--newest", "3") == 2
    assert "worse" in capsys.readouterr().out


def test_append_prints_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history, result = tmp_path / "history.csv", benchmark(tmp_path, 7, 0.0126)
    assert code("append", str(history), str(result)) == 0
    assert capsys.readouterr().out == f"{history}: 1 result of commit 000000000000\n"
    assert code("append", str(history), str(result), "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "history": str(history),
        "results": 1,
        "replaced": 1,
        "skipped": 0,
        "commits": [{"commit": f"{7:040x}", "order": 1}],
    }


def test_failed_benchmark_is_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history, result = tmp_path / "history.csv", SAMPLES / "hyperfine" / "run.json"
    assert code("append", str(history), str(result), "--commit", "a1") == 0
    assert ", 1 unusable result left out\n" in capsys.readouterr().out


@pytest.mark.parametrize("rows", ["sort,1\nscan,2\n", "sort,1\nsort,3\nscan,2\n"])
def test_table_of_a_single_run_gets_the_commit_that_options_name(tmp_path: Path, rows: str) -> None:
    history, results = tmp_path / "history.csv", tmp_path / "results.csv"
    results.write_text(f"test,value\n{rows}", encoding="utf-8")
    for commit in ("a1", "b2", "b2"):
        assert code("append", str(history), str(results), "--commit", commit) == 0
    expected = rows.count(",")
    with history.open(encoding="utf-8") as file:
        places = [(row["commit"], row["order"]) for row in csv.DictReader(file)]
    assert sorted(places) == [("a1", "1")] * expected + [("b2", "2")] * expected


def test_table_of_a_single_run_is_a_result_of_the_commit_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("test,value\nsort,1\nscan,2\n", encoding="utf-8")
    for number in range(7):
        monkeypatch.setenv("GITHUB_SHA", f"{number}" * 40)
        assert code("append", "history.csv", "run.csv") == 0
    assert code("gate", "history.csv") == 0
    capsys.readouterr()
    assert code("gate", "run.csv") == 3
    assert "a single run (tables); append runs to a history" in capsys.readouterr().err


def test_results_without_a_commit_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # no repository
    Path("results.csv").write_text("test,value\nsort,1\nscan,2\n", encoding="utf-8")
    assert code("append", "history.csv", "results.csv") == 0
    assert capsys.readouterr().out == "history.csv: 2 results without a commit\n"


def test_errors_name_the_history_as_it_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("history.csv").write_bytes(b"order,test,value\n1,f\xfcr,1\n")
    assert code("append", "history.csv", str(benchmark(tmp_path, 7, 0.0126))) == 1
    assert capsys.readouterr().err == "barograph: history.csv: not valid UTF-8 at byte 20\n"


@pytest.mark.parametrize("name", ["history.csv", "history.parquet"])
def test_rows_that_are_refused_are_named_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rows = [f"a{k},sort,{'fast' if k > 3 else k}\n" for k in range(9)]
    (tmp_path / "new.csv").write_text("commit,test,value\n" + "".join(rows), encoding="utf-8")
    assert code("append", str(tmp_path / name), str(tmp_path / "new.csv")) == 1
    out, err = capsys.readouterr()
    assert out.endswith("4 results of 4 commits (a0, a1, a2, ...), 5 unusable results left out\n")
    named = f"left out: {tmp_path / 'new.csv'}: line 6: value = 'fast': value is not a number\n"
    assert (named in err, err.count("left out: ")) == (True, 5)


def test_branch_machine_and_commit_come_from_options_and_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, result = tmp_path / "history.ndjson", SAMPLES / "hyperfine" / "run.json"
    monkeypatch.setenv("GITHUB_SHA", "8674f78")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    config = tmp_path / "barograph.toml"
    config.write_text('[input]\nmachine = "perf-box-3"\norder-by = "a column of histories"\n')
    options = ("--config", str(config), "append", str(history), str(result), "--run", "r1")
    assert code(*options) == 0
    [row, *_] = map(json.loads, history.read_text(encoding="utf-8").splitlines())
    actual = [row[name] for name in ("commit", "branch", "variant", "run", "direction")]
    assert actual == ["8674f78", "main", "perf-box-3", "r1", "lower"]


def test_unusable_output_is_one_error_and_no_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "out.json"
    bad.write_text('{"context": {"num_cpus": 2}, "benchmarks": 5}', encoding="utf-8")
    assert code("append", str(tmp_path / "history.csv"), str(bad)) == 1
    error = capsys.readouterr().err
    assert error == f"barograph: {bad}: benchmarks: is not an array (got 5)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize(
    ("job", "table", "expected"),
    [
        ("true", "", "EPYC"),
        ("false", "", None),
        ("true", '[append]\ncpu = "off"\n', None),
    ],
)
def test_cpu_of_a_ci_job_is_appended(
    job: str,
    table: str,
    expected: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cpuinfo").write_text("model name\t: EPYC\n", encoding="utf-8")
    Path("barograph.toml").write_text(table, encoding="utf-8")
    monkeypatch.setattr("barograph.sources.formats.context.CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setenv("CI", job)
    Path("run.csv").write_text("test,value\nsort,1\n", encoding="utf-8")
    assert code("append", "history.csv", "run.csv", "--commit", "a1") == 0
    with Path("history.csv").open(encoding="utf-8") as file:
        assert [row.get("cpu") for row in csv.DictReader(file)] == [expected]
    assert not capsys.readouterr().err
    Path("barograph.toml").write_text('[append]\ncpu = "on"\n', encoding="utf-8")
    assert code("append", "history.csv", "run.csv", "--commit", "a1") == 1
    assert "'on' is not one of 'auto', 'off'" in capsys.readouterr().err

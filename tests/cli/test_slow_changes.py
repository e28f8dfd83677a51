"""Drifts and changes of noise in what commands print and write."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from barograph.cli import group
from barograph.detection.slow import newly_found

LEVELS = re.compile(r'<script type="application/json" id="data">(.*?)</script>')


def run(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(group, words)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drift of 20 % over 100 results, a spread of three times, and a quiet series."""
    k, noise = np.arange(240), np.random.default_rng(3).normal(0.0, 1.0, (3, 240))
    noise[1, 180:] *= 3.0
    rises = {"up": 20.0 * np.clip((k - 120) / 100, 0.0, 1.0), "loud": 0.0 * k, "still": 0.0 * k}
    rows = ["test,order,commit,direction,value"]
    for (name, rise), line in zip(rises.items(), noise, strict=True):
        values = (100.0 + rise + line).tolist()
        rows += [f"{name},{o},c{o:07x},-1,{value!r}" for o, value in enumerate(values)]
    path = tmp_path_factory.mktemp("slow") / "results.csv"
    path.write_text("\n".join([*rows, ""]))
    return path


def test_text_of_detect_has_lines_of_both(table: Path) -> None:
    *rows, last = run("detect", str(table)).stdout.splitlines()
    [drift] = [row for row in rows if "drift, WORSE" in row]
    assert re.search(r"100(\.\d)? -> 1(19|20)\.?\d? +\+(19|20)\.\d %  over \d+ results", drift)
    [noise] = [row for row in rows if "noisier" in row]
    assert re.search(r"[23]\.?\d* times +standard deviations, over \d\d results so far$", noise)
    assert "; 1 series without a change; 1 drift; 1 noise change (" in last


def test_json_of_detect_has_lists_of_both(table: Path) -> None:
    answer = json.loads(run("detect", str(table), "--format", "json").stdout)
    assert (answer["summary"]["drifts"], answer["summary"]["noise_changes"]) == (1, 1)
    up, loud, still = sorted(
        answer["series"], key=lambda s: ("up", "loud", "still").index(s["series"])
    )
    [drift], [noise] = up["drifts"], loud["noise_changes"]
    assert abs(drift["begin"] - 120) <= 10
    assert abs(drift["end"] - 220) <= 20
    assert drift["commit"] == f"c{drift['order']:07x}"
    assert (drift["effect"], drift["percent"]) == ("worse", pytest.approx(20.0, abs=2.0))
    assert abs(noise["begin"] - 180) <= 10
    assert (noise["end"], noise["before"]) == (240, pytest.approx(1.0, rel=0.3))
    assert [*up["noise_changes"], *loud["drifts"], *still["drifts"], *still["noise_changes"]] == []


def test_changes_select_drifts_by_their_end_and_size(table: Path) -> None:
    def count(*options: str) -> int:
        answer = json.loads(run("detect", str(table), *options, "--format", "json").stdout)
        return int(answer["summary"]["drifts"])

    assert count("--since", f"c{190:07x}") == 1  # began before, and went on
    assert count("--since", f"c{235:07x}") == 0
    assert (count("--min-change", "15"), count("--min-change", "30")) == (1, 0)
    assert count("--detector", "hunter") == 0


def test_markdown_of_detect_has_rows_of_both(table: Path) -> None:
    rows = run("detect", str(table), "--format", "markdown").stdout
    assert re.search(
        r"\| up \(over \d+ results\) \| \+(19|20)\.\d % \| \*\*drift, worse\*\* \|", rows
    )
    assert re.search(r"times \| noisier \|", rows)


def test_report_has_rows_and_ranges_of_both(table: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    run("report", str(table), "--out", str(place))
    page = place.read_text()
    assert ">1 drift<" in page
    assert ">1 noise change<" in page
    assert page.count(">drift, worse</td>") == page.count(">noisier</td>") == 1
    found = LEVELS.search(page)
    assert found
    slow = [entry for series in json.loads(found[1])["series"] for entry in series["slow"]]
    assert sorted(kind for kind, *_ in slow) == ["drift", "noise"]
    assert all(0 < begin < end <= 240 for _, begin, end, *_ in slow)


def at_finding(table: Path, name: str, folder: Path, later: int = 0) -> Path:
    """Return the table as it is when a change of a series is found, or some results later."""
    head, *rows = table.read_text().splitlines()
    values = [float(row.rpartition(",")[2]) for row in rows if row.startswith(f"{name},")]
    sizes = (size for size in range(130, 240) if newly_found(np.array(values[:size]), 1))
    size = next(sizes) + later
    path = folder / f"{name}{size}.csv"
    path.write_text("\n".join([head, *(row for row in rows if int(row.split(",")[1]) < size), ""]))
    return path


@pytest.mark.parametrize(("name", "kind"), [("up", "drift"), ("loud", "noise")])
def test_gate_prints_a_change_once_and_passes(
    table: Path, tmp_path: Path, name: str, kind: str
) -> None:
    found = at_finding(table, name, tmp_path)
    [line, last] = run("gate", str(found)).stdout.splitlines()
    way = {"drift": "worse", "noise": "noisier"}[kind]
    begin = {"drift": 120, "noise": 180}[kind]
    match = re.match(rf"{kind} +{name}  \+\d+\.\d %  {way} +at c(\w{{7}})  ", line)
    assert match
    assert abs(int(match[1], 16) - begin) <= 12
    assert f", 1 {kind}" in last
    assert kind not in run("gate", str(at_finding(table, name, tmp_path, later=1))).stdout
    failed = run("gate", str(found), "--fail-on", "any", code=2).stdout
    assert failed.splitlines() == [line, last]


@pytest.mark.parametrize(("name", "kind"), [("up", "drifts"), ("loud", "noise_changes")])
def test_json_of_gate_has_lists_of_both(table: Path, tmp_path: Path, name: str, kind: str) -> None:
    found = at_finding(table, name, tmp_path)
    answer = json.loads(run("gate", str(found), "--format", "json").stdout)
    [change] = answer[kind]
    assert (change["series"], change["probability"]) == (name, None)
    assert change["percent"] > 0
    assert change["begins"] < change["order"]
    assert re.search(r"-> [\d.]+ over \d+ results$", change["reason"])
    assert [row["series"] for row in answer["series"]] == ["up", "loud", "still"]
    assert [len(answer[key]) for key in ("drifts", "noise_changes")].count(0) == 1


@pytest.mark.parametrize("output", ["markdown", "junit", "github", "csv"])
def test_formats_of_gate_have_a_drift(table: Path, tmp_path: Path, output: str) -> None:
    shown = run("gate", str(at_finding(table, "up", tmp_path)), "--format", output).stdout
    assert "drift" in shown
    assert "::error" not in shown


def test_informational_series_fail_no_job_with_a_drift(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = at_finding(table, "up", tmp_path)
    (tmp_path / "barograph.toml").write_text('[patterns]\ninformational = ["up"]\n')
    monkeypatch.chdir(tmp_path)
    shown = run("gate", found.name, "--fail-on", "any").stdout
    assert "suppressed: informational in the configuration" in shown

"""`report` writes the page of what `detect` finds."""

from pathlib import Path

import pytest

from tests.cli.test_commands import code, results
from tests.cli.test_gate import with_newest


def test_report_writes_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = results(tmp_path, 20, first=30)
    assert code("report", str(path), "--out", str(tmp_path / "a" / "page.html")) == 0
    assert "page.html: 1 change in 1 series (0.1 MB)" in capsys.readouterr().out
    page = (tmp_path / "a" / "page.html").read_text(encoding="utf-8")
    assert "1 change in 1 of 1 series" in page
    assert "The level rose by " in page
    assert "Found by triaged, scored by a model." in page


def test_report_to_the_standard_output_names_what_was_searched_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = results(tmp_path, 20, first=30)
    options = ("--detector", "hunter", "--min-change", "5")
    assert code("report", str(path), *options, "--out", "-") == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert "Found by hunter, of at least 5 %." in page


def test_report_lists_the_suspects_that_gate_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert code("gate", "docs/results.csv") == 0
    assert capsys.readouterr().out.startswith("suspect      db/insert/ops_per_sec  -8.5 %  worse")
    assert code("report", "docs/results.csv", "--out", "-") == 0
    page = capsys.readouterr().out
    assert "1 suspect" in page.split("<h1>")[1].split("</h1>")[0]
    section = page.split('<section id="suspects"')[1].split("</section>")[0]
    assert "db/insert/ops_per_sec</bdi>: <bdi>down 8.5 % (worse) at dc79d73" in section
    assert code("report", "docs/results.csv", "--detector", "hunter", "--out", "-") == 0
    assert '<section id="suspects"' not in capsys.readouterr().out


def test_report_lists_a_newest_commit_whose_runs_contradict_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_newest(tmp_path, 115.0, 105.0)
    assert code("gate", path) == 0
    line, summary = capsys.readouterr().out.splitlines()
    assert line.startswith("suspect      q  +4.9 %  worse  at c60  2 runs differ; ")
    assert summary.startswith("0 regressions, 1 suspect (1 does not fail the job), ")
    assert code("report", path, "--out", "-") == 0
    page = capsys.readouterr().out
    section = page.split('<section id="suspects"')[1].split("</section>")[0]
    assert "q</bdi>: <bdi>up 4.9 % (worse) at c60; 2 runs differ; " in section

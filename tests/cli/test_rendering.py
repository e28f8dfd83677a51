"""The formats of gate and score, with names that try to break out of them."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest

from barograph.cli import rendering
from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.rendering import FORMATS, render

HOSTILE = "a|b`c\n::error::x\r##[error]y\x01\ud800<b>&amp;@team *d* ]]>\x1b[31m,\"'"
WORSE = SeriesAnswer(
    series="db/insert",
    direction=-1,
    order=59,
    commit="0123456789abcdef0123456789abcdef01234567",
    answer="change",
    probability=0.98,
    percent=19.3,
    begins=57,
    begins_commit="c57",
)
SUSPECT = replace(
    WORSE,
    series="db/scan",
    answer="suspect",
    percent=12.0,
    begins=None,
    begins_commit="",
    reruns=1,
    reason="6.7 noise units beyond the last 20 results; none",
)
QUIET = replace(WORSE, series="db/quiet", answer="quiet", percent=0.0, begins=None)
JOB = JobAnswer(
    [WORSE, SUSPECT, QUIET, replace(WORSE, series="db/fast", percent=-30.0)],
    ["db/short"],
    ["db/new"],
    ["db/gone"],
)
TRICKY = JobAnswer(
    [replace(answer, series=f"{k}{HOSTILE}") for k, answer in enumerate(JOB.answers)],
    [f"short {HOSTILE}"],
    [f"new {HOSTILE}"],
    [f"gone {HOSTILE}"],
    notes=[HOSTILE],
)

SUSPECTS = JobAnswer(
    [
        replace(SUSPECT, series="db/large", percent=40.0),
        replace(SUSPECT, series="db/far", percent=30.0, is_certain=False),
        replace(WORSE, series="db/rare", is_certain=False),
        replace(SUSPECT, series="db/runs", percent=4.0, answer="quiet", reason="", runs=2),
    ]
)


def parsed(job: JobAnswer) -> ET.Element:
    return ET.fromstring(rendering.junit(job).encode())  # noqa: S314 - our own document


def lines_of(job: JobAnswer) -> list[str]:
    return [click.unstyle(line) for line in rendering.text_lines(job)]


def test_text_is_aligned_and_ends_with_a_summary() -> None:
    lines = lines_of(JOB)
    assert lines[0] == (
        "regression   db/insert  +19.3 %  worse   at c57       seen at 01234567; probability 0.98"
    )
    assert lines[1] == (
        "suspect      db/scan    +12.0 %  worse   at 01234567  "
        "6.7 noise units beyond the last 20 results; run this commit once more to settle it"
    )
    assert lines[2].startswith("improvement  db/fast    -30.0 %  better  at c57")
    assert lines[-1] == (
        "1 regression, 1 suspect (1 does not fail the job), 1 improvement; "
        "4 series judged, 1 too short to judge, 1 new, 1 without the newest commit"
    )


def test_text_states_why_an_answer_is_a_suspect_and_whether_it_fails_the_job() -> None:
    again = "run this commit once more to settle it"
    departs = "6.7 noise units beyond the last 20 results"
    rare = "not certain enough for the number of series"
    assert [re.split(" {2,}", line, maxsplit=4) for line in lines_of(SUSPECTS)[:-1]] == [
        [
            "suspect",
            "db/large",
            "+40.0 %",
            "worse",
            f"at 01234567  {departs}; {again}; fails the job",
        ],
        ["suspect", "db/far", "+30.0 %", "worse", f"at 01234567  {departs}; {rare}; {again}"],
        [
            "suspect",
            "db/rare",
            "+19.3 %",
            "worse",
            f"at c57       seen at 01234567; probability 0.98; {rare}",
        ],
        ["suspect", "db/runs", "+4.0 %", "worse", f"at 01234567  2 runs differ; {again}"],
    ]
    assert lines_of(SUSPECTS)[-1] == (
        "0 regressions, 4 suspects (3 do not fail the job), 0 improvements; 4 series judged"
    )
    strict = replace(SUSPECTS, policy=replace(SUSPECTS.policy, fail_on="suspect"))
    assert [line.endswith("; fails the job") for line in lines_of(strict)] == [
        *(True, True, True, False, False)
    ]
    assert lines_of(strict)[-1].startswith("0 regressions, 4 suspects (1 does not fail the job), ")


def test_every_format_prints_three_reasons_as_suspects() -> None:
    rows = [dict(zip(rendering.COLUMNS, row, strict=True)) for row in rendering.csv_rows(SUSPECTS)]
    assert [(row["kind"], row["fails"], row["suspect_reason"]) for row in rows] == [
        ("suspect", "yes", "newest"),
        ("suspect", "no", "newest"),
        ("suspect", "no", "budget"),
        ("suspect", "no", "reruns"),
    ]
    page = rendering.comment(SUSPECTS)
    assert re.findall(r"^\| (\**suspect\**) \|", page, re.MULTILINE) == [
        "**suspect**",
        *["suspect"] * 3,
    ]
    assert "<details>" not in page
    texts = [case.findtext("system-out") for case in parsed(SUSPECTS).iter("testcase")]
    assert [(text or "suspect: failed").split(":")[0] for text in texts] == ["suspect"] * 4
    [failure] = parsed(SUSPECTS).iter("failure")
    assert (failure.get("message") or "").startswith("suspect: up 40.0 % (worse)")
    commands = rendering.workflow_commands(SUSPECTS)
    assert [line.split("%3A")[0] for line in commands] == [
        "::error title=suspect",
        *["::warning title=suspect"] * 3,
    ]


def test_text_lists_a_new_series_once_although_it_is_too_short() -> None:
    assert lines_of(JobAnswer([], ["db/a", "db/b"], ["db/b"])) == [
        "too short    db/a",
        "new          db/b",
        "0 regressions, 0 suspects, 0 improvements; 0 series judged, 1 too short to judge, 1 new",
    ]


def test_a_series_without_earlier_results_is_new_in_every_format() -> None:
    job = JobAnswer([], ["db/a", "db/b"], ["db/b"], ["db/c"])
    assert [row[:2] for row in rendering.csv_rows(job)] == [
        ["too short", "db/a"],
        ["new", "db/b"],
        ["missing", "db/c"],
    ]
    cases = ET.fromstring(rendering.junit(job)).iter("testcase")  # noqa: S314 - our own document
    skipped = {case.get("name"): case[0].get("message") for case in cases}
    assert skipped == {
        "db/a": "too short to judge",
        "db/b": "new: no earlier results to judge by",
        "db/c": "no result of the newest commit",
    }


def test_text_has_one_line_for_each_answer_whatever_its_name() -> None:
    assert len(lines_of(TRICKY)) == len(lines_of(JOB)) + 1  # the note
    assert all(line.isprintable() for line in lines_of(TRICKY))


def test_csv_has_a_row_for_each_answer() -> None:
    for job in (JOB, TRICKY):
        rows = [dict(zip(rendering.COLUMNS, row, strict=True)) for row in rendering.csv_rows(job)]
        assert [row["kind"] for row in rows] == [
            *("regression", "suspect", "quiet", "improvement", "too short", "missing")
        ]
        assert rows[0]["series"] == rendering.encodable(job.answers[0].series)
        assert [row["fails"] for row in rows] == ["yes", "no", "no", "no", "", ""]
        assert [row["way"] for row in rows] == ["worse", "worse", "unchanged", "better", "", ""]


def test_markdown_shows_what_moved_and_folds_the_rest() -> None:
    page = rendering.comment(JOB)
    assert page.startswith(
        "### Barograph: 1 regression, 1 suspect (1 does not fail the job), 1 impr"
    )
    assert "| **regression** | <code>db/insert</code> | up 19.3 % (worse)" in page
    assert "down 30.0 % (better)" in page
    assert "<details><summary>1 series new</summary>\n\n- <code>db/new</code>" in page


def test_markdown_tables_keep_their_columns_whatever_the_names() -> None:
    page = rendering.comment(TRICKY)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {6}
    harmless = re.sub(r"&#\d+;|</?code>|</?details>|</?summary>|\*\*regression\*\*", "", page)
    assert not re.search(r"[`@*<>\x01\x1b]|::|\[", harmless)
    assert len(page.splitlines()) == len(rendering.comment(JOB).splitlines()) + 2


def test_markdown_names_how_many_rows_are_left_out() -> None:
    many = JobAnswer([replace(WORSE, series=f"s{k}") for k in range(rendering.SHOWN + 7)])
    page = rendering.comment(many)
    assert page.count("<code>s") == rendering.SHOWN
    assert "7 more are not shown." in page


def test_junit_has_a_case_for_each_series() -> None:
    for job in (JOB, TRICKY):
        suite = parsed(job).find("testsuite")
        assert suite is not None
        cases = suite.findall("testcase")
        failures = [len(case.findall("failure")) for case in cases]
        assert failures == [1] + [0] * (len(cases) - 1)
        assert suite.get("tests") == str(len(cases))
        assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
        assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))
        assert "run this commit once more" in (cases[1].findtext("system-out") or "")


def test_junit_escapes_what_xml_cannot_hold() -> None:
    page = rendering.junit(TRICKY)
    assert not re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", page)
    names = [case.get("name") or "" for case in parsed(TRICKY).iter("testcase")]
    assert "\\x01\\ud800<b>&amp;@team" in names[0]


def test_github_annotates_failures_as_errors_and_the_rest_as_warnings() -> None:
    lines = rendering.workflow_commands(JOB, "bench/results.csv")
    assert lines[0] == (
        "::error file=bench/results.csv,title=regression%3A db/insert::db/insert: up 19.3 %25 "
        "(worse) at c57; seen at 01234567; probability 0.98"
    )
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]


def test_github_finds_no_command_in_a_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    render(TRICKY, "github")
    for line in capsys.readouterr().out.splitlines():
        assert "##[" not in line
        if "::" in line:
            assert re.match(r"::(error|warning|notice) title=[^:,]*::", line)


def test_github_warns_if_nothing_could_be_judged_yet() -> None:
    [line] = rendering.workflow_commands(JobAnswer([], ["db/a", "db/b"], ["db/b"], []))
    assert line == (
        "::warning title=Barograph::0 regressions, 0 suspects, 0 improvements; "
        "0 series judged, 1 too short to judge, 1 new"
    )


def test_github_reports_missing_series_that_fail_the_job_as_an_error() -> None:
    strict = replace(JOB.policy, fail_on_missing=True)
    [line] = rendering.workflow_commands(JobAnswer([], [], [], ["db/gone"], policy=strict))
    assert line.startswith("::error title=Barograph::")
    assert line.endswith("1 without the newest commit")


def test_github_appends_to_the_job_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    render(JOB, "github")
    assert summary.read_text() == f"before\n{rendering.comment(JOB)}\n"
    assert capsys.readouterr().out.count("::error") == 1


@pytest.mark.parametrize("output", FORMATS)
def test_every_format_prints_any_name_and_no_answer(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for job in (TRICKY, JobAnswer([])):
        render(job, output)
        printed = capsys.readouterr().out
        assert printed.encode("utf-8", "surrogatepass")
    if output == "json":
        assert json.loads(printed)["exit_code"] == 3

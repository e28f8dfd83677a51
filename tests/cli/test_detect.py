"""`detect`: what it prints in each format."""

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from barograph.cli import group, main


def detect(table: Path, *options: str, color: bool = False, **env: str) -> Result:
    done = CliRunner().invoke(group, ["detect", str(table), *options], color=color, env=env)
    assert done.exit_code == 0, done.output
    return done


def content(table: Path, *options: str) -> dict[str, list[int]]:
    """Return the orders of the changes of each series."""
    answer = json.loads(detect(table, *options, "--format", "json").stdout)
    return {
        series["series"]: [point["order"] for point in series["change_points"]]
        for series in answer["series"]
        if series["change_points"]
    }


def test_text_has_a_line_per_change_and_a_summary(table: Path) -> None:
    *rows, last = detect(table).stdout.splitlines()
    worse = next(row for row in rows if "WORSE" in row)
    better = next(row for row in rows if "better  " in row)
    pattern = r"  \u25b2 {}  000000{}  2026-01-0{}  +[\d.]+ -> [\d.]+ +\+1\d\.\d %  \d\d % real"
    assert re.fullmatch(pattern.format("WORSE ", 40, 2), worse)
    assert re.fullmatch(pattern.format("better", 20, 1), better)
    assert "slow  lower is better, 60 points" in rows
    assert re.fullmatch(
        r"4 series, 2 changes: 1 regression, 1 improvement; 1 series without a change; "
        r"1 too short to search \(\d+\.\d s\)",
        last,
    )


def test_columns_are_aligned_over_all_series(table: Path) -> None:
    rows = [row for row in detect(table).stdout.splitlines() if " -> " in row]
    assert len({row.index("->") for row in rows}) == len({row.index(" %") for row in rows}) == 1


def test_sparkline_marks_where_levels_begin(table: Path) -> None:
    rows = detect(table).stdout.splitlines()
    spark = rows[rows.index("slow  lower is better, 60 points") + 1].strip()
    before, after = spark.split("\u2502")
    assert len(before) == pytest.approx(2 * len(after), abs=2)
    assert set(before) <= set("\u2581\u2582\u2583")
    assert set(after) <= set("\u2585\u2586\u2587\u2588")


def test_quiet_series_are_counted_and_listed_on_demand(table: Path) -> None:
    assert "still" not in detect(table).stdout
    assert "still  higher is better, 60 points" in detect(table, "--all").stdout
    assert "tiny  higher is better, 3 points, too short" in detect(table, "--all").stdout


def test_colour_is_for_terminals_without_no_color(table: Path) -> None:
    assert "\x1b[31m" in detect(table, color=True).stdout
    assert "\x1b[" not in detect(table, color=True, NO_COLOR="1").stdout
    assert "\x1b[" not in detect(table).stdout


def test_lines_fit_the_columns_that_the_environment_sets(table: Path) -> None:
    lines = detect(table, COLUMNS="40").stdout.splitlines()
    assert len(lines[1]) <= 40 < len(detect(table).stdout.splitlines()[1])


def test_full_output_is_reported_without_an_error_number(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("barograph.cli.detect.echo_json", full)
    with pytest.raises(SystemExit) as left:
        main(["detect", str(table), "--format", "json"])
    assert left.value.code == 1
    assert capsys.readouterr().err.endswith("barograph: no space left on device\n")


def test_json_has_places_levels_and_reasons(table: Path) -> None:
    answer = json.loads(detect(table, "--format", "json").stdout)
    assert answer["detector"] == "triaged"
    counts = ("series", "changed", "changes", "regressions", "improvements", "too_short")
    assert [answer["summary"][name] for name in counts] == [4, 2, 2, 1, 1, 1]
    [point] = answer["series"][0]["change_points"]
    assert (point["index"], point["order"], point["effect"]) == (40, 40, "worse")
    assert point["commit"] == f"00000040{'ab' * 16}"
    assert point["time"] == "2026-01-02T16:00:00Z"
    assert point["probability"] > 0.8
    assert point["percent"] == pytest.approx(100 * (point["after"] / point["before"] - 1))
    assert point["reasons"][0]["text"].startswith("The level rose by ")
    assert point["reasons"][0]["contribution"] > 0


def test_json_has_the_energy_and_the_order_of_discovery(table: Path) -> None:
    answer = json.loads(detect(table, "--detector", "edivisive", "--format", "json").stdout)
    [point] = answer["series"][0]["change_points"]
    assert point["q"] > 0
    assert point["discovery"] == 0


def test_number_of_columns_is_limited_by_a_key(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    rows = [["order", *(f"p{k}" for k in range(300))], *([str(k)] + ["1"] * 300 for k in range(9))]
    path.write_text("\n".join(map(",".join, rows)))
    for most, is_refused in (("200", True), ("400", False)):
        config = tmp_path / "barograph.toml"
        config.write_text(f"[input]\nmax-columns = {most}\n")
        done = CliRunner().invoke(group, ["--config", str(config), "detect", str(path)])
        assert ("at most 200 are allowed" in str(done.exception)) is is_refused


def test_csv_has_a_row_per_change_worst_first(table: Path) -> None:
    rows = [*csv.DictReader(io.StringIO(detect(table, "--format", "csv").stdout))]
    assert [(row["series"], row["effect"], row["order"]) for row in rows] == [
        ("slow", "worse", "40"),
        ("fast", "better", "20"),
    ]


def test_markdown_is_a_table_whose_cells_cannot_break_it(tmp_path: Path) -> None:
    values = [10.0 + 0.1 * (k % 3) + 5 * (k > 30) for k in range(60)]
    rows = [f"a|b*<i>,{k},{value}" for k, value in enumerate(values)]
    (tmp_path / "r.csv").write_text("\n".join(["test,order,value", *rows, ""]))
    lines = detect(tmp_path / "r.csv", "--format", "markdown").stdout.splitlines()
    assert lines[0].startswith("**1 series, 1 change: 1 change of unknown direction (")
    assert lines[-1].startswith("| a&#124;b&#42;&#60;i&#62; | +")


def test_markdown_of_many_changes_fits_into_a_comment(tmp_path: Path) -> None:
    name = "<very::long::name>" * 8
    rows = [
        f"{name}{test},{k},{10.0 + 0.1 * (k % 3) + 5 * (k > 30)}"
        for test in range(60)
        for k in range(60)
    ]
    (tmp_path / "r.csv").write_text("\n".join(["test,order,value", *rows, ""]))
    text = detect(tmp_path / "r.csv", "--format", "markdown").stdout
    assert len(text) < 65_536
    assert text.endswith("|\n\n10 more are not shown.\n")


def test_change_at_the_last_results_is_new_in_every_output(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(100.0, 1.0, 123)
    values[60:] += 20.0
    values[120:] *= 1.15
    table = tmp_path / "r.csv"
    table.write_text("value\n" + "".join(f"{value}\n" for value in values))
    _, _, first, last, _ = detect(table).stdout.splitlines()
    assert first.endswith(" % real")
    assert last.endswith(" % real  new, 3 points so far")
    [series] = json.loads(detect(table, "--format", "json").stdout)["series"]
    marks = [(point["order"], point["new"]) for point in series["change_points"]]
    assert marks == [(60, False), (120, True)]
    *_, first, last = detect(table, "--format", "markdown").stdout.splitlines()
    assert first.startswith("| r | +19.6 %")
    assert last.startswith("| r (new) | +1")
    assert "new" not in detect(table, "--min-probability", "0.3").stdout
    page = CliRunner().invoke(group, ["report", str(table), "--out", "-"]).stdout
    assert page.count(" real · new</span>") == page.count(">new</span></td>") == 1


def test_series_that_switches_has_one_line_and_all_its_changes_in_json(tmp_path: Path) -> None:
    values = [100.0 + 50 * (k // 15 % 2) + k % 3 for k in range(90)]
    (tmp_path / "r.csv").write_text("value\n" + "".join(f"{value}\n" for value in values))
    places = content(tmp_path / "r.csv", "--detector", "hunter")
    assert [*places.values()] == [[15, 30, 45, 60, 75]]
    _, _, line, last = detect(tmp_path / "r.csv", "--detector", "hunter").stdout.splitlines()
    assert line.endswith("5 switches between these levels, last at order 75")
    assert last.startswith("1 series, 5 changes: ")


def test_patterns_of_the_configuration_are_named_and_low_priority_comes_last(
    table: Path, tmp_path: Path
) -> None:
    config = tmp_path / "barograph.toml"
    config.write_text('[patterns]\nlow_priority = ["sl*"]\ncanary = ["fast"]\n')

    def run(*options: str) -> str:
        done = CliRunner().invoke(group, ["--config", str(config), "detect", str(table), *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    headings = [line for line in run().splitlines() if " is better, " in line]
    assert headings == [
        "fast  higher is better, 60 points, canary",
        "slow  lower is better, 60 points, low priority",
    ]
    kinds = {
        series["series"]: series["kind"] for series in json.loads(run("--format", "json"))["series"]
    }
    assert kinds == {"slow": "low_priority", "fast": "canary", "still": None, "tiny": None}
    assert [row["series"] for row in csv.DictReader(io.StringIO(run("--format", "csv")))] == [
        "fast",
        "slow",
    ]
    assert "| slow (low priority) |" in run("--format", "markdown").splitlines()[-1]


def test_unit_is_in_the_heading_and_the_json(tmp_path: Path) -> None:
    rows = [
        f"{name},{k},{10 + k % 3 + 9 * (k >= 30)},{unit}"
        for name, unit in (("a", "ops/s"), ("b", "x\x1b[31m"), ("c", ""))
        for k in range(60)
    ]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["test,order,value,unit", *rows, ""]), encoding="utf-8")
    printed = detect(path).stdout
    assert [line for line in printed.splitlines() if line.endswith(" points")] == [
        "a  ops/s, higher is better, 60 points",
        "b  x\ufffd[31m, 60 points",
        "c  60 points",
    ]
    answer = json.loads(detect(path, "--format", "json").stdout)
    units = [series["unit"] for series in answer["series"]]
    assert units == ["ops/s", "x\x1b[31m", None]


def test_table_without_labels_is_a_series_named_by_its_file(tmp_path: Path) -> None:
    rows = [f"{order},{100.0 + (order % 3) + 30 * (order >= 40)}" for order in range(80)]
    (tmp_path / "latency.csv").write_text("\n".join(["order,value", *rows, ""]))
    [(name, orders)] = content(tmp_path / "latency.csv").items()
    assert "latency" in name
    assert orders == [40]


def test_changes_have_the_subjects_of_their_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Add x", "--allow-empty"],
    ):
        subprocess.run(["git", *arguments], check=True)  # noqa: S603, S607
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    head = done.stdout.strip()
    rows = [f"{k},{head if k == 30 else k},{10 + k % 3 + 9 * (k >= 30)}" for k in range(60)]
    (tmp_path / "r.csv").write_text("\n".join(["order,commit,value", *rows, ""]))
    assert "Add x" in detect(tmp_path / "r.csv").stdout


def test_page_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = Path(__file__).resolve().parent.parent.parent / "docs"
    monkeypatch.chdir(tmp_path)
    text = (docs / "detect.md").read_text(encoding="utf-8")
    block = text.split("$ barograph detect docs/results.csv\n")[1].split("\n\n")[0]
    shown = [line.removeprefix("    ") for line in block.splitlines()]
    printed = detect(docs / "results.csv").stdout.splitlines()
    assert printed[:-1] == shown[:-1]
    assert printed[-1].partition(" (")[0] == shown[-1].partition(" (")[0]


def test_names_cannot_control_the_terminal(tmp_path: Path) -> None:
    rows = [f"a\x1b[31m\u202eb,{k},{10 + k % 3 + 9 * (k >= 30)}" for k in range(60)]
    (tmp_path / "r.csv").write_text("\n".join(["test,order,value", *rows, ""]), encoding="utf-8")
    heading = detect(tmp_path / "r.csv").stdout.splitlines()[0]
    assert heading.startswith("a\ufffd[31m\ufffdb  60 points")


@pytest.mark.parametrize(("column", "place"), [("date", "2026-02-10"), ("order", "order 40")])
def test_places_without_commits_are_days_or_orders(tmp_path: Path, column: str, place: str) -> None:
    values = np.random.default_rng(8).normal(0, 1, 60)
    days = np.datetime64("2026-01-01") + np.arange(60)
    names = days.astype(str) if column == "date" else map(str, range(60))
    lines = [
        f"{name},{100 + v + 12 * (k >= 40)}"
        for k, (name, v) in enumerate(zip(names, values, strict=True))
    ]
    path = tmp_path / "r.csv"
    path.write_text("\n".join([f"{column},p50_ms", *lines, ""]))
    assert f"WORSE  {place}  99.93 -> 112" in detect(path).stdout
    assert f"| {place} |" in detect(path, "--format", "markdown").stdout
    gated = CliRunner().invoke(group, ["gate", str(path), "--newest", "20"]).stdout
    assert f"worse  at {place}  seen at " in gated
    classified = CliRunner().invoke(group, ["classify", str(path)]).stdout
    assert f"real  {place}  r/p50_ms" in classified

"""The commands as a shell runs them: what is printed, and the exit code."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from barograph.cli import COMMANDS, group, main
from barograph.cli.detect import change_text
from barograph.cli.options import ALARM_POLICIES
from barograph.detection.online import budget


def results(
    folder: Path, shift: float, *, direction: int = -1, length: int = 60, at: int = 57
) -> Path:
    """Write one flat file with a series that shifts at a point."""
    values = 100 + np.random.default_rng(3).standard_normal(length)
    values[at:] += shift
    path = folder / "results.csv"
    rows = [
        f"db,query,{order},c{order},{direction},{v!r}" for order, v in enumerate(values.tolist())
    ]
    path.write_text("\n".join(["project,test,order,commit,direction,value", *rows, ""]))
    return path


def code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_help_of_every_command_shows_an_example() -> None:
    for name in COMMANDS:
        done = CliRunner().invoke(group, [name, "--help"])
        assert done.exit_code == 0
        assert f"Example: barograph {name}" in done.output


def test_detect_prints_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = results(tmp_path, 20, at=30)
    assert code("detect", str(path)) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "index 30" in line)
    assert line.startswith("  c30  index 30")
    assert "%)  probability 0.9" in line
    assert code("detect", str(path), "--format", "json") == 0
    [series] = json.loads(capsys.readouterr().out)["series"]
    assert [point["order"] for point in series["change_points"]] == [30]
    assert series["change_points"][0]["probability"] > 0.9


def test_min_probability_replaces_the_rule_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(results(tmp_path, 20, at=30))
    assert code("detect", path, "--min-probability", "1") == 0
    assert "no change point" in capsys.readouterr().out
    assert code("detect", path, "--min-probability", "0.5", "--detector", "pelt") == 1
    assert "pelt has no probability; only triaged has" in capsys.readouterr().err


def test_change_is_never_shown_as_minus_zero() -> None:
    texts = [change_text({"percent": value}) for value in (-0.0, -0.004, -0.05, 0.0)]
    assert texts == ["+0.0 %", "-0.004 %", "-0.1 %", "+0.0 %"]


def test_table_without_labels_is_a_series_named_by_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{order},{100.0 + (order % 3) + 30 * (order >= 40)}" for order in range(80)]
    (tmp_path / "latency.csv").write_text("\n".join(["order,value", *rows, ""]))
    assert code("detect", str(tmp_path / "latency.csv"), "--format", "json") == 0
    [series] = json.loads(capsys.readouterr().out)["series"]
    assert "latency" in series["series"]
    assert [point["order"] for point in series["change_points"]] == [40]


def test_detect_controls_false_discoveries_on_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(results(tmp_path, 20, at=30))
    assert code("detect", path, "--format", "json") == 0
    assert "false_discoveries" not in json.loads(capsys.readouterr().out)
    for rate, removed in (("0.05", 0), ("1e-300", 1)):
        options = ("--detector", "hunter", "--false-discoveries", rate, "--format", "json")
        assert code("detect", path, *options) == 0
        output = json.loads(capsys.readouterr().out)
        assert len(output["series"][0]["change_points"]) == 1 - removed
        report = output["false_discoveries"]
        assert (report["tests"], report["given"], report["removed"]) == (60, 1, removed)
    assert code("detect", path, "--detector", "edivisive", "--false-discoveries", "0.05") == 0
    assert "0 of 1 change points left out, 2 tests" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("detect", "none.csv"), "none.csv"),
        (("detect",), "Missing argument 'LOCATION'"),
        (("detect", "x.csv", "--detector", "dice"), "'dice' is not one of"),
        (
            ("detect", "x.csv", "--detector", "pelt", "--false-discoveries", "0.1"),
            "pelt has no p-value to control; allowed are hunter, edivisive, gesd",
        ),
        (
            ("detect", "x.csv", "--false-discoveries", "0.1"),
            "triaged has no p-value to control; allowed are hunter, edivisive, gesd",
        ),
        (("detect", "x.csv", "--false-discoveries", "1"), "1.0 is not in the range"),
        (("dance",), "there is no command 'dance'"),
        (("gate", "x.csv", "--newest", "0"), "0 is not in the range"),
    ],
)
def test_errors_exit_1_without_a_traceback(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(*arguments) == 1
    output = capsys.readouterr().err
    assert message in output
    assert "Traceback" not in output


def test_alarm_policies_are_those_of_the_budget() -> None:
    assert tuple(ALARM_POLICIES) == tuple(budget.ALARM_POLICIES)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["scroe"], "barograph: there is no command 'scroe'; there are classify, detect, export"),
        (["token", "add", "ci", "--scope", "all"], "barograph token add: Invalid value for '--sco"),
        (["token", "add", "ci"], "barograph token add: Missing option '--scope'. Choose from:"),
        (["score"], "barograph score: Missing argument 'LOCATION'."),
        (["serve", "--port", "x"], "barograph serve: Invalid value for '--port': 'x' is not a"),
    ],
)
def test_wrong_usage_prints_one_line(
    arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(*arguments) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(output)

"""The commands as a shell runs them: what is printed, and the exit code."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from barograph.cli import COMMANDS, group, main


def results(
    folder: Path, shift: float, *, direction: int = -1, length: int = 60, first: int = 57
) -> Path:
    """Write one flat file with a series that shifts at its point `first`."""
    values = 100 + np.random.default_rng(3).standard_normal(length)
    values[first:] += shift
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
        assert re.search(rf"Example: .*barograph {name}", done.output)


@pytest.mark.parametrize("name", ["series", "token"])
def test_summaries_of_subcommands_are_not_cut(name: str) -> None:
    output = CliRunner().invoke(group, [name, "--help"], terminal_width=80).output
    assert "..." not in output.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("detect", "none.csv"), "none.csv"),
        (("detect",), "Missing argument 'FILE...'"),
        (("detect", "x.csv", "--detector", "dice"), "'dice' is not one of"),
        (("dance",), "there is no command 'dance'"),
        (
            ("gate", "x.csv", "--delimiter", ";"),
            "--delimiter is withdrawn: set `delimiter` in the table [input] of barograph.toml",
        ),
        (
            ("clusters", "x.csv", "--span=9"),
            "--span is withdrawn: set `span` in the table [clusters] of barograph.toml",
        ),
        (("gate", "x.csv", "--alarm-policy", "sure"), "`steady` is the only policy"),
        (("detect", "x.csv", "--pvalue", "0.1"), "--pvalue is withdrawn: use --set pvalue=P"),
        (("series", "merge", "1", "2", "--second-look"), "--second-look is withdrawn: results"),
        (("gate", "x.csv", "--pvalue", "0.1"), "No such option '--pvalue'"),
        (("gate", "x.csv", "--newest", "0"), "0 is not in the range"),
        (("gate", "x.csv", "--suspect-fails-at", "a lot"), "'a lot' is not a valid float"),
        (("series", "list", "--store", ""), "an SQLite store needs a file; a"),
        (("series", "list", "--store", "mysql://h/d"), "'mysql'; allowed: sqlite, postgres"),
    ],
)
def test_errors_exit_1_without_a_traceback(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(*arguments) == 1
    output = capsys.readouterr().err
    assert message in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["scroe"], "barograph: there is no command 'scroe'; did you mean score?"),
        (["frob"], "barograph: there is no command 'frob'; there are append, classify"),
        (["token", "add", "ci", "--scope", "all"], "barograph token add: Invalid value for '--sco"),
        (["token", "add", "ci"], "barograph token add: Missing option '--scope'. Choose from:"),
        (["score"], "barograph score: Missing argument 'FILE...'."),
        (["serve", "--port", "x"], "barograph serve: Invalid value for '--port': 'x' is not a"),
    ],
)
def test_wrong_usage_prints_one_line(
    arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(*arguments) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(output)

"""`barograph.toml`: where it is found, what it sets and refuses; `init` and `completion`."""

import json
import re
import tomllib
from pathlib import Path

import click
import pytest

from barograph.cli import COMMANDS, group, main
from barograph.cli.config import NAME, load_config, option_defaults
from barograph.cli.setup import TEMPLATE
from barograph.runtime.errors import ConfigError
from tests.cli.test_commands import code, results
from tests.sources.documents import write_dump


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with results that regress by 20 % at commit c57 of 60."""
    monkeypatch.chdir(tmp_path)
    results(tmp_path, 20)
    return tmp_path


def configure(folder: Path, text: str) -> None:
    (folder / NAME).write_text(text, encoding="utf-8")


def test_table_of_a_command_sets_defaults_and_options_override_them(folder: Path) -> None:
    assert code("gate", "results.csv", "--newest", "3") == 2
    configure(folder, "[gate]\nnewest = 3\n")
    assert code("gate", "results.csv") == 2
    configure(folder, "[gate]\nnewest = 3\nmin-change = 50\n")
    assert code("gate", "results.csv") == 0
    assert code("gate", "results.csv", "--min-change", "1") == 2


def test_input_names_the_files_of_every_command(folder: Path) -> None:
    configure(folder, '[input]\nfiles = ["results.csv"]\n[gate]\nnewest = 3\n')
    assert code("gate") == 2
    assert code("detect") == 0


def test_file_is_found_in_the_folders_above_and_can_be_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(folder, "[gate]\nnewest = 3\n")
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert code("gate", "../../results.csv") == 2
    (below / "mine.toml").write_text("[gate]\nmin-change = 50\n")
    assert code("--config", "mine.toml", "gate", "../../results.csv", "--newest", "3") == 0
    monkeypatch.setenv("BAROGRAPH_CONFIG", "mine.toml")
    assert code("gate", "../../results.csv", "--newest", "3") == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gaet]\n", r"there is no table \[gaet\]; allowed: input, patterns, .*gate"),
        ("[gate]\nmin_change = 1\n", r"\[gate\] has no 'min_change'; allowed: .*min-change"),
        ("[gate]\nmin-change = 'a'\n", r"\[gate\] min-change: 'a' is not a valid float"),
        ("[gate]\nmin-change = -1\n", r"\[gate\] min-change: -1.* is not in the range x>=0"),
        ("[input]\ndates = 'us'\n", r"\[input\] dates: 'us' is not one of .*'day-first', 'month"),
        ("[input]\nkinds = 'csv'\n", r"\[input\] has no 'kinds'; allowed: .*kind"),
        ("gate = 3\n", r"gate must be a table \[gate\]: Expected"),
        ("suppress = 3\n", r"suppress must be tables \[\[suppress\]\]"),
        (
            "[patterns]\ncanaries = []\n",
            "patterns must be lists of patterns named canary, low_",
        ),
        ("[patterns]\ncanary = 'x'\n", "patterns must be lists of patterns named canary"),
        (
            "[direction]\n'*' = 'up'\n",
            "direction must be patterns .*`lower` or `higher`: .*'up'",
        ),
        ("[gate\n", "not valid TOML: .*line 1"),
    ],
)
def test_mistake_is_one_line_that_names_what_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    configure(folder, text)
    assert code("gate", "results.csv") == 1
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert error.startswith(f"barograph: {folder / NAME}: ")
    assert len(error.splitlines()) == 1


def test_named_file_must_exist(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("--config", "none.toml", "gate", "results.csv") == 1
    assert "none.toml: no such file; barograph init writes one" in capsys.readouterr().err


def test_help_and_init_work_with_a_broken_configuration(folder: Path) -> None:
    configure(folder, "[gate\n")
    assert code("gate", "--help") == 0
    assert code("init", "below") == 0
    config = load_config(COMMANDS, folder / "below" / NAME)
    assert config.commands == {"input": {}, "gate": {}, "score": {}}


def test_init_writes_a_file_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("init") == 0
    assert (folder / NAME).read_text(encoding="utf-8") == TEMPLATE
    assert code("init") == 1
    assert "exists already; delete it first to replace it" in capsys.readouterr().err
    assert code("gate", "results.csv", "--newest", "3") == 2


def test_every_suggestion_of_init_is_allowed(folder: Path) -> None:
    keys = re.compile(r'^# (?=[a-z_-]+ = |"|\[\[)', re.MULTILINE)
    text = keys.sub("", TEMPLATE)
    configure(folder, text)
    config = load_config(COMMANDS)
    assert set(tomllib.loads(text)) == {
        *config.commands,
        *("direction", "patterns", "suppress"),
    }
    assert config.kind_of("canary/x") == "canary"
    assert config.kind_of("db/startup") == "low_priority"
    assert config.kind_of("db") == ""
    for name in config.commands.keys() - {"input"}:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        defaults = option_defaults(config, command, name)
        assert defaults["files"] == ["benchmarks/history.csv"]
        assert defaults["mapping"] == ["name=test", "sha=commit"]


def test_direction_of_a_pattern_counts_where_the_file_says_none(folder: Path) -> None:
    results(folder, 20, direction=0)
    gate_newest = ("gate", "results.csv", "--newest", "3")
    assert code(*gate_newest) == 2  # any change counts
    configure(folder, '[direction]\n"db/q*" = "higher"\n"*" = "lower"\n')
    assert code(*gate_newest) == 0
    configure(folder, '[direction]\n"other" = "higher"\n"*" = "lower"\n')
    assert code(*gate_newest) == 2
    results(folder, 20, direction=-1)
    configure(folder, '[direction]\n"*" = "higher"\n')
    assert code(*gate_newest) == 2  # the file says lower


def test_direction_of_a_pattern_counts_in_a_dump(folder: Path) -> None:
    data = [{"order": k, "value": 20.0 if k < 50 else 30.0 + k % 2} for k in range(53)]
    write_dump(folder / "dump", [{"project": "db", "test": "query", "data": data}], [])
    gate_newest = ("gate", "dump", "--kind", "mongodump", "--newest", "3")
    assert code(*gate_newest) == 2  # any change counts
    configure(folder, '[direction]\n"db/q*" = "higher"\n')
    assert code(*gate_newest) == 0


def test_quotes_of_a_printed_name_may_be_left_out(folder: Path) -> None:
    path = folder / "results.csv"
    path.write_text(path.read_text().replace("query", "canary/cpu"))
    gate_newest = ("gate", "results.csv", "--newest", "3")
    assert code(*gate_newest) == 2
    for text in (
        '[patterns]\ninformational = ["db/canary/*"]',
        '[direction]\n"db/canary/*" = "higher"',
        '[[suppress]]\nseries = "db/canary/*"\nreason = "known"',
    ):
        configure(folder, text)
        if "direction" in text:
            path.write_text(path.read_text().replace(",-1,", ",,"))
        assert code(*gate_newest) == 0


def test_pattern_that_matches_no_series_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[patterns]\ncanary = ["db/q*", "bd/*"]\n[direction]\n"*" = "lower"\n"x" = "lower"\n'
    configure(folder, text)
    notes = [
        f"{folder / NAME}: {table}: no series matches {pattern}"
        for table, pattern in (
            ("[patterns] canary", "'bd/*'"),
            ("[direction]", "'x'"),
        )
    ]
    for command in ("gate", "detect"):
        code(command, "results.csv", "--format", "json")
        printed = capsys.readouterr()
        assert printed.err.splitlines() == notes
        json.loads(printed.out)


def test_table_of_thresholds_names_the_way_over(folder: Path) -> None:
    configure(folder, "[threshold]\n")  # as `barograph init` wrote it
    assert load_config(COMMANDS).commands == {}
    configure(folder, '[threshold]\n"y/*" = 3\n')
    with pytest.raises(ConfigError, match=r"remove the table \[threshold\]: a fixed percentage"):
        load_config(COMMANDS)


def test_patterns_are_empty_without_a_file(folder: Path) -> None:
    assert load_config(COMMANDS).kind_of("canary/x") == ""
    with pytest.raises(ConfigError, match="no such file"):
        load_config(COMMANDS, folder / "x.toml")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("completion", shell) == 0
    script = capsys.readouterr().out
    assert "_BAROGRAPH_COMPLETE" in script
    assert f"{shell}_complete" in script


def test_interrupt_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("barograph.cli.setup.Path.exists", lambda _self: interrupted())
    with pytest.raises(SystemExit) as left:
        main(["init"])
    assert left.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "\udcff.csv"],
        ["report", "history.csv", "--out", "\udcff"],
        ["append", "history.csv", "new.json", "--run", "\udcff"],
        ["append", "history.csv", "new.json", "--branch=\udcff"],
        ["gate", "history.csv", "--project", "a\udcffb"],
    ],
)
def test_arguments_that_are_not_utf_8_are_one_error(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (folder / "history.csv").write_text("commit,test,value\na1,x,5\n")
    (folder / "new.json").write_text('[{"commit": "a1", "test": "x", "value": 5}]')
    assert code(*arguments) == 1
    assert capsys.readouterr().err.endswith("an argument must be valid UTF-8\n")

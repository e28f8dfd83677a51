"""The commands of docs/gate.md run, and print what the page says."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from barograph.cli.rerun import measure
from tests.cli.test_commands import code

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "gate.md").read_text(encoding="utf-8")
COMMANDS = re.findall("^    barograph (.+)$", PAGE, re.MULTILINE)


def block(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    return match[1]


def write_benchmark(path: Path) -> None:
    """Write the script of the page: it has no options, and measures a value above the usual."""
    path.write_text(
        "#!/bin/sh\nwhile getopts '' option; do exit 1; done; shift $((OPTIND - 1))\n"
        'for test; do echo \'{"project": "db", "measurement": "ops_per_sec", '
        '"test": "\'$test\'", "value": 20300}\'; done\n'
    )
    path.chmod(0o755)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_of_the_page_runs(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DOCS / "results.csv", tmp_path)
    write_benchmark(tmp_path / "bench.sh")
    (tmp_path / "accepted.toml").write_text(block("toml"), encoding="utf-8")
    assert code(*shlex.split(command)) == 0
    printed = capsys.readouterr().out
    if command in COMMANDS[:2]:  # the same answer with and without a store
        assert printed == block("text")


def test_name_that_begins_with_a_dash_is_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_benchmark(tmp_path / "bench.sh")
    [rerun] = re.findall("--rerun '(.+?)'", PAGE)
    out = measure(rerun, ["-o", "db"], tmp_path)
    assert [json.loads(line)["test"] for line in out.read_text().splitlines()] == ["-o", "db"]


def test_page_shows_every_format_and_exit_code() -> None:
    assert len(COMMANDS) >= 8
    assert [int(row) for row in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)] == [0, 1, 2, 4, 3]

"""`gate --rerun`: suspects are measured again, and the results settle them."""

import csv
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.cli.rerun import measure
from tests.cli.test_commands import code

SCRIPT = """\
import json, sys
*names, value, out = sys.argv[1:]
rows = [{"test": name, "value": float(value), "direction": "lower"} for name in names]
with open(out, "w") as file:
    file.write("\\n".join(map(json.dumps, rows)))
with open("log", "a") as file:
    file.write(json.dumps(names) + "\\n")
"""
NAME = "it's $HOME; {out}"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a quiet series, and one whose newest result is 1.3 times as high."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measure.py").write_text(SCRIPT)
    rng = np.random.default_rng(3)
    rows = ["test,order,commit,run,direction,value"]
    for name in ("quiet", NAME):
        for order, value in enumerate((100 + rng.standard_normal(61)).tolist()):
            spike = 30.0 if order == 60 and name == NAME else 0.0
            rows.append(f'"{name}",{order},c{order},,lower,{value + spike}')
    path = tmp_path / "history.csv"
    path.write_text("\n".join([*rows, ""]))
    return path


def gate(path: Path, measured: str, *more: str, most: int = 3) -> int:
    command = f"{shlex.quote(sys.executable)} measure.py {{suspects}} {measured} {{out}}"
    config = path.parent.parent / "limits.toml"
    config.write_text(f"[gate]\nmax-reruns = {most}\n")
    options = ("--rerun", command, "--format", "json", *more)
    return code("--config", str(config), "gate", str(path), *options)


@pytest.mark.parametrize(
    ("measured", "expected", "kind"), [("141", 2, "regressions"), ("100.5", 0, None)]
)
def test_rerun_settles_a_suspect(
    history: Path,
    capsys: pytest.CaptureFixture[str],
    measured: str,
    expected: int,
    kind: str | None,
) -> None:
    assert code("gate", str(history)) == 4
    capsys.readouterr()
    assert gate(history, measured) == expected
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    for name in ("regressions", "suspects"):
        assert [series["series"] for series in answer[name]] == ([NAME] if name == kind else [])
    assert [json.loads(line) for line in Path("log").read_text().splitlines()] == [[NAME]]
    added = history.read_text().splitlines()[123:]
    assert len(added) == 1
    assert "c60" in added[0]
    assert "~rerun-1" in added[0]
    assert code("gate", str(history)) == expected  # without measuring again


def test_results_in_another_unit_are_converted_to_that_of_the_history(history: Path) -> None:
    header, *rows = history.read_text().splitlines()
    history.write_text("\n".join([f"{header},unit", *(f"{row},ms" for row in rows), ""]))
    command = "printf 'test,value,unit\\n%s,100500,us\\n' {suspects} > {out}"
    history.write_text(history.read_text().replace(NAME, "spiked"))
    assert code("gate", str(history)) == 4
    assert code("gate", str(history), "--rerun", command) == 0


def test_runs_that_contradict_each_other_are_measured_up_to_the_limit(history: Path) -> None:
    gate(history, "115", most=2)
    assert len(Path("log").read_text().splitlines()) == 2


def runs(path: Path) -> list[tuple[str, str]]:
    """Return the reruns in a history, with their values."""
    with path.open(newline="") as file:
        rows = [(row["run"], row["value"]) for row in csv.DictReader(file)]
    return [(run, value) for run, value in rows if run.startswith("~rerun")]


def test_second_call_keeps_the_reruns_of_the_first(
    history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(history, "115", most=1)
    assert runs(history) == [("~rerun-1", "115")]
    capsys.readouterr()
    assert gate(history, "100.5", most=1) == gate(history, "100.5", most=1)
    assert runs(history) == [("~rerun-1", "115")]
    assert capsys.readouterr().err.count("c60 has 1 rerun, the maximum\n") == 2
    gate(history, "116", most=2)
    assert runs(history) == [("~rerun-1", "115"), ("~rerun-2", "116")]
    assert "rerun 2 of at most 2: " in capsys.readouterr().err


def test_reruns_of_other_commits_and_other_runs_do_not_count(history: Path) -> None:
    rows = history.read_text().splitlines()
    more = [rows[121].replace(",,", f",{run},") for run in ("2", "x~rerun-8")]
    older = rows[120].replace(",,", ",~rerun-9,")
    history.write_text("\n".join([*rows, *more, older, ""]))
    gate(history, "115", most=1)
    assert [name for name, _ in runs(history)] == ["~rerun-9", "~rerun-1"]


def test_nothing_is_measured_without_a_suspect(history: Path) -> None:
    history.write_text("\n".join(history.read_text().splitlines()[:122]) + "\n")
    assert gate(history, "100") == 0
    assert not Path("log").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("exit 7 # {out}", "--rerun: the command ended with exit status 7"),
        ("true {out}", "--rerun: the command wrote no results to {out}"),
        ('echo \'[{"test": "other", "value": 3}]\' > {out}', "measured other, but not it's"),
        ("true", "--rerun 'true': needs {out}, the file to write"),
    ],
)
def test_command_that_does_not_measure_the_suspects_is_an_error(
    history: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    before = history.read_text()
    assert code("gate", str(history), "--rerun", command) == 1
    assert message in capsys.readouterr().err
    assert history.read_text() == before


@pytest.mark.parametrize(
    ("name", "header", "message"),
    [
        ("history.tsv", "test,order,commit,run,direction,value", "must end with one of .csv"),
        ("history.csv", "test,number,commit,run,direction,value", "misses the column order"),
        ("history.csv", "test,order,name,run,direction,value", "needs one commit with a name"),
        ("*.csv", "test,order,commit,run,direction,value", "appends to a file; "),
    ],
)
def test_nothing_is_measured_for_a_history_that_cannot_be_extended(
    history: Path, capsys: pytest.CaptureFixture[str], name: str, header: str, message: str
) -> None:
    text = history.read_text().replace("test,order,commit,run,direction,value", header)
    history.write_text(text)
    path = history.with_name(name)
    if "*" not in name:
        history.rename(path)
    more = ("--map", "number=order") if "number" in header else ()
    assert gate(path, "141", *more) == 1
    assert message in capsys.readouterr().err
    assert not Path("log").exists()
    assert sorted(entry.name for entry in Path().iterdir()) == sorted(
        ["measure.py", path.name if "*" not in name else "history.csv"]
    )


def test_names_are_quoted_for_the_shell_and_listed_in_a_file(tmp_path: Path) -> None:
    command = 'for name in {suspects}; do echo "$name"; done | diff - {suspects_file} > {out}'
    out = measure(command, ["a b", "$(touch x)", "{out}"], tmp_path)
    assert out.read_text() == ""

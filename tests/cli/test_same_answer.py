"""Gate and score give the same answer on the same history."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import code

SERIES, LENGTH = 18, 56
CUTS = (40, 42, 43, 45, 56)
ORDER = ("gate", "score")


def write(path: Path, last: int) -> None:
    """Write the first commits of series with steps, spikes, several runs, and some that end."""
    rng = np.random.default_rng(7)
    lines = ["project,test,order,commit,run,direction,value"]
    for k in range(SERIES):
        values = 100 + rng.standard_normal((LENGTH, 2)) * rng.uniform(0.3, 3)
        step = int(rng.integers(34, 46)) if k % 2 else LENGTH
        values[step:] += rng.choice([-1, 1]) * rng.uniform(3, 60)
        values[40:42, 0] *= 1.0 + (k < 8) * 0.05  # several series are slow at two commits
        values[int(rng.integers(36, LENGTH)), 0] *= rng.uniform(1.2, 3)  # the first run alone
        values[41, 0] *= 1.25 if k in (8, 16) else 1.0  # a suspect at the newest commit
        size = last if k % 7 else min(last, 44)
        for order in range(0 if k % 9 else 39, size):
            runs = 2 if (k + order) % 5 == 0 else 1
            lines += [
                f"p,s{k},{order},c{order},{run or ''},{-1 + k % 3},{values[order, run]}"
                for run in range(runs)
            ]
    path.write_text("\n".join([*lines, ""]))


@pytest.mark.parametrize(
    ("options", "cuts"),
    [
        (("--false-red", "1"), CUTS),
        ((), CUTS[1:2]),
        (("--newest", "4"), CUTS[-2:]),
        (("--since", "c38"), CUTS[-2:-1]),
    ],
)
def test_gate_and_score_agree(
    options: tuple[str, ...],
    cuts: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results.csv"
    kinds: set[str] = set()
    for cut in cuts:
        write(path, cut)
        actual: dict[str, tuple[int, Any]] = {}
        for command in ORDER:
            store = ("--store", str(tmp_path / "ci.db")) if command == "score" else ()
            left = code(command, str(path), *options, *store, "--format", "json")
            actual[command] = left, json.loads(capsys.readouterr().out)
        answer = actual["score"][1]
        for name in ("points", "reasons"):
            answer.pop(name)
        assert actual["gate"] == actual["score"]
        kinds |= {name for name, value in answer.items() if value}
    if len(cuts) == len(CUTS):
        assert {"regressions", "suspects", "improvements", "uncertain", "missing"} <= kinds


HOUR = 3_600_000
START = 1_767_225_600_000  # 2026-01-01
STEADY = [100 + k / 3 for k in (2, -1, 0, 1, -2, 1, 0, -1, 2, 0)] * 3


def rows(values: Sequence[float], timed: bool = True) -> list[str]:
    """Return a row for each commit, an hour apart."""
    times = [str(START + k * HOUR) if timed else "" for k in range(len(values))]
    return [
        f"c{k},{time},,t,{value}" for k, (time, value) in enumerate(zip(times, values, strict=True))
    ]


def again(commit: int, hours: float, run: str, value: float) -> str:
    """Return the row of a commit that is measured again some hours later."""
    return f"c{commit},{START + int((commit + hours) * HOUR)},{run},t,{value}"


SPIKE = [*STEADY[:29], 160.0]
CASES = {
    "spike with a run": [rows(SPIKE), [again(29, 5, "2", 100.2)]],
    "spike without a run": [rows(SPIKE), [again(29, 5, "", 100.2)]],
    "confirmed after minutes": [rows(SPIKE), [again(29, 1 / 6, "2", 161)]],
    "half a change without a run": [rows(STEADY), [again(29, 5, "", 160)]],
    "old commit with a run": [rows(STEADY), [again(10, 30, "2", 160)]],
    "old commit without a run": [rows(STEADY), [again(10, 30, "", 160)]],
    "a commit a file": [[row] for row in rows(SPIKE, timed=False)],
    "late commit": [rows(SPIKE)[:10] + rows(SPIKE)[11:], rows(SPIKE)[10:11]],
    "the whole file twice": [[*rows(SPIKE), again(29, 5, "", 100.2)]] * 2,
}


@pytest.mark.parametrize("case", CASES)
def test_gate_on_all_results_and_score_file_by_file_agree(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "commit,time,run,test,value"
    every = dict.fromkeys(row for file in CASES[case] for row in file)
    Path("all.csv").write_text("\n".join([head, *every, ""]))
    expected = code("gate", "all.csv", "--format", "json"), json.loads(capsys.readouterr().out)
    for file in CASES[case]:
        Path("new.csv").write_text("\n".join([head, *file, ""]))
        left = code("score", "new.csv", "--store", "ci.db", "--format", "json")
        answer = json.loads(capsys.readouterr().out)
    assert answer.pop("points")["rejected"] == 0
    answer.pop("reasons")
    assert (left, answer) == expected

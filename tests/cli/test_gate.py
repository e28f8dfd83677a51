"""`barograph gate` on files: what is reported at which commit, and the exit codes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.cli import main
from tests.cli.test_commands import code, results

WAYS = {-1: "worse", 0: "changed", 1: "better"}
GATE = ("--newest", "3")  # the second look may find a change two commits after it


def gate_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Return the exit code and the JSON of a gate."""
    capsys.readouterr()
    left = code("gate", *arguments, "--format", "json")
    return left, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("judge", [GATE, (*GATE, "--detector", "hunter")])
@pytest.mark.parametrize(
    ("shift", "direction", "kind", "expected"),
    [
        (20, -1, "regressions", 2),
        (-20, -1, "improvements", 0),
        (-20, 1, "regressions", 2),
        (20, 1, "improvements", 0),
        (20, 0, "regressions", 2),
        (0, -1, None, 0),
    ],
)
def test_gate_fails_on_a_change_for_the_worse(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    judge: tuple[str, ...],
    shift: float,
    direction: int,
    kind: str | None,
    expected: int,
) -> None:
    path = str(results(tmp_path, shift, direction=direction))
    left, report = gate_json(capsys, path, *judge)
    assert left == expected
    for name in ("regressions", "improvements"):
        assert len(report[name]) == (name == kind)
    if kind is not None:
        [alarm] = report[kind]
        assert (alarm["series"], alarm["answer"]) == ("db/query/-", "change")
        assert alarm["begins_commit"] == "c57"
        assert alarm["percent"] == pytest.approx(shift, abs=1.5)


def test_gate_is_red_when_a_change_is_found_and_names_it_as_known_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = []
    for length in range(57, 64):
        path = str(results(tmp_path, 20, length=length))
        codes.append(code("gate", path))
    assert sorted(codes) == [0] * 6 + [2]  # one red commit for one change
    assert codes[-1] == 0
    path = str(results(tmp_path, 20, length=63))
    left, report = gate_json(capsys, path)
    assert (left, report["series"][0]["known_since"]) == (0, "c57")
    assert gate_json(capsys, path) == (left, report)  # again
    code("gate", path)
    assert "known        db/query/-  +19.5 %  worse  at c57\n" in capsys.readouterr().out


def test_change_that_moved_beyond_its_first_alarm_is_seen_where_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = 100 + np.random.default_rng(0).standard_normal(41)
    values[-5:] *= 1.2
    values[-3:] *= 2.0
    rows = [f"query,{k},c{k},{value}" for k, value in enumerate(values.tolist(), 1)]
    path = tmp_path / "history.csv"
    path.write_text("\n".join(["test,order,commit,value", *rows]))
    left, report = gate_json(capsys, str(path), "--newest", "5")
    [alarm] = report["regressions"]
    assert (left, alarm["begins_commit"], alarm["commit"], alarm["order"]) == (2, "c39", "c39", 39)


def test_gate_passes_old_and_small_changes(tmp_path: Path) -> None:
    assert code("gate", str(results(tmp_path, 20, first=30)), *GATE) == 0
    assert code("gate", str(results(tmp_path, 20)), *GATE, "--min-change", "50") == 0


def test_gate_ignores_changes_of_less_than_half_a_percent_by_default(tmp_path: Path) -> None:
    values = 100 + 0.02 * np.random.default_rng(0).standard_normal(60)
    values[57:] += 0.4
    rows = [f"{order},{value!r}" for order, value in enumerate(values.tolist())]
    (tmp_path / "count.csv").write_text("\n".join(["order,value", *rows, ""]))
    assert code("gate", str(tmp_path / "count.csv"), *GATE) == 0
    assert code("gate", str(tmp_path / "count.csv"), *GATE, "--min-change", "0.1") == 2


@pytest.mark.parametrize(("direction", "expected"), [(-1, 2), (1, 0), (0, 2)])
def test_gate_treats_a_rise_from_zero_as_larger_than_any_minimum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], direction: int, expected: int
) -> None:
    path = tmp_path / "errors.csv"
    rows = [f"{order},{direction},{5 * (order >= 57)}" for order in range(60)]
    path.write_text("\n".join(["order,direction,value", *rows, ""]))
    assert code("gate", str(path), *GATE, "--detector", "hunter", "--min-change", "50") == expected
    assert f"errors  from 0  {WAYS[direction]}  at order 57\n" in capsys.readouterr().out
    code("detect", str(path), "--detector", "hunter", "--format", "json")
    [point] = json.loads(capsys.readouterr().out)["series"][0]["change_points"]
    assert (point["mean_before"], point["mean_after"], point["percent"]) == (0, 5, None)


@pytest.mark.parametrize(
    "option",
    [
        ("--model", "m.baro"),
        ("--false-red", "5"),
        ("--rerun", "measure > {out}"),
    ],
)
def test_options_of_the_online_judge_are_refused_with_a_detector(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.baro").touch()
    assert code("gate", str(results(tmp_path, 20)), *option, "--detector", "hunter") == 1
    expected = f"{option[0].replace('no-', '')}: --detector hunter replaces the online judge"
    assert expected in capsys.readouterr().err


def test_gate_exits_3_without_enough_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, report = gate_json(capsys, str(results(tmp_path, 0, length=5, first=5)))
    assert (left, report["too_short"], report["series"]) == (3, ["db/query/-"], [])
    left, _ = gate_json(capsys, str(results(tmp_path, 0, length=6, first=6)))
    assert left == 0


def test_minimum_of_earlier_results_counts_those_since_a_step_by_ten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "step.csv"
    rows = [f"{order},{(100 if order < 60 else 2000) + order % 3}" for order in range(90)]
    path.write_text("\n".join(["order,value", *rows, ""]))
    config = tmp_path / "barograph.toml"
    for least, expected, short in ((29, 0, []), (30, 3, ["step"])):
        config.write_text(f"[gate]\nmin-history = {least}\n")
        left = code("--config", str(config), "gate", str(path), "--format", "json")
        assert (left, json.loads(capsys.readouterr().out)["too_short"]) == (expected, short)


def with_newest(folder: Path, *newest: float, direction: int = -1) -> str:
    """Write a quiet series of 60 commits, and one more with the given runs."""
    values = 100 + np.random.default_rng(3).standard_normal(60)
    rows = [f"q,{k},c{k},,{direction},{value}" for k, value in enumerate(values.tolist())]
    rows += [f"q,60,c60,{run},{direction},{value}" for run, value in enumerate(newest, 1)]
    path = folder / f"{len(newest)}.csv"
    path.write_text("\n".join(["test,order,commit,run,direction,value", *rows, ""]))
    return str(path)


@pytest.mark.parametrize(
    ("value", "direction", "expected"),
    [(140, -1, 4), (140, 0, 4), (140, 1, 0), (115, -1, 0)],
)
def test_suspect_fails_the_job_if_it_is_worse_by_a_quarter(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    value: float,
    direction: int,
    expected: int,
) -> None:
    path = with_newest(tmp_path, value, direction=direction)
    left, report = gate_json(capsys, path)
    assert left == expected
    assert report["regressions"] == report["improvements"] == []
    [suspect] = report["suspects"]
    assert (suspect["series"], suspect["commit"], suspect["order"]) == ("q", "c60", 60)
    assert (suspect["answer"], suspect["reruns"], suspect["known_since"]) == ("suspect", 1, None)
    assert suspect["percent"] == pytest.approx(value - 100, abs=1)
    assert suspect["surprise"] > 5
    assert gate_json(capsys, path) == (left, report)


def test_suspect_is_printed_with_the_reason_and_the_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code("gate", with_newest(tmp_path, 115.0)) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("suspect      q  +14.8 %")
    assert "worse  at c60  " in line
    assert line.endswith(
        " noise units beyond the last 60 results; run this commit once more to settle it"
    )


@pytest.mark.parametrize(
    ("runs", "expected", "kind"),
    [
        ((140.0, 141.0), 2, "regressions"),
        ((140.0, 100.0), 0, None),
        ((140.0, 141.0, 139.0), 2, "regressions"),
        ((140.0, 100.0, 101.0), 0, None),
        ((100.0, 140.0), 0, None),
    ],
)
def test_further_runs_of_the_commit_settle_a_suspect(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    runs: tuple[float, ...],
    expected: int,
    kind: str | None,
) -> None:
    left, report = gate_json(capsys, with_newest(tmp_path, *runs))
    assert left == expected
    for name in ("regressions", "suspects", "improvements"):
        assert len(report[name]) == (name == kind)
    [series] = report["series"]
    assert series["runs"] == len(runs)
    if kind == "regressions":
        assert series["begins_commit"] == "c60"
        assert series["percent"] == pytest.approx(40, abs=2)


def test_judge_sees_the_runs_of_older_commits_unless_their_mean_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(with_newest(tmp_path, 150.0))
    lines = path.read_text().splitlines()
    older = [f"{line}\n{line.replace(',,', ',b,', 1)}" for line in lines[1:-1]]
    spike = [f"q,59,c59,a,-1,{300}", "q,59,c59,b,-1,100"]  # its first run departs
    path.write_text("\n".join([lines[0], *older[:-1], *spike, lines[-1], ""]))
    # With its median or mean, c59 would be at 200, and the newest result within the usual range.
    config = tmp_path / "barograph.toml"
    for aggregate, departs in (("median", True), ("mean", False)):
        config.write_text(f'[input]\naggregate = "{aggregate}"\n')
        capsys.readouterr()
        code("--config", str(config), "gate", str(path), "--format", "json")
        report = json.loads(capsys.readouterr().out)
        assert (report["series"][0]["surprise"] > 0) == departs


def test_order_of_the_rows_of_a_commit_does_not_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(with_newest(tmp_path, 140.0, 100.0, 101.0))
    answers = [gate_json(capsys, str(path))]
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *reversed(lines[1:]), ""]))
    assert [*answers, gate_json(capsys, str(path))] == answers * 2


def test_rerun_half_of_the_way_asks_for_two_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_newest(tmp_path, 140.0, 118.0)
    _, report = gate_json(capsys, path)
    assert report["series"][0]["reruns"] == 2
    code("gate", path)
    assert "run this commit 2 times more to settle it" in capsys.readouterr().out


def test_regression_counts_before_a_suspect(tmp_path: Path) -> None:
    suspect = Path(with_newest(tmp_path, 140.0)).read_text().splitlines()
    step = Path(with_newest(tmp_path, 140.0, 141.0)).read_text().splitlines()[1:]
    lines = [*suspect, *(line.replace("q,", "r,", 1) for line in step)]
    (tmp_path / "both.csv").write_text("\n".join([*lines, ""]))
    assert code("gate", str(tmp_path / "both.csv")) == 2


def test_gate_reports_how_many_results_were_combined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{k},{run},{100 + run}" for k in range(30) for run in (1, 2, 3)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["order,run,value", *lines, ""]))
    with pytest.raises(SystemExit):
        main(["gate", str(path), "--format", "json"])
    output = capsys.readouterr()
    assert json.loads(output.out)["series"][0]["runs"] == 3
    assert (
        output.err == f"{path}: 90 results of commits with several runs, replaced by their median\n"
    )


def test_aggregate_is_refused_where_no_table_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "barograph.toml"
    config.write_text('[input]\naggregate = "mean"\n')
    assert code("--config", str(config), "gate", str(tmp_path), "--kind", "mongodump") == 1
    assert "the options for files do not apply" in capsys.readouterr().err


def test_probability_of_a_triaged_change_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(results(tmp_path, 20, first=50))
    left, report = gate_json(capsys, path, "--detector", "triaged", "--newest", "10")
    assert left == 2
    assert report["regressions"][0]["probability"] > 0.5


def test_every_standing_change_of_the_newest_commits_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = np.repeat([100.0, 70.0, 80.0], [120, 10, 12])
    values = levels + np.random.default_rng(0).standard_normal(levels.size)
    lines = [f"{k},1,{value}" for k, value in enumerate(values)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["order,direction,value", *lines, ""]))
    left, report = gate_json(capsys, str(path), "--newest", "25")
    assert left == 2
    assert [regression["begins"] for regression in report["regressions"]] == [120]
    assert [improvement["begins"] for improvement in report["improvements"]] == [130]
    left, _ = gate_json(capsys, str(path), "--newest", "142")  # the whole history is new
    assert left == 2


def test_canary_that_moves_is_named_in_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = with_newest(tmp_path, 140.0)
    (tmp_path / "barograph.toml").write_text('[patterns]\ncanary = ["q"]\n')
    _, report = gate_json(capsys, path)
    assert report["notes"] == ["canaries moved, so the machine may have changed: q"]


def test_results_of_a_branch_are_judged_after_the_base_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = 100 + np.random.default_rng(3).standard_normal(60)
    rows = [f"q,{k},c{k},main,lower,{value}" for k, value in enumerate(values.tolist())]
    rows += ["r" + row[1:] for row in rows]
    path = tmp_path / "branches.csv"
    header = "test,order,commit,branch,direction,value"
    path.write_text("\n".join([header, *rows, "q,40,f1,fix,lower,140", ""]))
    left, report = gate_json(capsys, str(path), "--branch", "fix")
    assert left == 4
    assert [suspect["commit"] for suspect in report["suspects"]] == ["f1"]
    assert (len(report["series"]), report["missing"]) == (1, ["r"])
    # Later results of the base branch are not asked about.
    assert gate_json(capsys, str(path), "--branch", "fix", "--since", "c50")[1] == report
    left, report = gate_json(capsys, str(path), "--branch", "main")
    assert (left, report["suspects"], len(report["series"])) == (0, [], 2)


def test_a_regression_of_a_branch_is_reported_until_the_branch_takes_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(3).standard_normal(60).tolist()
    path = tmp_path / "branches.csv"
    rows = ["test,order,commit,branch,direction,value"]
    rows += [f"q,{k},c{k},main,lower,{100 + value}" for k, value in enumerate(noise[:40])]

    def pushed(values: list[float]) -> tuple[int, list[str], list[str]]:
        first = len(rows) - 1
        for k, value in enumerate(values, first):
            rows.append(f"q,{k},f{k},fix,lower,{value + noise[k]}")
        path.write_text("\n".join([*rows, ""]))
        left, report = gate_json(capsys, str(path), "--branch", "fix")
        worse, better = (
            [answer["begins_commit"] for answer in report[kind]]
            for kind in ("regressions", "improvements")
        )
        return left, worse, better

    assert pushed([140.0] * 3) == (2, ["f40"], [])
    assert pushed([140.0] * 3) == (2, ["f40"], [])
    assert pushed([100.0] * 5) == (0, [], ["f46"])
    assert pushed([100.0] * 2) == (0, [], ["f46"])


def after_spikes(folder: Path, *newest: float) -> str:
    """Write 80 commits with eight spikes, and some more."""
    values = 100 + np.random.default_rng(0).standard_normal(80)
    values[[3, 4, 11, 18, 19, 27, 33, 34]] *= 1.55
    rows = [f"q,{k},c{k},-1,{value}" for k, value in enumerate([*values.tolist(), *newest])]
    path = folder / f"spikes-{len(newest)}.csv"
    path.write_text("\n".join(["test,order,commit,direction,value", *rows, ""]))
    return str(path)


STEP = (115.2, 114.3, 115.6, 115.1, 114.8, 115.4, 114.6, 115.0)


@pytest.mark.parametrize("judge", [("--newest", "6"), ("--newest", "8", "--detector", "triaged")])
def test_spikes_before_a_change_do_not_make_it_smaller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: tuple[str, ...]
) -> None:
    left, report = gate_json(capsys, after_spikes(tmp_path, *STEP), *judge, "--min-change", "10")
    assert left == 2
    [regression] = report["regressions"]
    assert 14 <= regression["percent"] <= 16
    assert code("detect", after_spikes(tmp_path, *STEP), "--min-change", "10") == 0
    assert "100.2 -> 115  +14.8 %" in capsys.readouterr().out


def test_a_known_change_keeps_its_size_after_a_spike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = []
    for newest in (STEP[:5], (*STEP[:5], 300.0, *STEP[5:])):
        _, report = gate_json(capsys, after_spikes(tmp_path, *newest))
        [known] = [answer for answer in report["series"] if answer["answer"] == "quiet"]
        assert known["known_since"] == "c80"
        sizes.append(known["percent"])
    assert sizes == pytest.approx([15.0, 15.0], abs=0.5)


def test_a_suspect_is_measured_against_the_current_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The last 80 results have a median of 100; a level of 115 began with the last ten.
    path = after_spikes(tmp_path, *STEP, 115.3, 114.9, 172.5)
    left, report = gate_json(capsys, path)
    [suspect] = report["suspects"]
    assert (left, suspect["percent"]) == (4, pytest.approx(50.0, abs=0.5))
    assert gate_json(capsys, path, "--suspect-fails-at", "60")[0] == 0

"""The machine as an answer: slow runs, and changes of everything, on simulated hosts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.cli import machine
from barograph.cli.answers import COMMON, JobAnswer, Judging
from barograph.cli.gate import judged_job
from barograph.cli.judged import JobRow
from barograph.detection.online import make_judge
from barograph.models import OnlineModels
from barograph.results.series import Direction, Floats, Series, SeriesId
from tests.cli.test_commands import code

JUDGE = make_judge(OnlineModels.default())
SERIES, PLACE = 40, 70
STEADY, LOTTERY = 0.0, 0.02
EVERY = np.ones(SERIES)


def host(seed: int, lottery: float = STEADY, runs: int = PLACE + 6) -> Floats:
    """Return the times of series with 1 % of noise, on one host or on another one at each run."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, 0.01, (runs, SERIES)) + rng.normal(0.0, lottery, (runs, 1))
    return 100.0 * np.exp(logs + rng.normal(0.0, 1.0, SERIES))


def slower(values: Floats, size: float, share: float = 1.0, last: int | None = None) -> Floats:
    """Return times that are slower from PLACE on, in a share of the series."""
    changed = values.copy()
    changed[PLACE:last, : round(share * SERIES)] *= 1.0 + size
    return changed


def rows_of(values: Floats, end: int, newest: int = 1) -> list[JobRow]:
    """Return the series of a job after the first runs; NaN stands for no result."""
    rows: list[JobRow] = []
    for k, column in enumerate(values[:end].T):
        orders = np.flatnonzero(np.isfinite(column))
        names = [f"c{order}" for order in orders]
        name, lower = SeriesId("", "", "", f"s{k}", ""), Direction.LOWER_IS_BETTER
        series = Series(name, orders, column[orders], names, direction=lower)
        rows.append((series, {}, int((orders >= end - newest).sum()), 0))
    return [row for row in rows if len(row[0])]


def gated(values: Floats, end: int, newest: int = 1, **judging: Any) -> JobAnswer:
    """Return the answer of `gate` after the first runs."""
    return judged_job(Judging(**judging), rows_of(values, end, newest), JUDGE)


def after(values: Floats, commits: int = 2, **judging: Any) -> Iterator[JobAnswer]:
    """Yield the answers at PLACE and at some commits after it."""
    return (gated(values, PLACE + 1 + k, **judging) for k in range(commits + 1))


def red(job: JobAnswer) -> set[str]:
    """Return the names of what fails a job."""
    return {answer.series for answer in job.answers if job.fails(answer)}


def explained(job: JobAnswer) -> list[str]:
    assert job.machine is not None
    return sorted(job.machine["explained"])


def answer_of(job: JobAnswer) -> str:
    assert job.machine is not None
    return str(job.machine["answer"])


@pytest.mark.parametrize("size", [0.08, 0.15])
def test_one_slow_run_of_a_steady_host_is_named_and_fails_no_job(size: float) -> None:
    named = 0
    for seed in range(8):
        quiet = host(seed)
        job = gated(slower(quiet, size, last=PLACE + 1), PLACE + 1)
        named += answer_of(job) == "machine"
        assert red(job) <= red(gated(quiet, PLACE + 1))
        explained = [answer for answer in job.answers if answer.explained]
        assert job.machine is not None
        assert {answer.series for answer in explained} == set(job.machine["explained"])
        for later in range(2, 5):  # the host is as fast as before
            values = slower(quiet, size, last=PLACE + 1)
            assert red(gated(values, PLACE + later)) <= red(gated(quiet, PLACE + later))
    assert named == 8


def test_change_of_everything_is_one_line_within_two_commits() -> None:
    found, lines, lines_before = 0, 0, 0
    for seed in range(8):
        values = slower(host(seed), 0.08)
        jobs = [*after(values)]
        assert answer_of(jobs[0]) == "machine"
        assert jobs[0].exit_code == 0
        found += any(COMMON in red(job) for job in jobs)
        lines += sum(len(red(job)) for job in jobs)
        lines_before += sum(len(red(job)) for job in after(values, machine_answer="off"))
        assert answer_of(jobs[-1]) in ("change", "known")
        [change] = [a for a in jobs[-1].answers if a.is_common]
        assert change.begins == PLACE
        assert change.percent == pytest.approx(8.0, abs=1.5)
        assert change.is_worse
    assert found == 8
    assert lines <= lines_before / 3


@pytest.mark.parametrize(("size", "lag", "seed"), [(0.15, 4, 0), (0.2, 2, 0), (0.1, 3, 1)])
def test_change_of_everything_soon_after_a_slow_run_is_found(
    size: float, lag: int, seed: int
) -> None:
    values = slower(host(seed, runs=PLACE + 10), size, last=PLACE + 1)
    values[PLACE + lag :] *= 1.08
    jobs = [gated(values, PLACE + 1 + k) for k in range(lag + 4)]
    assert [job.exit_code for job in jobs[:lag]] == [0] * lag
    assert set().union(*map(red, jobs)) == {COMMON}
    assert COMMON in set().union(*map(red, jobs[: lag + 3]))
    [change] = [a for a in jobs[-1].answers if a.is_common]
    assert (change.known, change.begins) == (True, PLACE + lag)


@pytest.mark.parametrize("lottery", [STEADY, LOTTERY])
def test_commits_without_results_of_some_series_have_the_same_common_part(lottery: float) -> None:
    values = slower(host(1, lottery), 0.08)
    is_odd, is_late = np.arange(len(values)) % 2 == 1, np.arange(SERIES) >= SERIES / 2
    values[is_odd[:, None] != is_late] = np.nan
    jobs = [*after(values, 5)]
    assert [red(job) for job in jobs] == [set(), set(), {COMMON}, set(), set(), set()]
    assert [answer_of(job) for job in jobs[2:]] == ["change", "known", "known", "known"]


@pytest.mark.parametrize("seed", [3, 4])
def test_slow_run_that_few_steady_series_show_is_set_aside(seed: int) -> None:
    quiet = host(seed)[:, :20]
    noise = np.random.default_rng(seed).normal(0.0, 0.08, (len(quiet), 16))
    quiet[:, 4:] *= np.exp(noise)
    values = slower(quiet, 0.15, last=PLACE + 1)[PLACE - 19 :]
    job = gated(values, 20)  # the common part has too few earlier runs to depart
    assert not red(job)
    assert job.machine is not None
    assert job.machine["able"] < 5
    assert explained(job)


@pytest.mark.parametrize("lottery", [STEADY, LOTTERY])
@pytest.mark.parametrize("share", [0.25, 0.6])
def test_change_of_many_series_is_not_the_machine(share: float, lottery: float) -> None:
    for seed in range(3):
        values = slower(host(seed, lottery), 0.08, share)
        jobs, before = [*after(values)], [*after(values, machine_answer="off")]
        assert answer_of(jobs[0]) != "machine"
        assert any(map(red, jobs)) == any(map(red, before)) == 1
        named, named_before = (set().union(*map(red, every)) for every in (jobs, before))
        assert len(named) >= 0.8 * len(named_before)


def test_change_of_one_series_at_a_slow_run_counts_once_it_lasts() -> None:
    values = slower(host(1), 0.08, last=PLACE + 1)
    values[PLACE:, 7] *= 1.06  # 14 % at the slow run
    values[PLACE:, 8] *= 1.25
    jobs = [*after(values, 3)]
    assert answer_of(jobs[0]) == "machine"
    named = [{answer.series for answer in job.of_kind("regression")} for job in jobs]
    assert [sum(name in names for names in named) for name in ("s8", "s7")] == [1, 1]
    assert jobs[-1].exit_code == 0


@pytest.mark.parametrize(
    ("size", "fail_on", "expected"),
    [(0.2, "regression", 0), (0.3, "regression", 4), (0.08, "suspect", 4), (-0.2, "suspect", 4)],
)
def test_slow_run_fails_a_job_as_a_suspect_does(size: float, fail_on: str, expected: int) -> None:
    job = gated(slower(host(2), size, last=PLACE + 1), PLACE + 1, fail_on=fail_on)
    assert (answer_of(job), job.exit_code) == ("machine", expected)


def test_slow_run_after_a_change_of_a_series_is_set_aside() -> None:
    for seed in range(4):
        values = slower(host(seed), 0.15, last=PLACE + 1)
        values[PLACE - 12 :, 5] *= 0.87  # known, but not half of the results before the run
        job = gated(values, PLACE + 1)
        assert answer_of(job) == "machine"
        assert "s5" not in red(job)
        assert "s5" in explained(job)


def facts_of(job: JobAnswer) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Return what a job says about the machine, and about each series whatever its unit."""
    assert job.machine is not None
    machine = {**job.machine, "explained": explained(job)}
    numbers = "percent", "probability", "surprise"
    said = {
        (a.series, a.answer): (
            *(job.fails(a), a.explained, a.known, a.begins, a.order),
            *(pytest.approx(getattr(a, name), rel=1e-9, nan_ok=True) for name in numbers),
        )
        for a in job.answers
    }
    return machine | {"percent": pytest.approx(machine["percent"], rel=1e-9)}, said


def uneven(seed: int, lottery: float) -> Floats:
    """Return a host with a slow run, changes, gaps, and series that begin late."""
    values = slower(host(seed, lottery), 0.1, last=PLACE + 1)
    values[PLACE:, 3] *= 1.3
    values[PLACE + 2 :] *= 1.08
    values[np.random.default_rng(seed).random(values.shape) < 0.1] = np.nan
    values[:-9, 4] = np.nan
    values[: PLACE - 3, 5] = np.nan
    return values


@pytest.mark.parametrize("lottery", [STEADY, LOTTERY])
@pytest.mark.parametrize("end", [PLACE + 1, PLACE + 4])
def test_order_and_unit_of_series_change_nothing(lottery: float, end: int) -> None:
    values = uneven(7, lottery)
    rows = rows_of(values, end)
    expected = facts_of(judged_job(Judging(), rows, JUDGE))
    order = np.random.default_rng(1).permutation(len(rows))
    shuffled = judged_job(Judging(), [rows[k] for k in order], JUDGE)
    assert facts_of(shuffled) == expected
    factors = np.random.default_rng(2).uniform(1e-6, 1e6, SERIES)
    assert facts_of(gated(values * factors, end)) == expected


@pytest.mark.parametrize(
    ("seed", "lottery"), [(13, STEADY), (13, LOTTERY), (0, LOTTERY), (5, STEADY)]
)
def test_job_of_several_commits_reports_what_the_jobs_of_each_reported(
    seed: int, lottery: float
) -> None:
    values = slower(host(seed, lottery), 0.08)
    values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    values[: PLACE - 3, 5] = np.nan

    def failing(end: int, newest: int) -> set[tuple[Any, ...]]:
        job = gated(values, end, newest)
        return {(a.series, a.order, a.begins, a.percent) for a in job.answers if job.fails(a)}

    singly = set().union(*(failing(end, 1) for end in range(PLACE + 1, PLACE + 6)))
    assert {name for name, *_ in singly} == {COMMON}
    together = failing(PLACE + 5, 5)
    assert {row[:3] for row in singly} == {row[:3] for row in together}


@pytest.mark.parametrize(
    ("values", "expects_none"),
    [
        pytest.param(host(9)[:, :4], True, id="four series"),
        pytest.param(np.full((PLACE + 6, SERIES), 5.0), True, id="equal values"),
        pytest.param(host(9)[:1], True, id="one run"),
        pytest.param(np.where(np.arange(SERIES) < 30, np.nan, host(9)), False, id="ten series"),
        pytest.param(np.where(np.arange(SERIES) < 33, np.nan, host(9)), True, id="seven series"),
        pytest.param(np.zeros((PLACE + 6, SERIES)), True, id="no logarithms"),
    ],
)
def test_few_or_equal_results_have_no_common_part(values: Floats, expects_none: bool) -> None:
    for end in {1, 2, 13, len(values)} & {*range(len(values) + 1)}:
        job = gated(values, end)
        if job.machine is None:  # no series is judged
            assert end <= 5
            continue
        assert not explained(job)
        assert not red(job)
        if end <= 12 or expects_none:
            assert (job.machine["percent"], job.machine["answer"]) == (0.0, "too_few")


def test_series_without_results_before_a_change_of_everything_is_judged() -> None:
    values = slower(host(10), 0.2)
    values[:PLACE, 7] = np.nan
    for end in range(PLACE + 1, PLACE + 7):
        assert "s7" not in red(gated(values, end))


def test_half_of_the_series_that_move_are_a_note() -> None:
    job = gated(slower(host(3), 0.15, 0.7), PLACE + 1)
    later = gated(slower(host(3), 0.15, 0.7), PLACE + 2)
    notes = [note for each in (job, later) if each.exit_code for note in each.notes]
    assert notes[0] == "28 of 40 series moved together: a rerun tells a machine from a change"
    assert not gated(host(3), PLACE + 1).notes


@pytest.mark.parametrize("size", [7, 12])
def test_few_series_have_no_common_part(size: int) -> None:
    job = gated(slower(host(4), 0.5)[:, :size], PLACE + 1)
    assert answer_of(job) == ("too_few" if size == 7 else "machine")
    assert job.exit_code == (2 if size == 7 else 4)


def test_large_jobs_are_judged_without_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MOST_SERIES", 39)
    job = gated(slower(host(5), 0.15, last=PLACE + 1), PLACE + 1)
    assert job.machine is None
    assert job.notes == ["the machine is not judged in jobs of over 39 series"]


def history(path: Path, values: Floats, *, again: bool = False) -> str:
    """Write the results of a job, of two machines; with a second run of the newest commit."""
    lines = ["project,machine,test,order,commit,run,unit,value"]
    for order, row in enumerate(values.tolist()):
        for run in ("", "2")[: 1 + (again and order == PLACE)]:
            lines += [
                f"p,m{k % 2},s{k},{order},c{order},{run},ms,{value}" for k, value in enumerate(row)
            ]
    path.write_text("\n".join([*lines, ""]))
    return str(path)


@pytest.mark.parametrize(
    ("last", "end", "answer"),
    [(PLACE + 1, 1, "machine"), (None, 2, "change"), (None, 3, "known"), (PLACE + 1, 4, "quiet")],
)
def test_gate_and_score_agree_about_the_machine(
    last: int | None, end: int, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = history(tmp_path / "a.csv", slower(host(7), 0.1, last=last)[: PLACE + end])
    printed = []
    for command in ("gate", "gate", "score", "score"):
        store = ("--store", str(tmp_path / "ci.db")) if command == "score" else ()
        left = code(command, path, *store, "--format", "json")
        content = json.loads(capsys.readouterr().out)
        content = {k: v for k, v in content.items() if k not in ("points", "reasons")}
        printed.append((left, content))
    assert printed[0] == printed[1] == printed[2] == printed[3]
    assert printed[0][1]["machine"]["answer"] == answer


@pytest.mark.parametrize("output", ["text", "csv", "markdown", "junit", "github"])
def test_every_format_names_the_machine(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = history(tmp_path / "a.csv", slower(host(6), 0.1, last=PLACE + 1)[: PLACE + 1])
    assert code("gate", path, "--format", output) == 0
    printed = capsys.readouterr().out
    assert "one slow run or a change of everything" in printed
    assert ("::warning " in printed) == (output == "github")
    assert ("40 series judged" in printed) == (output in ("text", "markdown", "github"))


def test_runs_that_confirm_a_slow_run_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = slower(host(6), 0.15)[: PLACE + 1]
    assert code("gate", history(tmp_path / "a.csv", values, again=True), "--format", "json") == 2
    content = json.loads(capsys.readouterr().out)
    assert content["machine"]["explained"] == []
    assert len(content["regressions"]) >= SERIES / 2


def test_machine_is_a_key_of_jobs_and_of_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = history(tmp_path / "a.csv", slower(host(6), 0.1, last=PLACE + 1)[: PLACE + 1])
    Path("barograph.toml").write_text('[input]\nmachine = "pi"\n[gate]\nmachine = "off"\n')
    code("gate", path, "--format", "json")
    assert json.loads(capsys.readouterr().out)["machine"] is None
    Path("barograph.toml").write_text('[gate]\nmachine = "on"\n')
    assert code("gate", path) == 1
    assert "'on' is not one of 'auto', 'answer', 'off'" in capsys.readouterr().err

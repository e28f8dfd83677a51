"""One event that makes several series worse fails one job: later series join it as known."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.cli import events
from barograph.cli.answers import JobAnswer, Judging, SeriesAnswer
from barograph.cli.config import Config, Suppression
from barograph.cli.gate import judged_job
from barograph.cli.judged import JudgedSeries
from barograph.cli.rendering import FORMATS, render
from barograph.detection.online import make_judge
from barograph.models import OnlineModels
from barograph.results.series import Direction, Floats, Series, SeriesId
from tests.cli.test_commands import code

JUDGE = make_judge(OnlineModels.default())
AT, LENGTH, SERIES = 30, 44, 8
Change = tuple[str, int, int | None, float]  # its series, where it was found and begins, its size


def drawn(seed: int, size: float = 0.06, noise: float = 0.015) -> Floats:
    """Return series of which all are worse from one commit on."""
    values = 100 * (1 + noise * np.random.default_rng(seed).standard_normal((SERIES, LENGTH)))
    values[:, AT:] *= 1 + size
    return values


def series_of(name: str, values: Floats, project: str = "", direction: int = -1) -> Series:
    commits = [f"c{place}" for place in range(values.size)]
    identity = SeriesId(project, "", "", name, "")
    return Series(identity, np.arange(values.size), values, commits, direction=Direction(direction))


def judged(series: Sequence[Series], newest: int) -> JobAnswer:
    """Judge series as a job does whose newest commit is at a position."""
    size = newest + 1
    cuts = [
        replace(e, orders=e.orders[:size], values=e.values[:size], commits=e.commits[:size])
        for e in series
    ]
    judging = Judging(machine_answer="off")  # these tests are about single series
    return judged_job(judging, [(cut, {}, 1, 0) for cut in cuts], JUDGE)


def red_jobs(series: Sequence[Series]) -> list[int]:
    return [at for at in range(AT - 1, LENGTH) if judged(series, at).exit_code == 2]


def test_event_in_several_series_fails_about_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = [[series_of(f"s{k}", row) for k, row in enumerate(drawn(seed))] for seed in range(8)]
    joined = [red_jobs(series) for series in draws]
    monkeypatch.setattr(events, "EARLIER", 0)
    alone = [red_jobs(series) for series in draws]
    assert [jobs[0] for jobs in joined] == [jobs[0] for jobs in alone]
    assert np.mean([len(jobs) for jobs in joined]) <= 1.3
    assert np.mean([len(jobs) for jobs in alone]) >= 2.0


def test_failures_are_the_regressions_of_earlier_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Change]] = []

    def spy(job: JobAnswer, series: Sequence[JudgedSeries], judge: events.Answering) -> JobAnswer:
        every = [failure.answer for failure in events._failures(series, judge)]
        found.append(sorted(map(change_of, every)))
        return job

    monkeypatch.setattr("barograph.cli.events.join_events", spy)
    series = [series_of(f"s{k}", row) for k, row in enumerate(drawn(1))]
    by_commit = [
        sorted(map(change_of, judged(series, at).of_kind("regression"))) for at in range(18, LENGTH)
    ]
    found.clear()
    for at in range(28, LENGTH):
        judged(series, at)
    lasts = [by_commit[k : k + 10] for k in range(len(by_commit) - 10)]
    before = [sorted(itertools.chain.from_iterable(last)) for last in lasts]
    assert [[one[:3] for one in every] for every in found] == [
        [one[:3] for one in every] for every in before
    ]
    actual, expected = ([one[3] for part in every for one in part] for every in (found, before))
    np.testing.assert_allclose(actual, expected, rtol=0.1)
    assert len(actual) > 20


def change_of(answer: SeriesAnswer) -> Change:
    return answer.series, answer.order, answer.begins, answer.percent


def uneven(
    late: float = 0.06,
    noise: float = 0.02,
    at: int = AT,
    project: str = "",
    first_direction: int = -1,
) -> list[Series]:
    """Return a series that is soon found worse, and noisy ones that are found later."""
    rng = np.random.default_rng(3)
    clear = 100 * (1 + 0.004 * rng.standard_normal(LENGTH))
    clear[AT:] *= 1.06
    series = [series_of("clear", clear, direction=first_direction)]
    for k in range(4):
        values = 100 * (1 + noise * rng.standard_normal(LENGTH))
        values[at:] *= 1 + late
        series.append(series_of(f"late{k}", values, project))
    return series


def found_later(series: Sequence[Series], clear: str) -> set[str]:
    """Return the series that fail a job after the one in which the clear one is of some kind."""
    jobs = [judged(series, at) for at in range(AT, LENGTH)]
    first = [[a.series for a in job.of_kind(clear)] for job in jobs].index(["clear"])
    return {a.series for job in jobs[first + 1 :] for a in job.of_kind("regression")}


@pytest.mark.parametrize(
    ("different", "joins"),
    [
        ({}, True),
        ({"late": 0.3, "noise": 0.1}, False),  # more than twice as large
        ({"at": AT + 4, "noise": 0.01}, False),  # begins after the range
        ({"project": "another"}, False),
    ],
)
def test_series_joins_from_the_range_of_an_event_and_up_to_twice_its_size(
    different: dict[str, Any], joins: bool
) -> None:
    assert (found_later(uneven(**different), "regression") == set()) == joins


def test_improvement_takes_no_series_in() -> None:
    assert found_later(uneven(first_direction=1), "improvement")


def test_suppressed_change_takes_no_series_in(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Suppression(series="clear", reason="accepted")
    monkeypatch.setattr("barograph.cli.gate.current_config", lambda: Config(suppress=(rule,)))
    assert found_later(uneven(), "suppressed")


def test_known_change_takes_no_series_in(monkeypatch: pytest.MonkeyPatch) -> None:
    series = uneven()
    at = next(at for at in range(AT + 2, LENGTH) if joined(judged(series, at)))
    monkeypatch.setattr(events, "EARLIER", 1)  # no job failed at this commit
    job = judged(series, at)
    assert "clear" in {answer.series for answer in job.of_kind("known")}
    assert job.of_kind("regression")
    assert not joined(job)


def joined(job: JobAnswer) -> list[SeriesAnswer]:
    return [answer for answer in job.answers if answer.event is not None]


def joining(folder: Path) -> tuple[Path, int]:
    """Write a table up to the first commit at which a series joins an event; return both."""
    series = uneven()
    at = next(at for at in range(AT, LENGTH) if joined(judged(series, at)))
    rows = ["order,commit,test,direction,value"]
    rows += [
        f"{place},c{place},{entry.id.test},-1,{float(entry.values[place])!r}"
        for place in range(at + 1)
        for entry in series
    ]
    path = folder / "results.csv"
    path.write_text("\n".join([*rows, ""]))
    return path, at


def test_gate_and_score_report_a_series_that_joins_as_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path, at = joining(tmp_path)
    actual: dict[str, tuple[int, Any]] = {}
    for command, options in (("gate", ()), ("score", ("--store", "ci.db"))):
        left = code(command, str(path), *options, "--format", "json")
        answer = json.loads(capsys.readouterr().out)
        actual[command] = left, {k: v for k, v in answer.items() if k not in ("points", "reasons")}
    assert actual["gate"] == actual["score"]
    left, job = actual["gate"]
    assert (left, job["regressions"]) == (0, [])
    late = [answer for answer in job["series"] if answer["event"] is not None]
    assert late
    for answer in late:
        assert answer["event_commit"] == f"c{answer['event']}"
        assert AT <= answer["event"] < answer["order"] == at
        assert answer["answer"] == "quiet"
        assert answer["known_since"] == answer["begins_commit"]
        assert answer["percent"] > 2.0
    others = [answer for answer in job["series"] if answer["event"] is None]
    assert {answer["event_commit"] for answer in others} == {""}


@pytest.mark.parametrize("output", [name for name in FORMATS if name not in ("json", "csv")])
def test_every_output_names_the_event(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = SeriesAnswer(
        *("a", -1, 33, "c33", "quiet", 0.9, 5.0),
        begins=31,
        begins_commit="c31",
        known=True,
        event=32,
        event_commit="c32",
    )
    render(JobAnswer([answer]), output)
    text = capsys.readouterr().out
    assert "one event with the regression that failed the job at c32" in text
    assert "known" in text
    assert "::error" not in text
    assert "<failure" not in text

"""What fails a job, and with which exit code."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from barograph.cli.answers import KINDS, JobAnswer, Judging, SeriesAnswer
from barograph.cli.judged import JudgedSeries
from barograph.detection.online import AlarmStep, Answer, make_judge
from barograph.detection.online.budget import JobBudget
from barograph.detection.online.decision import StepKind
from barograph.detection.online.latest import LatestDecision
from barograph.models import OnlineModels
from barograph.results.series import Series, SeriesId

WORSE = SeriesAnswer(
    series="a", direction=-1, order=9, commit="c9", answer="change", probability=0.9, percent=20.0
)
BETTER = replace(WORSE, series="b", percent=-20.0)
UNCERTAIN = replace(WORSE, series="u", is_certain=False)
SMALL = replace(WORSE, series="s", answer="suspect", percent=10.0)
LARGE = replace(SMALL, series="l", percent=30.0)
LIKELY_NOISE = replace(LARGE, series="n", is_certain=False)
QUIET = replace(WORSE, series="q", answer="quiet", percent=0.0)
CONTRADICTED = replace(LARGE, series="r", answer="quiet", runs=2, reruns=2)


@pytest.mark.parametrize(
    ("answers", "regression", "suspect", "any_"),
    [
        ([], 3, 3, 3),
        ([QUIET], 0, 0, 0),
        ([WORSE], 2, 2, 2),
        ([replace(WORSE, direction=0)], 2, 2, 2),
        ([replace(WORSE, direction=1)], 0, 0, 2),
        ([BETTER], 0, 0, 2),
        ([UNCERTAIN], 0, 4, 4),
        ([replace(UNCERTAIN, percent=-20.0)], 0, 0, 0),
        ([SMALL], 0, 4, 4),
        ([LARGE], 4, 4, 4),
        ([replace(LARGE, percent=-30.0)], 0, 4, 4),
        ([LIKELY_NOISE], 0, 4, 4),
        ([CONTRADICTED], 0, 0, 0),
        ([LARGE, WORSE], 2, 2, 2),
        ([LARGE, BETTER], 4, 4, 2),
        ([replace(WORSE, percent=0.3)], 0, 0, 0),
        ([replace(WORSE, suppressed="known")], 0, 0, 0),
    ],
)
def test_exit_code_depends_on_what_fails_the_job(
    answers: list[SeriesAnswer], regression: int, suspect: int, any_: int
) -> None:
    policies = Judging(), Judging(fail_on="suspect"), Judging(fail_on="any")
    codes = [JobAnswer(answers, policy=policy).exit_code for policy in policies]
    assert codes == [regression, suspect, any_]


@pytest.mark.parametrize(("answers", "expected"), [([QUIET], 3), ([WORSE], 2), ([LARGE], 4)])
def test_missing_series_fail_a_job_that_wants_it(
    answers: list[SeriesAnswer], expected: int
) -> None:
    strict = Judging(fail_on_missing=True)
    assert JobAnswer(answers, missing=["gone"], policy=strict).exit_code == expected
    assert JobAnswer([QUIET], missing=["gone"]).exit_code == 0


@pytest.mark.parametrize(("place", "expected"), [(10.0, 4), (10.1, 0)])
def test_size_from_which_a_suspect_fails_can_be_set(place: float, expected: int) -> None:
    assert JobAnswer([SMALL], policy=Judging(suspect_fails_at=place)).exit_code == expected


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (WORSE, "regression", ""),
        (BETTER, "improvement", ""),
        (SMALL, "suspect", "newest"),
        (LIKELY_NOISE, "suspect", "newest"),
        (UNCERTAIN, "suspect", "budget"),
        (replace(UNCERTAIN, percent=-20.0), "suspect", "budget"),
        (CONTRADICTED, "suspect", "reruns"),
        (replace(CONTRADICTED, known=True), "suspect", "reruns"),
        (replace(CONTRADICTED, reruns=0, known=True), "known", ""),
        (replace(UNCERTAIN, suppressed="known"), "suppressed", ""),
        (replace(SMALL, suppressed="known"), "suppressed", ""),
        (replace(WORSE, answer="drift"), "drift", ""),
        (replace(WORSE, answer="noise"), "noise", ""),
        (replace(WORSE, answer="noise", suppressed="known"), "suppressed", ""),
        (QUIET, "", ""),
    ],
)
def test_answers_are_of_eight_kinds_and_a_suspect_has_a_reason(
    answer: SeriesAnswer, kind: str, reason: str
) -> None:
    assert (JobAnswer([answer]).kind_of(answer), answer.suspect_reason) == (kind, reason)
    assert answer.as_dict()["suspect_reason"] == (reason or None)
    judged = {"machine", "regression", "suspect", "improvement", "suppressed", "known"}
    assert set(KINDS) == judged | {"drift", "noise"}


def test_json_has_a_list_of_each_kind_and_the_answer_on_every_series() -> None:
    every = [WORSE, BETTER, UNCERTAIN, SMALL, QUIET, CONTRADICTED]
    every.append(replace(WORSE, suppressed="known"))
    actual: dict[str, Any] = JobAnswer(every, ["t"], ["n"], ["m"], notes=["note"]).as_dict()
    kinds = ("regressions", "improvements", "uncertain", "suspects", "suppressed")
    assert [[series["series"] for series in actual[kind]] for kind in kinds] == [
        *(["a"], ["b"], ["u"], ["s"], ["a"])
    ]
    assert len(actual["series"]) == len(every)
    assert (actual["too_short"], actual["new"], actual["missing"]) == (["t"], ["n"], ["m"])
    assert (actual["notes"], actual["exit_code"]) == (["note"], 2)


def test_confirmed_change_is_as_rare_after_the_history_begins_again_with_it() -> None:
    values = np.concatenate([10.0 + 0.1 * np.sin(np.arange(60)), np.full(25, 100.0)])
    steps = [AlarmStep(StepKind.CALLED, 60, 60, 0.9, score=6.0)]
    decision = LatestDecision(Answer.QUIET, 0.0, 0.0, None, 0, 84, values, steps)
    of_series = Series(SeriesId("", "", "", "a", ""), np.arange(85), values, [""] * 85)
    runs = {60: np.array([100.0, 101.0, 99.0])}
    judge = make_judge(OnlineModels.default())
    series = JudgedSeries(of_series, decision, runs, judge.budget, since=30, selected=30)
    budget = JobBudget(judge.budget)
    [(place, rate, _)] = series.events(budget)
    assert place == 60
    assert rate < budget.alarm_rate(6.0)
    shorter = replace(series, decision=decision._replace(baseline_size=24))
    assert [event[:2] for event in shorter.events(budget)] == [(60, rate)]

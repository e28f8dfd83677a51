"""`barograph gate`: fail a CI job when the newest results of a source are a regression."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.answers import JobAnswer, SeriesAnswer, change_percent
from barograph.cli.detectors import DETECTORS, make_detector
from barograph.cli.finding import change_points
from barograph.cli.options import (
    RELEASED,
    aggregate_option,
    echo_json,
    format_option,
    given_aggregate,
    min_change_option,
    model_option,
    online_models,
    read_history,
    second_look_options,
    source_options,
)
from barograph.wording import percent

if TYPE_CHECKING:
    from barograph.detection.base import Detector
    from barograph.detection.online import OnlineJudge, SecondLookConfig
    from barograph.detection.online.latest import LatestDecision
    from barograph.history import History
    from barograph.series import Floats, Series


@click.command(epilog="Example: barograph gate results.csv --newest 3 --min-change 2.5 || exit 1")
@source_options
@aggregate_option
@click.option(
    "--newest",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of newest commits to judge.",
)
@min_change_option
@click.option(
    "--min-history",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Judge a series only if its newest result has at least this many earlier results.",
)
@model_option("online")
@second_look_options(on=True)
@click.option(
    "--detector",
    type=click.Choice(list(DETECTORS)),
    help="Judge by this detection method instead of the online model: without suspects, and "
    "without --model and the options of alarms.",
)
@format_option("text", "json")
@click.pass_context
def command(
    context: click.Context,
    location: str,
    kind: str,
    newest: int,
    min_change: float,
    min_history: int,
    model: Path,
    second_look: SecondLookConfig | None,
    detector: str | None,
    output: str,
) -> None:
    """Fail if the newest commit of a series at LOCATION is a regression.

    The newest result of every series is judged as `score` judges it, from the history in LOCATION
    and without a store. A change is reported once, at the commit at which it is found; later
    commits report it as known, and pass. The direction of the series determines which change is a
    regression; if it is unknown, any change counts.

    Exit code 2 means a regression, 4 a suspected regression of 25 % or more, which a further run
    of the commit would settle, 3 that no series has enough results.
    """
    history = read_history(kind, location)
    if detector is None:
        answers = judged(history, newest, *_judge(model, second_look))
    else:
        answers = detected(history, newest, make_detector(detector, RELEASED / "label_free.baro"))
    found = [*answers]
    job = JobAnswer(
        [one for one in found if one.baseline_size >= min_history],
        [*dict.fromkeys(one.series for one in found if one.baseline_size < min_history)],
        min_change,
    )
    if output == "json":
        echo_json(job.as_dict())
    else:
        job.echo()
    context.exit(job.exit_code)


def _judge(model: Path, second_look: SecondLookConfig | None) -> tuple[OnlineJudge, str]:
    """Return the judge, and the feature set of its model for the newest point."""
    from barograph.detection.online import make_judge

    models = online_models(model)
    judge, disabled = make_judge(models, second_look)
    if disabled:
        click.echo(disabled, err=True)
    return judge, models.newest.feature_set


def judged(
    history: History, newest: int, judge: OnlineJudge, feature_set: str
) -> Iterator[SeriesAnswer]:
    """Yield the answer of the online judge on the newest commits of each series.

    Args:
        history: The series.
        newest: Number of newest commits to judge.
        judge: Decides.
        feature_set: The feature set of its model for the newest point.
    """
    from barograph.detection.online.latest import JudgedHistory, judge_latest

    every = [_runs(history, number, newest) for number in range(len(history))]
    series = [JudgedHistory(history.values_of(k), runs) for k, runs in enumerate(every)]
    decisions = judge_latest(judge, series, newest)
    for one, runs, decision in zip(history, every, decisions, strict=True):
        yield from _earlier(one, decision, feature_set)
        yield _answer(one, decision, feature_set, runs.get(len(one) - 1))


def _earlier(series: Series, decision: LatestDecision, feature_set: str) -> Iterator[SeriesAnswer]:
    """Yield an answer for each change before the last one that the newest commits reported."""
    from barograph.detection.online import Answer

    steps, values = decision.earlier, decision.values
    starts = [step.index for step in steps]
    for step, end in zip(steps, [*starts, decision.change][1:], strict=True):
        at = step.index
        yield replace(
            _answer_at(series, step.at, Answer.CHANGE, step.probability),
            percent=change_percent(_before(values, 0, at), values[at:end].tolist(), feature_set),
            begins=int(series.orders[at]),
            begins_commit=series.commits[at],
            baseline_size=at,
        )


def _answer_at(series: Series, at: int, answer: str, probability: float) -> SeriesAnswer:
    """Return an answer on the result at a position, without a change."""
    return SeriesAnswer(
        series=str(series.id),
        direction=int(series.direction),
        order=int(series.orders[at]),
        commit=series.commits[at],
        answer=answer,
        probability=probability,
    )


def _before(values: Floats, first: int, at: int) -> list[float]:
    """Return the values that a change is compared with: from `first` on, or the last ones."""
    from barograph.detection.online.newest import COMPARED

    low: list[float] = values[first if first < at else max(0, at - COMPARED) : at].tolist()
    return low


def _runs(history: History, number: int, newest: int) -> dict[int, Floats]:
    """Return the results of all runs of the commits of a series that have several.

    With the mean as the value of a commit, only those of the newest commits.
    """
    import numpy as np

    size = history.values_of(number).size
    first = size - newest if given_aggregate() == "mean" else 0
    return {
        place: np.array([*runs.values()])
        for place, runs in history.runs_of(number).items()
        if len(runs) > 1 and place >= first
    }


def _answer(
    series: Series, decision: LatestDecision, feature_set: str, runs: Floats | None
) -> SeriesAnswer:
    from barograph.detection.online import Answer, departure

    last, at, values = len(series) - 1, decision.change, decision.values
    first = last - decision.baseline_size
    answer = replace(
        _answer_at(series, last, decision.answer, decision.probability),
        reruns=decision.reruns,
        baseline_size=decision.baseline_size,
        runs=1 if runs is None else runs.size,
    )
    if decision.answer is Answer.SUSPECT or (decision.reruns and decision.answer is Answer.QUIET):
        departed = departure(values[first:last], float(values[last]))
        size = percent(departed.level, float(values[last]))
        why = str(departed) if departed.surprise else ""
        return replace(answer, percent=size, surprise=departed.surprise, reason=why)
    if decision.answer is Answer.QUIET and not decision.is_known:
        return answer
    return replace(
        answer,
        percent=change_percent(_before(values, first, at), values[at:].tolist(), feature_set),
        begins=int(series.orders[at]),
        begins_commit=series.commits[at],
        known=decision.is_known,
    )


def detected(history: History, newest: int, detector: Detector) -> Iterator[SeriesAnswer]:
    """Yield an answer for each change point of a detector among the newest results.

    Args:
        history: The series.
        newest: Number of newest results.
        detector: Finds the change points.
    """
    found = change_points(history, detector)
    for number, (series, points) in enumerate(zip(history, found, strict=True)):
        last = len(series) - 1
        quiet = replace(
            _answer_at(series, last, "quiet", math.nan),
            baseline_size=last,
            runs=int(history.run_counts(number)[-1]),
        )
        fresh = [point for point in points if point.index > last - newest]
        for point in fresh:
            yield replace(
                quiet,
                order=int(series.orders[point.index]),
                commit=series.commits[point.index],
                runs=int(history.run_counts(number)[point.index]),
                answer="change",
                probability=math.nan if point.probability is None else point.probability,
                percent=percent(point.before.mean, point.after.mean),
                begins=int(series.orders[point.index]),
                begins_commit=series.commits[point.index],
            )
        if not fresh:
            yield quiet

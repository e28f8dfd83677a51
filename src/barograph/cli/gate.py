"""`barograph gate`: fail a CI job when the newest results of a source are a regression."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.cli.detectors import USE, DetectorChoice, DetectorName
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.judging_options import Judging, judging_options
from barograph.cli.options import RELEASED, format_option, refuse_given
from barograph.cli.rendering import FORMATS, render
from barograph.cli.rerun import MAX_RERUNS, settle
from barograph.results.sizes import size_at
from barograph.runtime.compiled import choose

if TYPE_CHECKING:
    from barograph.cli.judged import JudgedSeries
    from barograph.cli.selection import Selection
    from barograph.detection.base import Detector
    from barograph.detection.online import OnlineJudge
    from barograph.results.history import History
    from barograph.results.series import Floats, Series
    from barograph.sources.formats.read import FilesRead

# Options about alarms and suspects, which a detection method does not raise.
OF_JUDGE = (
    *("model", "false_red", "second_look", "alarm_policy", "false_alarms_per_1000"),
    *("suspect_fails_at", "rerun", "max_reruns"),
)


@click.command(epilog="Example: barograph gate results.csv --since 3f2a91c --min-change 2.5")
@input_options
@judging_options
@click.option(
    "--detector",
    type=DetectorName(),
    help="Judge by this detection method instead of the online model. Each series is judged alone "
    "and there are no suspects, so options about suspects, alarms and the online model are "
    "refused.",
)
@click.option(
    "--rerun",
    metavar="COMMAND",
    help="Shell command that measures suspects again. {suspects} stands for the names of the "
    "tests (write -- before it, and no quotes around it), {suspects_file} for a file with one "
    "name per line, and {out} for the file to write the results to. They are appended to FILE as "
    "further runs of the commit.",
)
@click.option(
    "--max-reruns",
    type=click.IntRange(min=1),
    default=MAX_RERUNS,
    show_default=True,
    help="Maximum number of reruns of a commit, with those that FILE has.",
)
@format_option(*FORMATS)
@click.pass_context
def command(
    context: click.Context,
    inputs: Inputs,
    judging: Judging,
    detector: str | None,
    rerun: str | None,
    max_reruns: int,
    output: str,
) -> None:
    """Fail if the newest commit of a series in FILE is a regression.

    The newest result of every series is judged as `score` judges it, from the history in FILE
    and without a store. A change is reported at the commit at which it is found; later commits
    report it as known, and pass. The direction of the series determines which change is a
    regression; if it is unknown, any change counts.

    Exit code 2 means a regression, 4 a suspected regression of 25 % or more, which a further run
    of the commit would settle, 3 that no series could be judged.
    """
    if detector is not None:
        refuse_given(
            OF_JUDGE, f"--detector {detector} replaces the online judge, and raises no suspects"
        )
    if rerun and context.get_parameter_source("rerun") is ParameterSource.DEFAULT_MAP:
        click.echo(f"--rerun is set by {current_config().path}", err=True)
    aggregate = inputs.options.aggregate
    judge = functools.partial(gated, aggregate=aggregate, judging=judging, detector=detector)
    job = judge(inputs.load()) if rerun is None else settle(inputs, rerun, max_reruns, judge)
    render(job, output, file=inputs.locations[0])
    context.exit(job.exit_code)


def gated(
    files: FilesRead, aggregate: str, judging: Judging, detector: str | None = None
) -> JobAnswer:
    """Return the answer on the newest results of some files.

    Args:
        files: What was read from the files.
        aggregate: How the runs of a commit became one value.
        judging: Which results are judged, and what fails the job.
        detector: The name of a detection method that judges instead of the online model.
    """
    from barograph.cli.selection import Selection

    history = files.history
    series = [entry for entry in history if len(entry)]
    of_branch = [
        count for count, entry in zip(files.of_branch.tolist(), history, strict=True) if len(entry)
    ]
    selection = Selection.of(
        series, judging.newest, judging.since, of_branch if files.branch else None
    )
    if detector is not None:
        method = DetectorChoice(detector, {}, RELEASED / f"{USE}.baro").make()
        choose(method.work(history.values.size))
        answers = detected(history, selection, method)
        job = judging.detected_job(answers, selection)
        return judging.suppressed(job, series)
    from barograph.detection.online import make_judge

    choose(history.values.size)
    judge, disabled = make_judge(judging.models(), judging.second_look)
    if disabled:
        click.echo(disabled, err=True)
    every = judged(history, selection, judge, aggregate)
    return judging.suppressed(judging.job(every, selection, judge), series)


def judged(
    history: History, selection: Selection, judge: OnlineJudge, aggregate: str = "median"
) -> list[JudgedSeries]:
    """Return the decisions on the series of a history that have results to ask about.

    Args:
        history: The series.
        selection: Which results of each series that is not empty are judged.
        judge: Decides.
        aggregate: How the runs of a commit became one value.
    """
    from barograph.cli.judged import JudgedSeries
    from barograph.detection.online.decision import changes_of
    from barograph.detection.online.latest import JudgedHistory, judge_latest

    filled = [number for number in range(len(history)) if history.values_of(number).size]
    rows = zip(filled, selection.counts, selection.branch, strict=True)
    chosen = [(number, count, branch) for number, count, branch in rows if count]
    parts = [
        JudgedHistory(history.values_of(number), _runs(history, number, count, aggregate))
        for number, count, _ in chosen
    ]
    newest = [max(count, branch) for _, count, branch in chosen]
    decisions = judge_latest(judge, parts, newest)
    return [
        JudgedSeries(
            name=str(series.id),
            project=series.id.project,
            direction=int(series.direction),
            orders=series.orders,
            commits=series.commits,
            values=decision.values,
            selected=count,
            answer=decision.answer,
            probability=decision.probability,
            surprise=decision.surprise,
            known_since=decision.known_since,
            reruns=decision.reruns,
            baseline_size=decision.baseline_size,
            changes=changes_of(decision.steps),
            runs=part.runs,
            is_new=count == len(series),
            branch=branch,
        )
        for (number, count, branch), part, decision in zip(chosen, parts, decisions, strict=True)
        for series in [history[number]]
    ]


def _runs(history: History, number: int, newest: int, aggregate: str) -> dict[int, Floats]:
    """Return the results of all runs of the commits of a series that have several.

    With the mean as the value of a commit, only those of the newest commits.
    """
    import numpy as np

    size = history.values_of(number).size
    first = size - newest if aggregate == "mean" else 0
    return {
        place: np.array([*runs.values()])
        for place, runs in history.runs_of(number).items()
        if len(runs) > 1 and place >= first
    }


def detected(history: History, selection: Selection, detector: Detector) -> Iterator[SeriesAnswer]:
    """Yield an answer for each change point of a detector among the newest results.

    Args:
        history: The series.
        selection: Which results of each series that is not empty are judged.
        detector: Finds the change points.
    """
    from barograph.detection import detect_many

    points = detect_many(detector, history.values, history.offsets)
    filled = [number for number, entry in enumerate(history) if len(entry)]
    for number, count in zip(filled, selection.counts, strict=True):
        if not count:
            continue
        series, runs = history[number], history.run_counts(number).tolist()
        last = len(series) - 1
        fresh = [point for point in points[number] if point.index > last - count]
        for point in fresh:
            size, quiet = size_at(point), _quiet(series, point.index, runs)
            yield replace(
                quiet,
                answer="change",
                probability=math.nan if point.probability is None else point.probability,
                percent=size.percent,
                is_trend=size.is_trend,
                begins=quiet.order,
                begins_commit=quiet.commit,
            )
        if not fresh:
            yield _quiet(series, last, runs)


def _quiet(series: Series, place: int, runs: Sequence[int]) -> SeriesAnswer:
    return SeriesAnswer(
        series=str(series.id),
        direction=int(series.direction),
        order=int(series.orders[place]),
        commit=series.commits[place],
        answer="quiet",
        probability=math.nan,
        baseline_size=len(series) - 1,
        runs=runs[place],
    )

"""`barograph gate` and `score`: fail a CI job when the newest results are a regression."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.core import ParameterSource

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.cli.detectors import USE, DetectorChoice, DetectorName
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.judging import Judging, Selection, judging_options
from barograph.cli.options import (
    RELEASED,
    format_option,
    open_store,
    refuse_given,
    setting,
    store_option,
)
from barograph.cli.rendering import FORMATS, render
from barograph.results.sizes import size_at
from barograph.results.wording import plural
from barograph.runtime.compiled import choose

if TYPE_CHECKING:
    from barograph.cli.judged import Runs
    from barograph.detection.base import Detector
    from barograph.detection.online import OnlineJudge
    from barograph.results.history import History
    from barograph.results.series import Floats, Series
    from barograph.server.store import Store
    from barograph.sources.formats.read import FilesRead

# Points that `gate` judges in the time that `score` needs for a new result, judged with all
# windows, and for a series of an existing store, which is brought up to it and judged again.
NEW_RESULT, KNOWN_SERIES = 2, 70
# Options about alarms and suspects, which a detection method does not raise.
OF_JUDGE = ("model", "false_red", "suspect_fails_at", "rerun")


@click.command(
    "gate", epilog="Example: barograph gate results.csv --since 3f2a91c --min-change 2.5"
)
@input_options()
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
@setting(
    "max-reruns",
    type=click.IntRange(min=1),
    default=3,
    help="Maximum number of reruns of a commit, with those that FILE has.",
)
@format_option(*FORMATS)
@click.pass_context
def gate(
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
    if rerun is None:
        job = judge(inputs.load())
    else:
        from barograph.cli.rerun import settle

        job = settle(inputs, rerun, max_reruns, judge)
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
    history = files.history
    filled = [number for number, entry in enumerate(history) if len(entry)]
    series = [history[number] for number in filled]
    branch = [int(files.of_branch[number]) for number in filled] if files.branch else []
    selection = Selection.of(series, judging.newest, judging.since, branch)
    if detector is not None:
        method = DetectorChoice(detector, model=RELEASED / f"{USE}.baro").make()
        choose(method.work(history.values.size))
        return judging.detected_job([*detected(history, filled, selection, method)], selection)
    from barograph.cli.judged import judge_series
    from barograph.detection.online import make_judge

    choose(history.values.size)
    judge = make_judge(judging.models(), judging.false_alarms_per_1000)
    runs = [
        runs_of(history, number, len(history[number]) - count if aggregate == "mean" else 0)
        for number, count in zip(filled, selection.counts, strict=True)
    ]
    judged = judge_series(judge, series, runs, selection.counts, branch)
    return judging.job(judged, selection, judge)


def runs_of(history: History, number: int, first: int = 0) -> dict[int, Floats]:
    """Return the results of all runs of the commits of a series that have several.

    Args:
        history: The series.
        number: The number of the series.
        first: The first commit that counts; with the mean as the value of a commit, only the runs
            of the newest commits do.
    """
    import numpy as np

    return {
        place: np.array([*runs.values()])
        for place, runs in history.runs_of(number).items()
        if len(runs) > 1 and place >= first
    }


def detected(
    history: History, numbers: Sequence[int], selection: Selection, detector: Detector
) -> Iterator[SeriesAnswer]:
    """Yield an answer for each change point of a detector among the newest results.

    Args:
        history: The series.
        numbers: The numbers of those that are not empty.
        selection: Which results of these are judged.
        detector: Finds the change points.
    """
    from barograph.detection import detect_many

    points = detect_many(detector, history.values, history.offsets)
    for number, series, count in zip(numbers, selection.series, selection.counts, strict=True):
        if not count:
            continue
        runs = history.run_counts(number).tolist()
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


@click.command(
    "score", epilog="Example: barograph score results.csv --store ci.db --format json || exit 1"
)
@input_options()
@store_option
@judging_options
@format_option(*FORMATS)
@click.pass_context
def score(
    context: click.Context,
    inputs: Inputs,
    url: str,
    judging: Judging,
    output: str,
) -> None:
    """Add the results in FILE to the store, and judge the newest that these series have there.

    The direction of the series determines which change is a regression; if it is unknown, any
    change counts. A change is reported once, at the commit at which it is found; later commits
    report it as known, and pass. A suspect is so unusual that only a further run of its commit,
    with another value in the column `run`, can tell a spike from a change.

    Exit code 2 means a regression, 4 a suspected regression of 25 % or more, 3 that no result
    could be judged, 1 that results were rejected. Scoring the newest results again gives the same
    answer.
    """
    history = inputs.base_history()
    known = len(history) if "://" in url or Path(url).exists() else 0
    choose(NEW_RESULT * history.values.size + KNOWN_SERIES * known)
    from barograph.cli.import_ import report_rejected
    from barograph.cli.judged import judge_series
    from barograph.server.store.exchange import import_history

    with open_store(url, judging.models(), judging.false_alarms_per_1000) as store:
        filled = import_history(store, history, "score")
        report_rejected(filled)
        if revised := filled.points["revised"]:
            click.echo(
                f"{plural(revised, 'correction')} of stored results; a rerun needs another value "
                "in the column run",
                err=True,
            )
        series = [entry for entry in history if len(entry)]
        selection, runs = _stored(store, Selection.of(series, judging.newest, judging.since))
        judge = cast("OnlineJudge", store.judge)
    judged = judge_series(judge, selection.series, runs, selection.counts)
    job = judging.job(judged, selection, judge)
    stored = {"points": filled.points, "reasons": filled.reasons}
    render(job, output, stored, inputs.locations[0])
    context.exit(1 if filled.points["rejected"] else job.exit_code)


def _stored(store: Store, selection: Selection) -> tuple[Selection, list[Runs]]:
    """Return the series of a job as the store knows them, with their runs."""
    from barograph.server.store import reading
    from barograph.server.store.database import chunks

    stored: dict[int, Series] = {}
    runs: dict[int, Runs] = {}
    with store.read() as connection:
        known = reading.series_named(connection, [entry.id for entry in selection.series])
        for numbers in chunks([row.id for row in known.values()]):
            part = reading.read_series(connection, numbers)
            stored |= part
            runs |= reading.read_runs(connection, part)
    pairs = [
        (known[entry.id].id, count)
        for entry, count in zip(selection.series, selection.counts, strict=True)
        if entry.id in known and len(stored[known[entry.id].id])
    ]
    chosen = replace(
        selection,
        series=[stored[number] for number, _ in pairs],
        counts=[count for _, count in pairs],
    )
    return chosen, [runs[number] for number, _ in pairs]

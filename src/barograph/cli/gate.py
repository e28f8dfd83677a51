"""`barograph gate` and `score`: fail a CI job when the newest results are a regression."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.core import ParameterSource

from barograph.cli.answers import JobAnswer, Judging, SeriesAnswer, suppress
from barograph.cli.config import current_config
from barograph.cli.detectors import ChangeSearch, DetectorName
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    LABEL_FREE,
    OWN,
    RELEASED,
    false_alarms_setting,
    format_option,
    grouped,
    model_option,
    online_models,
    open_store,
    parameters_of,
    refuse_given,
    setting,
    store_option,
)
from barograph.cli.rendering import FORMATS, render
from barograph.results.sizes import size_at
from barograph.results.wording import plural
from barograph.runtime.compiled import choose

if TYPE_CHECKING:
    from barograph.cli.judged import JobRow, Runs
    from barograph.detection.base import Detector
    from barograph.detection.online import OnlineJudge
    from barograph.results.history import History
    from barograph.results.series import Floats, Series, SeriesId
    from barograph.server.store import Store
    from barograph.sources.formats.read import FilesRead

# Points that `gate` judges in the time that `score` needs for a new result, judged with all
# windows, and for a series of an existing store, which is brought up to it and judged again.
NEW_RESULT, KNOWN_SERIES = 2, 70
SHOWN = ("newest", "since", "false_red", "min_change", "fail_on", "suspect_fails_at")  # options
# Options about alarms and suspects, which a detection method does not raise.
OF_JUDGE = ("model", "false_red", "suspect_fails_at", "rerun")


# The parameters by which results are judged; a command gets them as `judging`.
judging_options = grouped(
    "judging",
    Judging,
    *parameters_of(Judging, *SHOWN),
    model_option("online"),
    *parameters_of(Judging, "min_history", "fail_on_missing", table=""),
    false_alarms_setting,
    setting(
        f"{OWN}machine",
        "machine_answer",
        type=click.Choice(["auto", "answer", "off"]),
        default="auto",
        help="`auto` and `answer` set aside what a slow run explains; `off` does not.",
    ),
)


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
    report it as known, and pass. A series that shows a regression of an earlier job later than
    others is known, too. The direction of the series determines which change is a regression; if
    it is unknown, any change counts.

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
    from barograph.cli.judged import counts_of

    history = files.history
    filled = [number for number, entry in enumerate(history) if len(entry)]
    series = [history[number] for number in filled]
    branch = [int(files.of_branch[number]) for number in filled] if files.branch else []
    counts = counts_of(series, judging.newest, judging.since, branch)
    runs: list[Runs] = [{} for _ in filled]
    if detector is None:
        places, is_mean = zip(filled, series, counts, strict=True), aggregate == "mean"
        runs = [runs_of(history, k, (len(entry) - n) * is_mean) for k, entry, n in places]
    rows = [*zip(series, runs, counts, branch or [0] * len(series), strict=True)]
    if detector is not None:
        method = ChangeSearch(detector, model=RELEASED / f"{LABEL_FREE}.baro").make()
        choose(method.work(history.values.size))
        sizes = {str(entry.id): len(entry) - 1 for entry, _, count, _ in rows if count}
        short = [name for name, size in sizes.items() if size < judging.min_history]
        every = detected(history, dict(zip(filled, counts, strict=True)), method)
        return answer_job(
            judging, [entry for entry in every if entry.series not in short], short, rows
        )
    from barograph.detection.online import make_judge

    choose(history.values.size)
    judge = make_judge(online_models(judging.model), judging.false_alarms_per_1000)
    return judged_job(judging, rows, judge)


def judged_job(judging: Judging, rows: Sequence[JobRow], judge: OnlineJudge) -> JobAnswer:
    """Return the answer of the online judge on all series of a job."""
    from barograph.cli.events import join_events
    from barograph.cli.judged import JudgedSeries, answers_of, judge_series
    from barograph.cli.machine import Later, Machines
    from barograph.detection.online.budget import JobBudget

    share = judging.false_red / 100.0
    budget = JobBudget(judge.budget, share) if share < 1.0 else None
    judged = judge_series(judge, rows)
    sizes = {str(entry.series.id): entry.decision.baseline_size for entry in judged}
    short = [name for name, size in sizes.items() if size < judging.min_history]
    long = [entry for entry in judged if str(entry.series.id) not in short]
    others = [series for series, _, count, _ in rows if not count]
    machines = Machines.found(judge, long, others, judging)
    every = [*judged, *machines.commons]
    slow = [answer for row in rows for answer in _slow(row) if answer.series not in short]

    def answer(
        series: Sequence[JudgedSeries],
        later: Mapping[str, Later] = machines.later,
        *,
        is_newest: bool = False,
    ) -> JobAnswer:
        long = [e for e in series if e.decision.baseline_size >= judging.min_history]
        answers = machines.shared(answers_of(long, budget, len(every) - len(short), later))
        found = with_slow(answers, slow, rows) if is_newest else answers
        return answer_job(judging, found, short, rows)

    job = counted = join_events(answer(every, is_newest=True), every, answer)
    if machines.explained:
        older = {name: machines.later[name] for name in machines.later.keys() - machines.explained}
        counted = answer(every, older, is_newest=True)
    return machines.concluded(job, counted)


def answer_job(
    judging: Judging, answers: Sequence[SeriesAnswer], short: Sequence[str], rows: Sequence[JobRow]
) -> JobAnswer:
    """Return the answer of a job, with what people accepted.

    Args:
        judging: What fails the job.
        answers: The answers on the series that are long enough to be judged.
        short: The names of those that are not.
        rows: All series.
    """
    from barograph.cli.judged import order_of

    config = current_config()
    order = functools.partial(order_of, [row[0] for row in rows])
    answers, notes = suppress(answers, config, order)
    moved = [a for a in answers if a.answer != "quiet" and abs(a.percent) >= judging.min_change]
    canaries = dict.fromkeys(a.series for a in moved if config.kind_of(a.series) == "canary")
    if canaries:
        notes.append(f"canaries moved, so the machine may have changed: {', '.join(canaries)}")
    new = [str(series.id) for series, _, count, _ in rows if count >= len(series)]
    missing = [str(series.id) for series, _, count, _ in rows if not count]
    return JobAnswer(answers, short, new, missing, judging, notes)


def with_slow(
    answers: Iterable[SeriesAnswer], slow: Iterable[SeriesAnswer], rows: Sequence[JobRow]
) -> list[SeriesAnswer]:
    """Return the answers on the series of a job with their drifts and changes of noise."""
    places = {str(series.id): place for place, (series, *_) in enumerate(rows)}
    return sorted([*answers, *slow], key=lambda answer: places.get(answer.series, len(places)))


def _slow(row: JobRow) -> Iterator[SeriesAnswer]:
    """Yield an answer for each drift or change of noise that is found with the judged results."""
    from barograph.detection.slow import newly_found
    from barograph.results.wording import number

    series, _, count, _ = row
    for change in newly_found(series.values, count) if count else ():
        levels = f"{number(change.before)} -> {number(change.after)}"
        length = plural(change.end - change.begin, "result")
        yield SeriesAnswer.at(
            *(series, len(series) - 1),
            answer=change.kind.value,
            probability=math.nan,
            percent=change.percent,
            begins=int(series.orders[change.begin]),
            begins_commit=series.commits[change.begin],
            baseline_size=len(series) - 1,
            reason=f"{'sd ' * (change.kind == 'noise')}{levels} over {length}",
        )


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
    history: History, counts: Mapping[int, int], detector: Detector
) -> Iterator[SeriesAnswer]:
    """Yield an answer for each change point of a detector among the newest results.

    Args:
        history: The series.
        counts: Number of newest results that are judged of each series that is not empty.
        detector: Finds the change points.
    """
    from barograph.detection import detect_many

    points = detect_many(detector, history.values, history.offsets)
    for number, count in counts.items():
        series, runs = history[number], history.run_counts(number).tolist()
        last = len(series) - 1
        fresh = [point for point in points[number] if point.index > last - count]
        for point in fresh:
            place, size = point.index, size_at(point)
            yield SeriesAnswer.at(
                *(series, place),
                answer="change",
                probability=math.nan if point.probability is None else point.probability,
                percent=size.percent,
                is_trend=size.is_trend,
                begins=int(series.orders[place]),
                begins_commit=series.commits[place],
                baseline_size=last,
                runs=runs[place],
            )
        if count and not fresh:
            known = {"answer": "quiet", "probability": math.nan, "baseline_size": last}
            yield SeriesAnswer.at(series, last, runs=runs[last], **known)


@click.command(
    "score", epilog="Example: barograph score results.csv --store ci.db --format json || exit 1"
)
@input_options()
@store_option
@judging_options
@format_option(*FORMATS)
@click.pass_context
def score(context: click.Context, inputs: Inputs, url: str, judging: Judging, output: str) -> None:
    """Add the results in FILE to the store, and judge the newest that these series have there.

    The direction of the series determines which change is a regression; if it is unknown, any
    change counts. A change is reported once, at the commit at which it is found; later commits
    report it as known, and pass. A series that shows a regression of an earlier job later than
    others is known, too. A suspect is so unusual that only a further run of its commit,
    with another value in the column `run`, can tell a spike from a change.

    Exit code 2 means a regression, 4 a suspected regression of 25 % or more, 3 that no result
    could be judged, 1 that results were rejected. Scoring the newest results again gives the same
    answer.
    """
    history = inputs.base_history()
    known = len(history) if "://" in url or Path(url).exists() else 0
    choose(NEW_RESULT * history.values.size + KNOWN_SERIES * known)
    from barograph.cli.import_ import report_rejected
    from barograph.cli.judged import counts_of
    from barograph.server.store.exchange import import_history

    with open_store(url, online_models(judging.model), judging.false_alarms_per_1000) as store:
        filled = import_history(store, history, "score")
        report_rejected(filled)
        if revised := filled.points["revised"]:
            click.echo(
                f"{plural(revised, 'correction')} of stored results; a rerun needs another value "
                "in the column run",
                err=True,
            )
        series = [entry for entry in history if len(entry)]
        counts = counts_of(series, judging.newest, judging.since)
        rows = _stored(store, dict(zip([entry.id for entry in series], counts, strict=True)))
        judge = cast("OnlineJudge", store.judge)
    job = judged_job(judging, rows, judge)
    stored = {"points": filled.points, "reasons": filled.reasons}
    render(job, output, stored, inputs.locations[0])
    context.exit(1 if filled.points["rejected"] else job.exit_code)


def _stored(store: Store, counts: Mapping[SeriesId, int]) -> list[JobRow]:
    """Return the series of a job as the store has them."""
    from barograph.server.store import reading
    from barograph.server.store.database import chunks

    rows: dict[int, tuple[Series, Runs]] = {}
    with store.read() as connection:
        known = reading.series_named(connection, [*counts])
        for numbers in chunks([row.id for row in known.values()]):
            part = reading.read_series(connection, numbers)
            runs = reading.read_runs(connection, part)
            rows |= {number: (part[number], runs[number]) for number in part}
    found = [(*rows[known[name].id], count, 0) for name, count in counts.items() if name in known]
    return [row for row in found if len(row[0])]

"""`barograph score`: store the results of a CI job, and fail when the newest are a regression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.import_ import report_rejected
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.judging import Judging, Selection, judging_options
from barograph.cli.options import format_option, open_store, store_option
from barograph.cli.rendering import FORMATS, render
from barograph.results.wording import plural
from barograph.runtime.compiled import choose

if TYPE_CHECKING:
    from barograph.cli.judged import Runs
    from barograph.results.series import Series
    from barograph.server.store import Store

# Compared with a point that `gate` judges: a new result is judged with all windows, and a series of
# an existing store is brought up to its newest result first.
NEW_RESULT, KNOWN_SERIES = 2, 20


@click.command(epilog="Example: barograph score results.csv --store ci.db --format json || exit 1")
@input_options()
@store_option
@judging_options
@format_option(*FORMATS)
@click.pass_context
def command(
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
    choose(_work(len(history), history.values.size, url))
    from barograph.cli.judged import judge_series
    from barograph.detection.online import make_judge
    from barograph.server.store.exchange import import_history

    models = judging.models()
    with open_store(url, models, judging.false_alarms_per_1000) as store:
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
    judge = make_judge(models, judging.false_alarms_per_1000)
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


def _work(series: int, points: int, url: str) -> float:
    """Return how many points `gate` could judge in the time that storing a history takes."""
    known = 0 if "://" not in url and not Path(url).exists() else series
    return NEW_RESULT * points + KNOWN_SERIES * known

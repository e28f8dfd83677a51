"""`barograph score`: store the results of a CI job, and fail when the newest are a regression."""

from __future__ import annotations

from pathlib import Path

import click

from barograph.cli.import_ import report_rejected
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.judging_options import Judging, judging_options
from barograph.cli.options import format_option, open_store, store_option
from barograph.cli.rendering import FORMATS, render
from barograph.results.wording import plural
from barograph.runtime.compiled import choose

# Compared with a point that `gate` judges: a new result is judged with all windows, and a series of
# an existing store is brought up to its newest result first.
NEW_RESULT, KNOWN_SERIES = 2, 20


@click.command(epilog="Example: barograph score results.csv --store ci.db --format json || exit 1")
@input_options
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
    from barograph.cli.selection import Selection
    from barograph.cli.stored import stored_series
    from barograph.detection.online import make_judge
    from barograph.server.store.exchange import import_history

    models = judging.models()
    with open_store(url, models, judging.second_look) as store:
        filled = import_history(store, history, "score")
        report_rejected(filled)
        if revised := filled.points["revised"]:
            click.echo(
                f"{plural(revised, 'correction')} of stored results; a rerun needs another value "
                "in the column run",
                err=True,
            )
        series = [entry for entry in history if len(entry)]
        selection = Selection.of(series, judging.newest, judging.since)
        judged = stored_series(store, series, selection)
    judge, _ = make_judge(models, judging.second_look)
    job = judging.job(judged, selection, judge)
    job = judging.suppressed(job, series)
    stored = {"points": filled.points, "reasons": filled.reasons}
    render(job, output, stored, inputs.locations[0])
    context.exit(1 if filled.points["rejected"] else job.exit_code)


def _work(series: int, points: int, url: str) -> float:
    """Return how many points `gate` could judge in the time that storing a history takes."""
    known = 0 if "://" not in url and not Path(url).exists() else series
    return NEW_RESULT * points + KNOWN_SERIES * known

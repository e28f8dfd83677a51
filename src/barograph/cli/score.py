"""`barograph score`: store the results of a CI job, and fail when the newest are a regression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.answers import JobAnswer, SeriesAnswer, change_percent
from barograph.cli.import_ import report_rejected
from barograph.cli.options import (
    echo_json,
    format_option,
    loaded_tables,
    min_change_option,
    model_option,
    online_models,
    open_store,
    second_look_options,
    source_options,
    store_option,
)
from barograph.wording import percent

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.detection.online import SecondLookConfig
    from barograph.series import Series
    from barograph.store import Store
    from barograph.store.reading import StoredPoint, StoredSeries


@click.command(epilog="Example: barograph score results.csv --store ci.db --format json || exit 1")
@source_options
@store_option
@model_option("online")
@second_look_options(on=True)
@min_change_option
@click.option(
    "--min-history",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Judge a result only if its baseline has at least this many points.",
)
@format_option("text", "json")
@click.pass_context
def command(
    context: click.Context,
    location: str,
    kind: str,
    url: str,
    model: Path,
    second_look: SecondLookConfig | None,
    min_change: float,
    min_history: int,
    output: str,
) -> None:
    """Add the results at LOCATION to the store, and judge the newest of every series.

    The direction of the series determines which change is a regression; if it is unknown, any
    change counts. A change is reported once, at the commit at which it is found; later commits
    report it as known, and pass. A suspect is so unusual that only a further run of its commit,
    with another value in the column `run`, can tell a spike from a change.

    Exit code 2 means a regression, 4 a suspected regression of 25 % or more, 3 that no result
    could be judged. Scoring the same results again gives the same answer.
    """
    from barograph.history import History
    from barograph.store.exchange import import_history

    models = online_models(model)
    with loaded_tables(kind, location) as folder, open_store(url, models, second_look) as store:
        history = History.read(folder)
        filled = import_history(store, history, "score")
        report_rejected(filled)
        if revised := filled.points["revised"]:
            click.echo(
                f"{revised} results correct the stored value of their run; a rerun needs another "
                "value in the column run",
                err=True,
            )
        found = [*newest_answers(store, history, models.newest.feature_set)]
    job = JobAnswer(
        [one for one in found if one.baseline_size >= min_history],
        [one.series for one in found if one.baseline_size < min_history],
        min_change,
    )
    if output == "json":
        echo_json({"points": filled.points, "reasons": filled.reasons} | job.as_dict())
    else:
        job.echo()
    context.exit(job.exit_code)


def newest_answers(
    store: Store, history: Iterable[Series], feature_set: str
) -> Iterator[SeriesAnswer]:
    """Yield the answer on the newest result of every series.

    Args:
        store: The store with the results.
        history: The series to report.
        feature_set: The feature set of the online model.
    """
    from barograph.store import reading

    with store.read() as connection:
        for series in history:
            number = reading.number_of(connection, series.id)
            if number is None or not len(series):
                continue
            order = int(series.orders[-1])
            runs = reading.points_of(connection, number, first=order, last=order)
            if runs:
                stored = reading.one_series(connection, number)
                yield _answer(connection, stored, runs, feature_set)


def _answer(
    connection: sa.Connection, series: StoredSeries, runs: Sequence[StoredPoint], feature_set: str
) -> SeriesAnswer:
    """Return the answer on a commit, given all its runs."""
    from barograph.detection.online import Answer
    from barograph.store.reading import commits_at, settled_values
    from barograph.store.steps import steps_of

    point, decision = runs[0], runs[0].decision
    answer = SeriesAnswer(
        series=str(series.name),
        direction=int(series.direction),
        order=point.order,
        commit=point.commit,
        answer=decision.answer,
        probability=decision.probability,
        reruns=decision.reruns,
        baseline_size=decision.baseline_size,
        runs=len(runs),
    )
    known = decision.known_since
    is_unsettled = decision.answer is Answer.QUIET and bool(decision.reruns)
    if decision.answer is Answer.QUIET and known is None and not is_unsettled:
        return answer
    values = settled_values(connection, series.id, point.order, decision.baseline_size + 1)
    if decision.answer is Answer.SUSPECT or is_unsettled:
        return _departed(answer, [value for _, value in values])
    begins = point.order if known is None else known.order
    if decision.answer is Answer.CHANGE:
        steps = steps_of(connection, series.id, point.order, point.order)
        begins = steps[point.order][0].order if steps else begins
    before = [value for order, value in values if order < begins]
    after = [value for order, value in values if order >= begins]
    return replace(
        answer,
        percent=change_percent(before, after, feature_set),
        begins=begins,
        begins_commit=commits_at(connection, series.id, [begins])[begins],
        known=known is not None,
    )


def _departed(answer: SeriesAnswer, values: Sequence[float]) -> SeriesAnswer:
    """Add how far the last value departs from those before it."""
    import numpy as np

    from barograph.detection.online import departure

    *before, newest = values
    departed = departure(np.array(before), newest)
    return replace(
        answer,
        percent=percent(departed.level, newest),
        surprise=departed.surprise,
        reason=str(departed) if departed.surprise else "",
    )

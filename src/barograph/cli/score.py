"""`barograph score`: store the results of a CI job, and fail when the newest are a regression."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli import REGRESSION, TOO_LITTLE
from barograph.cli.answers import is_worse
from barograph.cli.detect import change_text, percent
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

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.detection.online import SecondLookConfig
    from barograph.series import Series
    from barograph.store import Store
    from barograph.store.reading import StoredPoint


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
@format_option
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
    as_json: bool,
) -> None:
    """Add the results at LOCATION to the store, and judge the newest of every series.

    The direction of the series determines which change is a regression; if it is unknown, any
    change counts. Exit code 2 means a regression, 3 that no result could be judged. Scoring the
    same results again gives the same answer.
    """
    from barograph.history import History
    from barograph.store.exchange import import_tables

    models = online_models(model)
    with loaded_tables(kind, location) as folder, open_store(url, models, second_look) as store:
        filled = import_tables(store, folder, "score")
        report_rejected(filled)
        results = newest_results(store, History.read(folder), models.newest.feature_set)
    short = sum(result["baseline_size"] < min_history for result in results)
    regressions = [
        result
        for result in results
        if result["is_change"]
        and result["baseline_size"] >= min_history
        and abs(result["percent"]) >= min_change
        and is_worse(result["percent"], result["direction"])
    ]
    if as_json:
        stored = {"points": filled.points, "reasons": filled.reasons}
        echo_json(stored | {"series": results, "too_short": short, "regressions": regressions})
    else:
        for result in regressions:
            click.echo(_line(result))
        click.echo(
            f"regressions: {len(regressions)}, series: {len(results)}, too short to judge: {short}"
        )
    if regressions:
        context.exit(REGRESSION)
    if short == len(results):
        context.exit(TOO_LITTLE)


def newest_results(
    store: Store, history: Iterable[Series], feature_set: str
) -> list[dict[str, Any]]:
    """Return the decision on the newest result of every series, as plain values.

    Args:
        store: The store with the results.
        history: The series to report.
        feature_set: The feature set of the online model.
    """
    from barograph.store import reading
    from barograph.store.steps import steps_of

    results = []
    with store.read() as connection:
        for series in history:
            number = reading.number_of(connection, series.id)
            if number is None or not len(series):
                continue
            order = int(series.orders[-1])
            points = reading.points_of(connection, number, first=order, last=order, reruns=False)
            if not points:
                continue
            [point] = points
            steps = steps_of(connection, number, order, order).get(order)
            begins = order if steps is None else steps[0].order
            change = 0.0
            if point.is_change:
                change = _percent(connection, number, point, begins, feature_set)
            results.append(
                {
                    "series": str(series.id),
                    "commit": point.commit,
                    "order": point.order,
                    "value": point.settled,
                    "direction": int(reading.one_series(connection, number).direction),
                    "probability": point.probability,
                    "is_change": point.is_change,
                    "begins": begins,
                    "begins_commit": _commit(connection, number, begins),
                    "steps": [] if steps is None else [steps[0]._asdict()],
                    "baseline_size": point.baseline_size,
                    "percent": change,
                }
            )
    return results


def _commit(connection: sa.Connection, number: int, order: int) -> str:
    """Return the commit at an order, or an empty text."""
    from barograph.store import reading

    [point] = reading.points_of(connection, number, first=order, last=order, limit=1)
    return point.commit


def _percent(
    connection: sa.Connection,
    number: int,
    newest: StoredPoint,
    begins: int,
    feature_set: str,
) -> float:
    """Return the change of the mean since a point, in percent of its baseline."""
    from barograph.detection.online.views import REGIME_SETS
    from barograph.features import GrowingHistory
    from barograph.store import reading

    values = reading.settled_values(connection, number, newest.order, newest.baseline_size + 1)
    before = [value for order, value in values if order < begins]
    after = [value for order, value in values if order >= begins]
    if feature_set in REGIME_SETS:  # the baseline of such a model includes earlier levels
        history = GrowingHistory()
        for value in before:
            history.append(value)
        before = before[-history.regime :]
    return percent(sum(before) / len(before), sum(after) / len(after))


def _line(result: dict[str, Any]) -> str:
    where = result["begins_commit"] or result["begins"]
    seen = ""
    if result["begins"] != result["order"]:
        seen = f", seen at {result['commit'] or result['order']}"
    # With a second look, the probability is that of the change, not of the newest result.
    judged = result["steps"][0] if result["steps"] else result
    change = change_text(result)
    return f"{result['series']}: {change} at {where}{seen}, probability {judged['probability']:.2f}"

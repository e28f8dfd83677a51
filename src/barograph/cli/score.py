"""`barograph score`: what the service does, for a CI job without a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli import REGRESSION, TOO_LITTLE
from barograph.cli.detect import change, percent
from barograph.cli.gate import worse
from barograph.cli.histories import (
    echo_json,
    least_option,
    loaded_tables,
    output_option,
    source_options,
)
from barograph.cli.looks import second_look_options
from barograph.cli.stores import (
    model_option,
    online_models,
    open_store,
    store_option,
    tell_rejected,
)

if TYPE_CHECKING:
    from barograph.detection.online import SecondLookConfig
    from barograph.history import History
    from barograph.store import Store
    from barograph.store.exchange import Filled


@click.command(epilog="Example: barograph score results.csv --store ci.db --output json || exit 1")
@source_options
@store_option
@model_option("online")
@second_look_options(on=True)
@least_option
@click.option(
    "--shortest",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="A result is judged when it is held against so many at least.",
)
@output_option
@click.pass_context
def command(
    context: click.Context,
    location: str,
    kind: str,
    url: str,
    model: Path,
    again: SecondLookConfig | None,
    least: float,
    shortest: int,
    output: str,
) -> None:
    """Put the results at LOCATION into the store, and judge the newest of every series.

    Exit 2 where one of them is a change for the worse; where the direction is unknown, any change
    counts. The same results again give the same answer.
    """
    from barograph.history import History
    from barograph.store.exchange import fill

    models = online_models(model)
    with loaded_tables(kind, location) as folder, open_store(url, models, again) as store:
        filled = fill(store, folder, "score")
        tell_rejected(filled)
        found = newest(store, History.read(folder), models.newest.feature_set)
    short = sum(one["baseline_size"] < shortest for one in found)
    regressions = [
        one
        for one in found
        if one["is_change"]
        and one["baseline_size"] >= shortest
        and worse(one["percent"], one["direction"], least)
    ]
    _tell(filled, found, regressions, short, output)
    if regressions:
        context.exit(REGRESSION)
    if short == len(found):
        context.exit(TOO_LITTLE)


def newest(store: Store, history: History, feature_set: str) -> list[dict[str, Any]]:
    """Return what was decided of the newest result of each series of a history.

    Args:
        store: has the results.
        history: its series are told of.
        feature_set: of the model that decided; it says what a result was held against.
    """
    from barograph.store import queries
    from barograph.store.steps import steps_of

    found = []
    with store.read() as connection:
        for number in range(len(history)):
            last = int(history.offsets[number + 1]) - 1
            name = history.id_of(number)
            row = queries.number_of(connection, name)
            if row is None or last < history.offsets[number]:
                continue
            order = int(history.orders[last])
            points = queries.points_of(connection, row, first=order, last=order, newest=True)
            if not points:
                continue
            one = points[-1]
            steps = steps_of(connection, row, order, order).get((order, one.run))
            here = (one.order, one.run)
            begins = here if steps is None else steps[0][1:3]
            found.append(
                {
                    "series": str(name),
                    "commit": one.commit,
                    "order": one.order,
                    "value": one.value,
                    "direction": int(queries.one_series(connection, row).direction),
                    "probability": one.probability,
                    "is_change": one.is_change,
                    "begins": begins[0],
                    "begins_commit": one.commit
                    if begins == here
                    else _commit(connection, row, begins),
                    "steps": [] if steps is None else [steps[0]._asdict()],
                    "baseline_size": one.baseline_size,
                    "percent": _percent(connection, row, one, begins, feature_set)
                    if one.is_change
                    else 0.0,
                }
            )
    return found


def _commit(connection: Any, row: int, place: tuple[int, str]) -> str:
    """The commit of a point."""
    from barograph.store import queries

    order, run = place
    points = queries.points_of(connection, row, first=order, last=order)
    return next((str(point.commit) for point in points if point.run == run), "")


def _percent(
    connection: Any, row: int, one: Any, begins: tuple[int, str], feature_set: str
) -> float:
    """The mean from the change on, against that of the level that was held against it."""
    from barograph.detection.online.views import REGIME_SETS
    from barograph.features import GrowingHistory
    from barograph.store import queries

    points = queries.points_of(
        connection, row, last=one.order, limit=one.baseline_size + 1, newest=True
    )
    upto = [point for point in points if (point.order, point.run) <= (one.order, one.run)]
    before = [point.value for point in upto if (point.order, point.run) < begins]
    after = [point.value for point in upto if (point.order, point.run) >= begins]
    if feature_set in REGIME_SETS:  # such a model saw the levels before this one, too
        seen = GrowingHistory()
        for value in before:
            seen.append(value)
        before = before[-seen.regime :]
    return percent(sum(before) / len(before), sum(after) / len(after))


def _tell(
    filled: Filled,
    found: list[dict[str, Any]],
    regressions: list[dict[str, Any]],
    short: int,
    output: str,
) -> None:
    if output == "json":
        told = {"points": filled.points, "reasons": filled.reasons, "series": found}
        echo_json(told | {"too_short": short, "regressions": regressions})
        return
    for one in regressions:
        where = one["begins_commit"] or one["begins"]
        seen = f", seen at {one['commit'] or one['order']}" if one["begins"] != one["order"] else ""
        # A second look says it of the change, not of the newest result.
        said = one["steps"][0]["probability"] if one["steps"] else one["probability"]
        click.echo(f"{one['series']}: {change(one)} at {where}{seen}, probability {said:.2f}")
    total = f"regressions: {len(regressions)}, series: {len(found)}, too short to judge: {short}"
    click.echo(total)

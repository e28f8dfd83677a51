"""`barograph gate`: a verdict for CI on the newest results of every series."""

from __future__ import annotations

from typing import Any

import click

from barograph.cli import REGRESSION, TOO_LITTLE
from barograph.cli.detect import by_name, change, detected, detector_option
from barograph.cli.histories import (
    echo_json,
    least_option,
    output_option,
    read_history,
    source_options,
)


@click.command(epilog="Example: barograph gate results.csv --newest 3 --least 2.5 || exit 1")
@source_options
@detector_option("Which method, with the parameters it has by default.")
@click.option(
    "--newest",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="A change counts when it begins among so many newest results.",
)
@least_option
@click.option("--shortest", type=click.IntRange(min=2), default=10, show_default=True)
@output_option
@click.pass_context
def command(
    context: click.Context,
    location: str,
    kind: str,
    detector: str,
    newest: int,
    least: float,
    shortest: int,
    output: str,
) -> None:
    """Fail when a series at LOCATION became worse with its newest results.

    Worse is what the series' direction says; where the direction is unknown, any change counts.
    """
    history = read_history(kind, location)
    lengths = [int(n) for n in history.offsets[1:] - history.offsets[:-1]]
    directions = history.series.column("direction").to_pylist()
    regressions = [
        {"series": series["series"], **point}
        for series, length, direction in zip(
            detected(history, by_name(detector)), lengths, directions, strict=True
        )
        for point in series["change_points"]
        if length >= shortest
        and point["index"] >= length - newest
        and worse(point["percent"], direction, least)
    ]
    short = sum(length < shortest for length in lengths)
    tell(regressions, len(lengths), short, output)
    if regressions:
        context.exit(REGRESSION)
    if short == len(lengths):
        context.exit(TOO_LITTLE)


def worse(percent: float, direction: int, least: float) -> bool:
    """Whether a change goes the wrong way by enough."""
    return abs(percent) >= least and not percent * direction > 0


def tell(regressions: list[dict[str, Any]], series: int, short: int, output: str) -> None:
    """Print what was found, and how many series were too short to judge."""
    if output == "json":
        told = {"series": series, "too_short": short, "regressions": regressions}
        echo_json(told)
        return
    for one in regressions:
        click.echo(f"{one['series']}: {change(one)} at {one['commit'] or one['order']}")
    click.echo(f"regressions: {len(regressions)}, series: {series}, too short to judge: {short}")

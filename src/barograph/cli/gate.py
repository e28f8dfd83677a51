"""`barograph gate`: fail a CI job when the newest results of a source are a regression."""

from __future__ import annotations

import click

from barograph.cli import REGRESSION, TOO_LITTLE
from barograph.cli.detect import change_points, change_text, describe
from barograph.cli.options import (
    detector_option,
    echo_json,
    format_option,
    make_detector,
    min_change_option,
    read_history,
    source_options,
)


@click.command(epilog="Example: barograph gate results.csv --newest 3 --min-change 2.5 || exit 1")
@source_options
@detector_option("Detection method.")
@click.option(
    "--newest",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Report a change only if it begins among this many newest results.",
)
@min_change_option
@click.option(
    "--min-history",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="Judge a series only if it has at least this many results.",
)
@format_option
@click.pass_context
def command(
    context: click.Context,
    location: str,
    kind: str,
    detector: str,
    newest: int,
    min_change: float,
    min_history: int,
    as_json: bool,
) -> None:
    """Fail if the newest results of a series at LOCATION are a regression.

    The direction of the series determines which change is a regression; if it is unknown, any
    change counts. Exit code 2 means a regression, 3 that no series has enough results.
    """
    import numpy as np

    history = read_history(kind, location)
    described = describe(history, change_points(history, make_detector(detector)))
    lengths = np.diff(history.offsets).tolist()
    directions = history.series.column("direction").to_pylist()
    regressions = [
        {"series": row["series"], **point}
        for row, length, direction in zip(described, lengths, directions, strict=True)
        for point in row["change_points"]
        if length >= min_history
        and point["index"] >= length - newest
        and is_regression(point["percent"], direction, min_change)
    ]
    short = sum(length < min_history for length in lengths)
    if as_json:
        echo_json({"series": len(history), "too_short": short, "regressions": regressions})
    else:
        for point in regressions:
            place = point["commit"] or point["order"]
            click.echo(f"{point['series']}: {change_text(point)} at {place}")
        click.echo(
            f"regressions: {len(regressions)}, series: {len(history)}, too short to judge: {short}"
        )
    if regressions:
        context.exit(REGRESSION)
    if short == len(history):
        context.exit(TOO_LITTLE)


def is_regression(percent: float, direction: int, min_change: float) -> bool:
    """Return whether a change is large enough and goes the wrong way."""
    return abs(percent) >= min_change and not percent * direction > 0

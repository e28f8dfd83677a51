"""`barograph detect`: the change points of every series of a history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.histories import output_option, read_history, source_options

if TYPE_CHECKING:
    from barograph.detection.base import Detector

DETECTORS = {
    "hunter": "Hunter",
    "edivisive": "EDivisive",
    "setds": "Setds",
    "stepfit": "StepFit",
    "gesd": "Gesd",
    "pelt": "Pelt",
}


@click.command(
    epilog="Example: barograph detect results.csv --detector hunter --output json",
)
@source_options
@click.option(
    "--detector",
    type=click.Choice(list(DETECTORS)),
    default="hunter",
    show_default=True,
    help="Which method, with the parameters it has by default.",
)
@output_option
def command(location: str, kind: str, detector: str, output: str) -> None:
    """Find the change points of every series at LOCATION."""
    found = detected(read_history(kind, location), by_name(detector))
    if output == "json":
        click.echo(json.dumps({"detector": detector, "series": found}))
        return
    for series in found:
        click.echo(series["series"])
        for point in series["change_points"]:
            click.echo(f"  {line(point)}")
        if not series["change_points"]:
            click.echo("  no change point")


def line(point: dict[str, Any]) -> str:
    """Render one change point for people."""
    where = f"{point['commit'] or point['order']}  index {point['index']}"
    return (
        f"{where}  {point['mean_before']:.6g} -> {point['mean_after']:.6g}  "
        f"({point['percent']:+.1f} %)"
    )


def by_name(name: str) -> Detector:
    """Make a detector with its default parameters."""
    from barograph import detection

    made: Detector = getattr(detection, DETECTORS[name])()
    return made


def detected(history: Any, detector: Detector) -> list[dict[str, Any]]:
    """Return every series with its change points, as plain values."""
    rows = []
    for number in range(len(history)):
        first = int(history.offsets[number])
        points = [
            {
                "index": point.index,
                "order": int(history.orders[first + point.index]),
                "commit": history.commits[first + point.index].as_py(),
                "statistic": point.statistic,
                "pvalue": point.pvalue,
                "mean_before": point.before.mean,
                "mean_after": point.after.mean,
                "percent": percent(point.before.mean, point.after.mean),
            }
            for point in detector.detect(history.values_of(number))
        ]
        rows.append({"series": str(history.id_of(number)), "change_points": points})
    return rows


def percent(before: float, after: float) -> float:
    """Return the change of level in per cent of the level before; 0 from a level of 0."""
    return 100.0 * (after - before) / abs(before) if before else 0.0

"""`barograph detect`: the change points of every series of a source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.options import (
    aggregate_option,
    detector_option,
    echo_json,
    format_option,
    make_detector,
    min_probability_option,
    model_option,
    read_history,
    source_options,
)

if TYPE_CHECKING:
    from barograph.detection import Discoveries
    from barograph.detection.base import Detector
    from barograph.history import History
    from barograph.series import ChangePoint

TESTING = ("hunter", "edivisive", "gesd")  # detectors whose change points have a p-value


@click.command(
    epilog="Example: barograph detect results.csv --min-probability 0.8 --format json",
)
@source_options
@aggregate_option
@detector_option("Detection method. `triaged` finds candidates and scores them with a model.")
@min_probability_option
@model_option("label_free", does="scores the candidates of --detector triaged")
@click.option(
    "--false-discoveries",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Expected share of false change points to allow (Benjamini-Hochberg), from 0 to 1. By "
    "default all change points are reported.",
)
@format_option("text", "json")
def command(
    location: str,
    kind: str,
    detector: str,
    min_probability: float | None,
    model: Path,
    false_discoveries: float | None,
    output: str,
) -> None:
    """Find the change points of every series at LOCATION."""
    if false_discoveries is not None and detector not in TESTING:
        message = f"{detector} has no p-value to control; allowed are {', '.join(TESTING)}"
        raise click.BadParameter(message, param_hint="--false-discoveries")
    method = make_detector(detector, model, min_probability)
    history = read_history(kind, location)
    runs = change_points(history, method)
    control: dict[str, float] | None = None
    if false_discoveries is not None:
        result = _controlled(runs, detector, len(history.values), false_discoveries)
        runs = result.kept
        names = ("rate", "tests", "given", "removed", "limit")
        control = {name: getattr(result, name) for name in names}
    described = describe(history, runs)
    if output == "json":
        discoveries = {} if control is None else {"false_discoveries": control}
        echo_json({"detector": detector, "series": described, **discoveries})
        return
    for series in described:
        click.echo(series["series"])
        for point in series["change_points"]:
            click.echo(f"  {_line(point)}")
        if not series["change_points"]:
            click.echo("  no change point")
    if control is not None:
        click.echo(
            f"false discoveries: at most {control['rate']:g} expected, "
            f"{control['removed']} of {control['given']} change points left out, "
            f"{control['tests']} tests, largest p-value kept {control['limit']:.3g}"
        )


def change_points(history: History, detector: Detector) -> list[list[ChangePoint]]:
    """Return the change points of every series."""
    from barograph.detection import detect_many

    return detect_many(detector, history.values, history.offsets)


def describe(history: History, runs: Sequence[Sequence[ChangePoint]]) -> list[dict[str, Any]]:
    """Return every series with its change points, as plain values."""
    rows = []
    for series, run in zip(history, runs, strict=True):
        points = [
            {
                "index": point.index,
                "order": int(series.orders[point.index]),
                "commit": series.commits[point.index] or None,
                "probability": point.probability,
                "statistic": point.statistic,
                "pvalue": point.pvalue,
                "mean_before": point.before.mean,
                "mean_after": point.after.mean,
                "percent": percent(point.before.mean, point.after.mean),
            }
            for point in run
        ]
        rows.append({"series": str(series.id), "change_points": points})
    return rows


def percent(before: float, after: float) -> float:
    """Return the change in percent of the level before; infinite from a level of 0."""
    if before:
        return 100.0 * (after - before) / abs(before)
    return math.copysign(math.inf, after) if after else 0.0


def change_text(point: dict[str, Any]) -> str:
    """Return the size of a change as text."""
    change = point["percent"]
    if not math.isfinite(change):
        return "from 0"
    # A change that would round to nothing is shown with as many digits as it needs.
    if abs(change) >= 0.05 or not change:
        return f"{change + 0.0:+.1f} %"  # -0.0 becomes 0.0
    return f"{change:+.1g} %"


def _line(point: dict[str, Any]) -> str:
    place = f"{point['commit'] or point['order']}  index {point['index']}"
    levels = f"{point['mean_before']:.6g} -> {point['mean_after']:.6g}"
    likely = "" if point["probability"] is None else f"  probability {point['probability']:.2f}"
    return f"{place}  {levels}  ({change_text(point)}){likely}"


def _controlled(
    runs: Sequence[Sequence[ChangePoint]], detector: str, points: int, rate: float
) -> Discoveries:
    """Control the false discoveries of one run over many series.

    The p-value of Hunter is that of one index, chosen among all points. Those of the other
    detectors account for the search, and each series has one more test than change points: the
    test that ended the search.
    """
    from barograph.detection import control_discoveries

    searched = sum(map(len, runs)) + len(runs)
    return control_discoveries(runs, tests=points if detector == "hunter" else searched, rate=rate)

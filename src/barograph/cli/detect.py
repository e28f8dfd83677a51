"""`barograph detect`: the change points of every series of a history."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from barograph.cli.histories import echo_json, output_option, read_history, source_options

if TYPE_CHECKING:
    from barograph.detection import Discoveries
    from barograph.detection.base import Detector
    from barograph.history import History
    from barograph.series import ChangePoint

F = TypeVar("F", bound=Callable[..., Any])
DETECTORS = {
    "hunter": "Hunter",
    "edivisive": "EDivisive",
    "setds": "Setds",
    "stepfit": "StepFit",
    "gesd": "Gesd",
    "pelt": "Pelt",
}
TESTING = ("hunter", "edivisive", "gesd")  # those whose change points have a p-value


def detector_option(text: str) -> Callable[[F], F]:
    """Add --detector to a command."""
    return click.option(
        "--detector",
        type=click.Choice(list(DETECTORS)),
        default="hunter",
        show_default=True,
        help=text,
    )


@click.command(
    epilog="Example: barograph detect results.csv --detector hunter --output json",
)
@source_options
@detector_option("Which method, with the parameters it has by default.")
@click.option(
    "--false-discoveries",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Keep at most this expected share of false change points among all (Benjamini-Hochberg).",
)
@output_option
def command(
    location: str, kind: str, detector: str, false_discoveries: float | None, output: str
) -> None:
    """Find the change points of every series at LOCATION."""
    if false_discoveries is not None and detector not in TESTING:
        message = f"{detector} has no p-value to control: allowed are {', '.join(TESTING)}"
        raise click.BadParameter(message, param_hint="--false-discoveries")
    history = read_history(kind, location)
    runs = runs_of(history, by_name(detector))
    control: dict[str, float] | None = None
    if false_discoveries is not None:
        result = controlled(runs, detector, len(history.values), false_discoveries)
        runs, control = result.kept, account(result)
    found = described(history, runs)
    if output == "json":
        discoveries = {} if control is None else {"false_discoveries": control}
        echo_json({"detector": detector, "series": found, **discoveries})
        return
    for series in found:
        click.echo(series["series"])
        for point in series["change_points"]:
            click.echo(f"  {line(point)}")
        if not series["change_points"]:
            click.echo("  no change point")
    if control is not None:
        click.echo(
            f"false discoveries: at most {control['rate']:g} expected, "
            f"{control['removed']} of {control['given']} change points left out, "
            f"{control['tests']} tests, largest p-value kept {control['limit']:.3g}"
        )


def line(point: dict[str, Any]) -> str:
    """Render one change point for people."""
    where = f"{point['commit'] or point['order']}  index {point['index']}"
    return f"{where}  {point['mean_before']:.6g} -> {point['mean_after']:.6g}  ({change(point)})"


def change(point: dict[str, Any]) -> str:
    """Render by how much the level changed, where there is a level to compare with."""
    return f"{point['percent']:+.1f} %" if math.isfinite(point["percent"]) else "from 0"


def by_name(name: str) -> Detector:
    """Make a detector with its default parameters."""
    from barograph import detection

    made: Detector = getattr(detection, DETECTORS[name])()
    return made


def detected(history: History, detector: Detector) -> list[dict[str, Any]]:
    """Return every series with its change points, as plain values."""
    return described(history, runs_of(history, detector))


def runs_of(history: History, detector: Detector) -> list[list[ChangePoint]]:
    """Return the change points of every series."""
    return [detector.detect(history.values_of(number)) for number in range(len(history))]


def controlled(
    runs: Sequence[Sequence[ChangePoint]], detector: str, points: int, rate: float
) -> Discoveries:
    """Control the false discoveries of one run over many series.

    Hunter's p-value is that of one place, chosen among all points; the others' account for the
    search, and each series has one more test than change points, the one that ended it.
    """
    from barograph.detection import control_discoveries

    searched = sum(map(len, runs)) + len(runs)
    return control_discoveries(runs, tests=points if detector == "hunter" else searched, rate=rate)


def account(result: Discoveries) -> dict[str, float]:
    """Return what the control did, as plain values."""
    names = ("rate", "tests", "given", "removed", "limit")
    return {name: getattr(result, name) for name in names}


def described(history: History, runs: Sequence[Sequence[ChangePoint]]) -> list[dict[str, Any]]:
    """Return every series with the change points of its run, as plain values."""
    rows = []
    for number, run in enumerate(runs):
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
            for point in run
        ]
        rows.append({"series": str(history.id_of(number)), "change_points": points})
    return rows


def percent(before: float, after: float) -> float:
    """Return the change of level in per cent of the level before; from a level of 0 infinite."""
    if before:
        return 100.0 * (after - before) / abs(before)
    return math.copysign(math.inf, after) if after else 0.0

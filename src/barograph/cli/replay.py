"""`barograph replay`: run the online detector over every commit of a source."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.classify import bulk_options, score_parts
from barograph.cli.inputs import Inputs
from barograph.cli.options import echo_json, false_alarms_setting
from barograph.results.wording import plural
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    import pyarrow as pa


USE = "online"
PARTS = ".parts"  # finished parts of a running replay


@click.command(epilog="Example: barograph replay data/interim --out replayed --format json")
@bulk_options(USE, "scores new results")
@false_alarms_setting
def command(
    inputs: Inputs,
    model: Path,
    false_alarms_per_1000: float,
    scheduler: str | None,
    out: Path | None,
    output: str,
) -> None:
    """Judge every commit in FILE as if it were the newest.

    FILE may also be a folder of the three tables. With --out, a replay that was interrupted
    continues where it stopped.
    """
    from barograph.learning.replay import ReplayTask, change_points_of, replay_part
    from barograph.pipeline import report

    cache = "" if out is None else str((out / PARTS).resolve())
    path = str(model.resolve()) if model.exists() else ""
    task = ReplayTask(path, false_alarms_per_1000, min_points=1, cache=cache).signed()
    with inputs.tables() as folder:
        points = score_parts(replay_part, folder, task, scheduler=scheduler)
        if not points.num_rows:
            raise NotEnoughDataError(f"{inputs.name}: no points")
        summary = _summary(folder, points)
    if out is not None:
        change_points = change_points_of(points).to_pandas()
        report.write_csv(out / "found.csv", change_points)
        report.write_parquet(out / "found.parquet", change_points)
        shutil.rmtree(cache, ignore_errors=True)
    if output == "json":
        echo_json(summary)
    else:
        _print(summary)


def _summary(folder: str, points: pa.Table) -> dict[str, Any]:
    """Return how many alarms there are and, if people gave both verdicts, how good they are."""
    from barograph.learning.replay import alarm_rates, compare_with_verdicts
    from barograph.results.history import History

    history = History.read(folder)
    try:
        return compare_with_verdicts(history, points)
    except NotEnoughDataError as error:
        click.echo(str(error), err=True)
        return alarm_rates(history, points)


def _print(summary: dict[str, Any]) -> None:
    click.echo(
        f"{plural(summary['alarms'], 'alarm')} in {plural(summary['points'], 'point')}: "
        f"{summary['alarms_per_thousand']:.2f} per thousand points, "
        f"{summary['alarms_per_series']:.2f} per series"
    )
    if "auc" not in summary:
        click.echo(f"{plural(summary['found'], 'change point')} found")
        return
    verdicts = ", ".join(f"{count:,} {name}" for name, count in summary["found_by_verdict"].items())
    others = summary["found_without_candidate"]
    found = plural(summary["found"], "change point")
    click.echo(f"{found} found: {verdicts}, {others:,} without a candidate")
    click.echo(
        f"AUC {summary['auc']:.3f}, accuracy {summary['accuracy']:.3f}, sensitivity "
        f"{summary['sensitivity']:.3f}, specificity {summary['specificity']:.3f}"
    )
    delay = summary["delay"]
    click.echo(
        f"true changes with an alarm at once {delay['share_within_0']:.2f}, "
        f"within 2 points {delay['share_within_2']:.2f}, within 5 {delay['share_within_5']:.2f}"
    )

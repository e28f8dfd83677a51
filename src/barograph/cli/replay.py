"""`barograph replay`: the online detector over every commit of a source."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.looks import second_look_options
from barograph.cli.spreading import artifact_path, judged, judging_options, tables_at
from barograph.errors import NotEnoughDataError

if TYPE_CHECKING:
    import pyarrow as pa

    from barograph.detection.online import SecondLookConfig

USE = "online"
PARTS = ".parts"  # what is done already, while a replay runs


@click.command(epilog="Example: barograph replay data/interim --to replayed --output json")
@judging_options(USE)
@second_look_options(on=False)
def command(
    location: str,
    kind: str,
    model: Path,
    again: SecondLookConfig | None,
    workers: int,
    scheduler: str | None,
    to: Path | None,
    output: str,
) -> None:
    """Judge every commit of the source at LOCATION as if it were the newest.

    LOCATION may be a folder of the three tables, too. A scheduler's workers must see it. With --to
    a replay that was broken off goes on where it was.
    """
    from barograph.pipeline.found import write
    from barograph.pipeline.replaying import Task, replayed

    kept = "" if to is None else str((to / PARTS).resolve())
    task = Task(artifact_path(USE, model), shortest=1, cache=kept)
    if again is not None:
        task = replace(
            task,
            second_look=True,
            setting=again.alarm_policy,
            per_thousand=again.false_alarms_per_1000,
        )
    task = task.signed()
    with tables_at(kind, location) as folder:
        points = judged(replayed, folder, task, workers=workers, scheduler=scheduler)
        if not points.num_rows:
            raise NotEnoughDataError(f"{location}: holds no point")
        told = _told(folder, points)
    if to is not None:
        write(to, points)
        shutil.rmtree(kept, ignore_errors=True)
    if output == "json":
        click.echo(json.dumps(told))
    else:
        _say(told)


def _told(folder: str, points: pa.Table) -> dict[str, Any]:
    """How often alarms are raised; where people judged both ways, how early and how right, too."""
    from barograph.evaluation.replayed import rates
    from barograph.history import History
    from barograph.pipeline.found import held_against_verdicts

    try:
        return held_against_verdicts(folder, points)
    except NotEnoughDataError as error:
        click.echo(str(error), err=True)
        alarms, found = (points.column(name).to_numpy() for name in ("alarm", "found"))
        return rates(History.read(folder), alarms, found)


def _say(told: dict[str, Any]) -> None:
    click.echo(
        f"{told['alarms']} alarms in {told['points']} points: "
        f"{told['alarms_per_thousand']:.2f} per thousand, {told['alarms_per_series']:.2f} a series"
    )
    if "auc" not in told:
        click.echo(f"{told['found']} points are found")
        return
    verdicts = ", ".join(f"{count} {name}" for name, count in told["found_by_verdict"].items())
    others = told["found_without_candidate"]
    click.echo(f"{told['found']} points are found: {verdicts}, {others} without a candidate")
    click.echo(
        f"AUC {told['auc']:.3f}, accuracy {told['accuracy']:.3f}, sensitivity "
        f"{told['sensitivity']:.3f}, specificity {told['specificity']:.3f}"
    )
    within = told["delay"]
    click.echo(
        f"true changes with an alarm at once {within['share_within_0']:.2f}, "
        f"within 2 points {within['share_within_2']:.2f}, within 5 {within['share_within_5']:.2f}"
    )

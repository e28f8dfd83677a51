"""`barograph replay`: run the online detector over every commit of a source."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    echo_json,
    false_alarms_setting,
    format_option,
    model_option,
    online_models,
)
from barograph.results.wording import plural
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    import pyarrow as pa

    from barograph.results.history import History

SERIES = 200  # of one process at a time


@click.command(epilog="Example: barograph replay data/interim --out replayed --format json")
@input_options()
@model_option("online")
@false_alarms_setting
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write the change points to, as CSV and Parquet.",
)
@format_option("text", "json")
def command(
    inputs: Inputs, model: Path, false_alarms_per_1000: float, out: Path | None, output: str
) -> None:
    """Judge every commit in FILE as if it were the newest."""
    import pyarrow as pa

    from barograph.detection.bulk import history_parts
    from barograph.learning.replay import change_points_of, replay_judge, replay_part
    from barograph.pipeline import report
    from barograph.runtime.parallel import map_parallel

    judge = replay_judge(online_models(model), false_alarms_per_1000)
    history = inputs.read()
    if not history.values.size:
        raise NotEnoughDataError(f"{inputs.name}: no points")
    with TemporaryDirectory(prefix="barograph-") as folder:
        history.write(folder)
        calls = [(part, judge, 1) for part in history_parts(folder, SERIES)]
        points = pa.concat_tables(map_parallel(replay_part, calls, "scoring"))
    if out is not None:
        change_points = change_points_of(points).to_pandas()
        report.write_csv(out / "found.csv", change_points)
        report.write_parquet(out / "found.parquet", change_points)
    summary = _summary(history, points)
    if output == "json":
        echo_json(summary)
    else:
        _print(summary)


def _summary(history: History, points: pa.Table) -> dict[str, Any]:
    """Return how many alarms there are and, if people gave both verdicts, how good they are."""
    from barograph.learning.replay import alarm_rates, compare_with_verdicts

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

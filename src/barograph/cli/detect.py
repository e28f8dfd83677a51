"""`barograph detect`: the change points of every series."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import echo_csv, echo_json, format_option
from barograph.cli.search import ChangeSearch, find, search_options
from barograph.results.series import UNKNOWN_TIME

if TYPE_CHECKING:
    from barograph.report.changes import Findings, ReportedChange
    from barograph.results.series import Series

CSV_COLUMNS = (
    *("series", "effect", "percent", "before", "after", "probability", "pvalue"),
    *("order", "commit", "time", "index", "subject"),
)
FIGURE = (".png", ".svg", ".pdf")


@click.command(
    epilog="Example: barograph detect results.csv --since 14d --format markdown",
)
@input_options()
@search_options
@click.option("--all", "every", is_flag=True, help="Also list the series without a change.")
@click.option(
    "--plot",
    "figure",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw up to 20 changed series to a .png, .svg or .pdf file.",
)
@format_option("text", "json", "csv", "markdown")
def command(
    inputs: Inputs,
    search: ChangeSearch,
    every: bool,
    figure: Path | None,
    output: str,
) -> None:
    """Find the change points of every series."""
    from barograph.cli import listing

    began = time.monotonic()
    if figure is not None and figure.suffix not in FIGURE:
        message = f"{figure}: expected a name that ends with {', '.join(FIGURE)}"
        raise click.BadParameter(message, param_hint="--plot")
    history = inputs.read()
    findings = find(history, search, explain=output == "json")
    seconds = time.monotonic() - began
    if figure is not None:
        draw(findings, figure)
    if output == "json":
        echo_json(as_dict(findings, search, seconds))
    elif output == "csv":
        echo_csv(CSV_COLUMNS, _rows(findings))
    elif output == "markdown":
        click.echo("\n".join(listing.markdown(findings, seconds)))
    else:
        for line in listing.lines(findings, every=every, width=listing.terminal_width()):
            click.echo(line)
        click.echo(listing.summary(findings, seconds))


def as_dict(findings: Findings, search: ChangeSearch, seconds: float) -> dict[str, Any]:
    """Return every series with its change points, as plain values for JSON."""
    return {
        "detector": search.choice.name,
        "summary": {
            "series": len(findings.series),
            "changed": len(findings.changed),
            "changes": len(findings.worst_first),
            "regressions": findings.count("worse"),
            "improvements": findings.count("better"),
            "too_short": len(findings.too_short),
            "seconds": round(seconds, 3),
        },
        "series": [
            {
                "series": str(series.id),
                "direction": int(series.direction),
                "unit": series.unit or None,
                "kind": findings.kinds[number] or None if findings.kinds else None,
                "points": len(series),
                "change_points": [_point(change) for change in changes],
            }
            for number, (series, changes) in enumerate(
                zip(findings.series, findings.changes, strict=True)
            )
        ],
    }


def _point(change: ReportedChange) -> dict[str, Any]:
    point = change.point
    before, after, _ = change.size
    return {
        "index": point.index,
        "order": change.order,
        "commit": change.commit or None,
        "time": _iso(change.time),
        "subject": change.subject or None,
        "effect": change.effect,
        "probability": point.probability,
        "statistic": point.statistic,
        "pvalue": point.pvalue,
        "q": point.q,
        "discovery": point.order,
        "before": before,
        "after": after,
        "mean_before": point.before.mean,
        "mean_after": point.after.mean,
        "percent": change.size.percent,
        "reasons": [
            {"text": reason.text, "contribution": reason.part} for reason in change.reasons
        ],
    }


def _rows(findings: Findings) -> Iterator[list[Any]]:
    """Yield one row for each change, the worst first."""
    for change in findings.worst_first:
        point = change.point
        yield [
            str(findings.series[change.series].id),
            *(
                change.effect,
                change.size.percent,
                *change.size[:2],
                point.probability,
                point.pvalue,
            ),
            *(change.order, change.commit, _iso(change.time), point.index, change.subject),
        ]


def draw(findings: Findings, path: Path) -> None:
    """Draw the series that changed, the worst first; all series if none changed.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    from barograph.report import MOST_PANELS
    from barograph.report.panel import Panel
    from barograph.runtime.extras import needed
    from barograph.runtime.files import whole

    with needed("--plot", "plot"):
        from barograph.report.drawing import figure_of
    numbers = findings.changed or range(len(findings.series))
    if len(numbers) > MOST_PANELS:
        click.echo(f"{path}: the first {MOST_PANELS} of {len(numbers):,} series", err=True)

    def panels() -> Iterator[Panel]:
        for number in numbers[:MOST_PANELS]:
            series: Series = findings.series[number]
            points = [change.point for change in findings.changes[number]]
            yield Panel(
                series.values,
                points,
                str(series.id),
                series.direction,
                series.commits,
                series.times,
                series.unit,
            )

    with whole(path) as draft:
        figure_of([*panels()]).savefig(draft, format=path.suffix[1:])


def _iso(time_: int) -> str | None:
    """Return a time in ISO 8601, None if it is unknown."""
    if time_ == UNKNOWN_TIME:
        return None
    try:
        return datetime.fromtimestamp(time_ / 1000, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None

"""`barograph detect`: the change points of every series."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import click

from barograph.cli.config import current_config
from barograph.cli.detectors import DetectorChoice, detector_options
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.judging import order_of
from barograph.cli.options import (
    echo_csv,
    echo_json,
    format_option,
    grouped,
    parameters_of,
)
from barograph.report.changes import Findings, ReportedChange
from barograph.results.series import UNKNOWN_TIME, ChangePoint, Series
from barograph.runtime.compiled import choose
from barograph.runtime.errors import ConfigError

if TYPE_CHECKING:
    from barograph.results.history import History

CSV_COLUMNS = (
    *("series", "effect", "percent", "before", "after", "probability", "pvalue"),
    *("order", "commit", "time", "index", "subject"),
)
AGO = re.compile(r"(\d{1,4})([dwy])")
LABEL = "detecting"  # of the progress
DAYS = {"d": 1, "w": 7, "y": 365}


@dataclass(frozen=True, kw_only=True)
class ChangeSearch:
    """What a command looks for.

    Args:
        choice: The detection method.
        since: Report only changes since a date (2026-03-01), an age (14d, 2w, 1y), or after a
            commit, or after an order if commits have no names.
        min_change: Minimum change to report, in percent of the level before.
    """

    choice: DetectorChoice
    since: str | None = None
    min_change: Annotated[float, click.FloatRange(min=0.0)] = 0.0


search_options = grouped(
    "search", ChangeSearch, *parameters_of(ChangeSearch, "since", "min_change"), detector_options
)


@click.command(
    epilog="Example: barograph detect results.csv --since 14d --format markdown",
)
@input_options()
@search_options
@click.option("--all", "every", is_flag=True, help="Also list the series without a change.")
@format_option("text", "json", "csv", "markdown")
def command(inputs: Inputs, search: ChangeSearch, every: bool, output: str) -> None:
    """Find the change points of every series."""
    from barograph.cli import listing

    began = time.monotonic()
    history = inputs.read()
    findings = find(history, search, explain=output == "json")
    seconds = time.monotonic() - began
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


def _iso(time_: int) -> str | None:
    """Return a time in ISO 8601, None if it is unknown or of no year from 1 to 9999."""
    with suppress(OverflowError, ValueError, OSError):
        if time_ != UNKNOWN_TIME:
            return datetime.fromtimestamp(time_ / 1000, UTC).isoformat().replace("+00:00", "Z")
    return None


def find(history: History, search: ChangeSearch, *, explain: bool = False) -> Findings:
    """Return the changes of a history, with progress on stderr; print what the user should know.

    Args:
        history: The series.
        search: What to look for.
        explain: Whether the changes get their reasons.

    Raises:
        ConfigError: No result has the commit or a time that `since` needs.
    """
    import numpy as np

    from barograph.detection import detect_many
    from barograph.sources.git import Repository

    detector = search.choice.make()
    choose(detector.work(history.values.size))
    short = int((np.diff(history.offsets) < detector.shortest).sum())
    if short:
        least = f"the {detector.shortest} points that {search.choice.name} needs"
        click.echo(
            f"{short:,} of {len(history):,} series not searched: fewer than {least}", err=True
        )
    runs = detect_many(detector, history.values, history.offsets, label=LABEL)
    every = [*history]
    is_recent = _since(search.since, every)
    changes = [
        [
            change
            for change in _changes(number, series, run)
            if abs(change.size.percent) >= search.min_change and is_recent(change)
        ]
        for number, (series, run) in enumerate(zip(every, runs, strict=True))
    ]
    known = Repository().find({change.commit for of_series in changes for change in of_series})
    changes = [
        [replace(c, subject=known[c.commit].subject) if c.commit in known else c for c in of_series]
        for of_series in changes
    ]
    if explain:
        changes = _explained(history, runs, changes, search.choice)
    config = current_config()
    kinds = [config.kind_of(str(series.id)) for series in every] if config.patterns else []
    return Findings(every, changes, detector.shortest, kinds)


def _explained(
    history: History,
    runs: Sequence[Sequence[ChangePoint]],
    changes: Sequence[Sequence[ReportedChange]],
    choice: DetectorChoice,
) -> list[list[ReportedChange]]:
    """Return the changes with the reasons of the model for or against each of them.

    All change points of a series bound each other, also those that are not reported.
    """
    from barograph.detection.scoring import explain_change_points

    places = [
        [point.index for point in run] if of_series else []
        for run, of_series in zip(runs, changes, strict=True)
    ]
    reasons = explain_change_points(choice.triage_model(), history.values, history.offsets, places)
    every = [
        dict(zip(indices, because, strict=True))
        for indices, because in zip(places, reasons, strict=True)
    ]
    return [
        [replace(change, reasons=because[change.point.index]) for change in of_series]
        for of_series, because in zip(changes, every, strict=True)
    ]


def _changes(number: int, series: Series, points: Sequence[ChangePoint]) -> list[ReportedChange]:
    return [
        ReportedChange(
            number,
            point,
            series.direction,
            int(series.orders[point.index]),
            series.commits[point.index] if len(series.commits) else "",
            UNKNOWN_TIME if series.times is None else int(series.times[point.index]),
            is_last=k == len(points) - 1,
        )
        for k, point in enumerate(points)
    ]


def _since(text: str | None, every: Sequence[Series]) -> Callable[[ReportedChange], bool]:
    """Return whether a change is late enough for `--since`."""
    if text is None:
        return lambda _change: True
    time = _time_of(text)
    if time is None:
        order = order_of(every, text)
        if order is None:
            raise ConfigError(f"--since {text!r}: neither a date nor a commit of these results")
        return lambda change: change.order > order
    if all(series.times is None or (series.times == UNKNOWN_TIME).all() for series in every):
        raise ConfigError(f"--since {text}: the results have no times; name a commit instead")
    return lambda change: change.time >= time


def _time_of(text: str) -> int | None:
    """Return the milliseconds of a date or an age, None if the text is neither."""
    ago = AGO.fullmatch(text)
    if ago:
        moment = datetime.now(UTC) - timedelta(days=int(ago[1]) * DAYS[ago[2]])
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)

"""Find the changes of a history that a command reports: the options, and the search."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from barograph.cli.config import current_config
from barograph.cli.detectors import DetectorChoice, detector_options
from barograph.cli.judging import order_of
from barograph.cli.options import NumberRange, grouped
from barograph.report.changes import Findings, ReportedChange
from barograph.results.series import UNKNOWN_TIME, ChangePoint, Series
from barograph.runtime.compiled import choose
from barograph.runtime.errors import ConfigError

if TYPE_CHECKING:
    from barograph.results.history import History

AGO = re.compile(r"(\d{1,4})([dwy])")
LABEL = "detecting"  # of the progress
DAYS = {"d": 1, "w": 7, "y": 365}


@dataclass(frozen=True)
class ChangeSearch:
    """What a command looks for.

    Args:
        choice: The detection method.
        since: A date, an age such as 14d, or a commit: only later changes are reported.
        min_change: Smallest change that is reported, in percent of the level before.
    """

    choice: DetectorChoice
    since: str | None = None
    min_change: float = 0.0


search_options = grouped(
    "search",
    ChangeSearch,
    click.option(
        "--since",
        metavar="DATE|COMMIT",
        help="Report only changes since a date (2026-03-01), an age (14d, 2w, 1y), or after a "
        "commit, or after an order if commits have no names.",
    ),
    click.option(
        "--min-change",
        type=NumberRange(min=0.0),
        default=0.0,
        show_default=True,
        metavar="PERCENT",
        help="Minimum change to report, in percent of the level before.",
    ),
    detector_options,
)


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

    detector = search.choice.make()
    choose(detector.work(history.values.size))
    for note in search.choice.notes(detector.shortest, np.diff(history.offsets)):
        click.echo(note, err=True)
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
    changes = _with_subjects(changes)
    if explain:
        changes = _explained(history, runs, changes, search.choice)
    config = current_config()
    kinds = [config.kind_of(str(series.id)) for series in every] if config.patterns else []
    return Findings(every, changes, detector.shortest, kinds)


def _with_subjects(changes: Sequence[Sequence[ReportedChange]]) -> list[list[ReportedChange]]:
    """Return the changes with the subjects of their commits, where git knows them."""
    from barograph.sources.git import Repository

    known = Repository().find({change.commit for of_series in changes for change in of_series})
    return [
        [
            replace(change, subject=known[change.commit].subject)
            if change.commit in known
            else change
            for change in of_series
        ]
        for of_series in changes
    ]


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

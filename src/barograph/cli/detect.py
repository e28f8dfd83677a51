"""`barograph detect` and `report`: the change points of every series."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.config import current_config
from barograph.cli.detectors import DEFAULT_DETECTOR, ChangeSearch, search_options
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    RELEASED,
    echo_csv,
    echo_json,
    format_option,
    online_models,
    triage_model,
)
from barograph.detection.slow import slow_changes
from barograph.report.changes import Findings, ReportedChange
from barograph.results.series import UNKNOWN_TIME, ChangePoint, Region, Series
from barograph.results.wording import plural, printable
from barograph.runtime.compiled import choose
from barograph.runtime.errors import ConfigError

if TYPE_CHECKING:
    from barograph.results.history import History

CSV_COLUMNS = (
    *("series", "effect", "percent", "before", "after", "probability", "pvalue"),
    *("order", "commit", "time", "index", "subject"),
)
AGO = re.compile(r"(\d{1,4})([dwy])")
DAYS = {"d": 1, "w": 7, "y": 365}


@click.command(
    "detect", epilog="Example: barograph detect results.csv --since 14d --format markdown"
)
@input_options()
@search_options
@click.option("--all", "every", is_flag=True, help="Also list the series without a change.")
@format_option("text", "json", "csv", "markdown")
def detect(inputs: Inputs, search: ChangeSearch, every: bool, output: str) -> None:
    """Find the change points of every series."""
    from barograph.cli import listing

    began = time.monotonic()
    history = inputs.read()
    findings = find(history, search, explain=output == "json")
    seconds = time.monotonic() - began
    if output == "json":
        echo_json(as_dict(findings, search, seconds))
    elif output == "csv":
        worst = findings.worst_first
        rows = ({"series": str(findings.series[c.series].id), **_point(c)} for c in worst)
        echo_csv(CSV_COLUMNS, ([row[name] for name in CSV_COLUMNS] for row in rows))
    elif output == "markdown":
        click.echo("\n".join(listing.markdown(findings, seconds)))
    else:
        for line in listing.lines(findings, every=every):
            click.echo(line)
        click.echo(listing.summary(findings, seconds))


def as_dict(findings: Findings, search: ChangeSearch, seconds: float) -> dict[str, Any]:
    """Return every series with its change points, as plain values for JSON."""
    return {
        "detector": search.name,
        "summary": {
            "series": len(findings.series),
            "changed": sum(map(bool, findings.changes)),
            "changes": len(findings.worst_first),
            "regressions": findings.count("worse"),
            "improvements": findings.count("better"),
            "too_short": len(findings.too_short),
            "drifts": findings.count_slow("drift"),
            "noise_changes": findings.count_slow("noise"),
            "seconds": round(seconds, 3),
        },
        "series": [
            {
                "series": str(series.id),
                "direction": int(series.direction),
                "unit": series.unit or None,
                "kind": findings.kind_of(number) or None,
                "points": len(series),
                "change_points": [_point(change) for change in findings.changes[number]],
                "drifts": _slow(findings, number, "drift"),
                "noise_changes": _slow(findings, number, "noise"),
            }
            for number, series in enumerate(findings.series)
        ],
    }


def _point(change: ReportedChange) -> dict[str, Any]:
    point, size = change.point, change.size
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
        "before": size.before,
        "after": size.after,
        "mean_before": point.before.mean,
        "mean_after": point.after.mean,
        "percent": size.percent,
        "new": point.is_new,
        "reasons": [
            {"text": reason.text, "contribution": reason.part} for reason in change.reasons
        ],
    }


def _slow(findings: Findings, number: int, kind: str) -> list[dict[str, Any]]:
    """Return the drifts or the changes of noise of a series."""
    pairs = [(c.slow, _point(c)) for c in findings.listed[number]]
    names = ("order", "commit", "time", "subject", "before", "after", "percent")
    return [
        {"begin": slow.begin, "end": slow.end, **{name: known[name] for name in names}}
        | ({"effect": known["effect"]} if kind == "drift" else {})
        for slow, known in pairs
        if slow is not None and slow.kind == kind
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
    from barograph.detection.scoring import explain_change_points
    from barograph.sources.git import Repository

    detector = search.make()
    choose(detector.work(history.values.size))
    short = int((np.diff(history.offsets) < detector.shortest).sum())
    if short:
        least = f"the {detector.shortest} points that {search.name} needs"
        click.echo(
            f"{short:,} of {len(history):,} series not searched: fewer than {least}", err=True
        )
    points = detect_many(detector, history.values, history.offsets, label="detecting")
    every = [*history]
    is_recent = _since(search.since, every)
    found = [
        [
            change
            for change in _changes(number, series, run)
            if abs(change.size.percent) >= search.min_change and is_recent(change)
        ]
        for number, (series, run) in enumerate(zip(every, points, strict=True))
    ]
    if explain:
        # All change points of a series bound each other, also those that are not reported.
        pairs = zip(points, found, strict=True)
        places = [[point.index for point in run] if changes else [] for run, changes in pairs]
        model = triage_model(search.model)
        reasons = explain_change_points(model, history.values, history.offsets, places)
        found = [
            [replace(c, reasons=because[indices.index(c.point.index)]) for c in changes]
            for changes, indices, because in zip(found, places, reasons, strict=True)
        ]
    known = Repository().find({change.commit for changes in found for change in changes})
    found = [
        [replace(c, subject=known[c.commit].subject) if c.commit in known else c for c in changes]
        for changes in found
    ]
    config = current_config()
    kinds = [config.kind_of(str(series.id)) for series in every] if config.patterns else []
    slow: list[list[ReportedChange]] = []
    if search.name == DEFAULT_DETECTOR:
        size = search.min_change
        slow = [[*_slow_changes(k, series, size, is_recent)] for k, series in enumerate(every)]
    return Findings(every, found, detector.shortest, kinds, slow)


def _slow_changes(
    number: int, series: Series, least: float, is_recent: Callable[[ReportedChange], bool]
) -> Iterator[ReportedChange]:
    """Yield the drifts and changes of noise of a series, also drifts that have begun before."""
    for slow in slow_changes(series.values):
        is_noise = slow.kind == "noise"
        before, after = (Region.of(series.values, level) for level in (slow.before, slow.after))
        point = ChangePoint(slow.begin, 0.0, None, before, after, is_trend=is_noise)
        last = replace(point, index=slow.begin if is_noise else slow.end - 1)
        [change], [newest] = (_changes(number, series, [place]) for place in (point, last))
        if is_recent(newest) and (is_noise or abs(slow.percent) >= least):
            yield replace(change, slow=slow)


def _changes(
    number: int, series: Series, points: Sequence[ChangePoint]
) -> Iterator[ReportedChange]:
    for point in points:
        yield ReportedChange(
            number,
            point,
            series.direction,
            int(series.orders[point.index]),
            series.commits[point.index] if len(series.commits) else "",
            UNKNOWN_TIME if series.times is None else int(series.times[point.index]),
        )


def _since(text: str | None, every: Sequence[Series]) -> Callable[[ReportedChange], bool]:
    """Return whether a change is late enough for `--since`."""
    if text is None:
        return lambda _change: True
    time = _time_of(text)
    if time is None:
        from barograph.cli.judged import order_of

        order = order_of(every, text)
        if order is None:
            raise ConfigError(f"--since {text!r}: neither a date nor a commit of these results")
        return lambda change: change.order > order
    if all(series.times is None or (series.times == UNKNOWN_TIME).all() for series in every):
        raise ConfigError(f"--since {text}: the results have no times; name a commit instead")
    return lambda change: change.time >= time


def _time_of(text: str) -> int | None:
    """Return the milliseconds of a date or an age, None if the text is neither."""
    if ago := AGO.fullmatch(text):
        moment = datetime.now(UTC) - timedelta(days=int(ago[1]) * DAYS[ago[2]])
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


@click.command(
    "report", epilog="Example: barograph report results.csv --since 90d --out report.html"
)
@input_options()
@search_options
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    default=Path("report.html"),
    show_default=True,
    help="File to write, or - for the standard output.",
)
def report(inputs: Inputs, search: ChangeSearch, out: Path) -> None:
    """Write a page with the changes of every series.

    The page is one file that makes no request: a table of all changes, the worst first, and for
    each series that changed a chart with its levels, change points, probabilities and reasons.
    Without a detector of your own it also lists the newest results that `gate` calls suspects.
    """
    from barograph.report.page import report_page
    from barograph.runtime.files import whole

    history = inputs.read()
    findings = find(history, search, explain=True)
    suspects = _suspects(history) if search.name == DEFAULT_DETECTOR else []
    command = shlex.join(["barograph", *sys.argv[1:]]) if sys.argv[1:2] == ["report"] else ""
    page = report_page(findings, command, _note(search), suspects)
    if str(out) == "-":
        click.echo(page, nl=False)
        return
    with whole(out) as draft:
        draft.write_text(page, encoding="utf-8")
    size = len(page.encode()) / 1e6
    changes = plural(len(findings.worst_first), "change")
    click.echo(f"{out}: {changes} in {len(findings.series):,} series ({size:.1f} MB)")


def _suspects(history: History) -> list[tuple[str, str]]:
    """Return the name of each series whose newest result is a suspect, and what `gate` says."""
    from barograph.cli.answers import JobAnswer
    from barograph.cli.gate import runs_of
    from barograph.cli.judged import answers_of, counts_of, judge_series
    from barograph.cli.rendering import sentence, worst_first
    from barograph.detection.online import make_judge

    numbers = [number for number, entry in enumerate(history) if len(entry)]
    series = [history[number] for number in numbers]
    counts = zip(numbers, series, counts_of(series), strict=True)
    rows = [(entry, runs_of(history, number), count, 0) for number, entry, count in counts]
    judge = make_judge(online_models(RELEASED / "online.baro"))
    judged = judge_series(judge, rows)
    suspects = JobAnswer(answers_of(judged, None, len(judged))).of_kind("suspect")
    return [(printable(e.series), printable(sentence(e))) for e in worst_first(suspects)]


def _note(search: ChangeSearch) -> str:
    """Return what was searched for, as sentences."""
    parts = [f"Found by {search.name}"]
    if search.name == DEFAULT_DETECTOR:
        parts.append("scored by a model")
    if search.since:
        parts.append(f"since {search.since}")
    if search.min_change:
        parts.append(f"of at least {search.min_change:g} %")
    if search.min_probability is not None:
        parts.append(f"at least {100 * search.min_probability:g} % real")
    return f"{', '.join(parts)}."

"""The page of the model: how it did, retraining, release and rollback, and work lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from barograph.service.comparison import USES
from barograph.service.context import Context
from barograph.service.model_report import WEEKS, model_card, model_report
from barograph.service.pages.rendering import page_router, render
from barograph.service.pages.series import names
from barograph.service.pages.sparklines import Sparkline, sparkline
from barograph.service.retraining import PHASES
from barograph.service.routes.training import folders_of, retraining_state
from barograph.service.work_lists import WorkList, work_lists
from barograph.store import reading
from barograph.store.candidate_records import get_candidate
from barograph.training.weekly_record import PastRecord, Record
from barograph.triage.traces import traces
from barograph.wording import MINUS

WIDE, HIGH = 1000, 200  # of a plot, in its own units
LISTED = 6  # candidates of each work list
UNKNOWN = "?"
routes = page_router()


@dataclass(frozen=True)
class Meter:
    """One measure by week, as paths of a plot.

    Attributes:
        title: Name of the measure.
        value: The value of the last weeks, as text.
        note: What it is a share of.
        labels: The axis, from the top to the bottom.
        line: Path through the weeks; a week without a value interrupts it.
        dots: Path of one dot a week.
        band: Path of the intervals; empty without them.
        summary: The plot in words.
    """

    title: str
    value: str
    note: str
    labels: tuple[str, str, str]
    line: str
    dots: str
    band: str
    summary: str


@dataclass(frozen=True)
class ListedCandidate:
    """A candidate of a work list.

    Attributes:
        series: Number of its series.
        candidate: Its number.
        full_name: Identity of the series.
        name: What people call the series.
        rest: The rest of its identity.
        verdict: The verdict that holds.
        probability: What the model says.
        spark: The results around it.
    """

    series: int
    candidate: int
    full_name: str
    name: str
    rest: str
    verdict: str
    probability: float | None
    spark: Sparkline | None


@routes.get("/model")
def get_model_page(request: Request, context: Context) -> Response:
    """Return the page."""
    with context.store.read() as connection:
        report = model_report(connection, folders_of(context))
        lists = [(work_list, listed(connection, work_list)) for work_list in work_lists(connection)]
    return render(
        request,
        "model.html",
        active="model",
        report=report,
        scoring=next(file for file in report.files if file.name == "label_free"),
        meters=meters(report.past, has_alarms=report.has_alarms),
        weeks=WEEKS,
        titles=USES,
        state=retraining_state(context),
        phases=PHASES,
        lists=lists,
        card=model_card(folders_of(context)),
        calibration=_calibration(report.past.calibration),
        span=span,
        texts=compared_texts,
        interval=interval_path,
    )


def meters(past: PastRecord, *, has_alarms: bool) -> list[Meter]:
    """Return the four measures by week; delays only where alarms are raised."""
    recent = past.recent
    shares = [
        ("Agreement", "verdicts", lambda record: record.agreement),
        ("Useful alarms", "alarms", lambda record: record.useful),
        ("Missed", "real changes", lambda record: record.missed),
    ]
    result = [_share_meter(past, *share) for share in shares]
    if has_alarms:
        result.append(_delay_meter(past, recent))
    return result


def _share_meter(past: PastRecord, title: str, of: str, pick: Callable[[Record], Any]) -> Meter:
    recent = pick(past.recent)
    weeks = [pick(week.record) for week in past.weeks]
    shares = [count.hits / count.of for count in weeks if count.of]
    # Multiples of 20 %, so that the middle of the axis is a round number, too.
    low = 0.0 if title == "Missed" else math.floor(5 * min([0.5, *shares])) / 5
    high = 1.0 if title != "Missed" else math.ceil(5 * max([0.1, *shares])) / 5

    def y(share: float) -> float:
        return HIGH * (high - min(max(share, low), high)) / (high - low)

    places = [
        None if not count.of else (y(count.low), y(count.hits / count.of), y(count.high))
        for count in weeks
    ]
    value = UNKNOWN if recent.value is None else _percent(recent.value)
    note = f"{recent.hits} of {recent.of} {of}"
    texts = [
        f"{week.start:%-d %b} {count.hits} of {count.of}"
        for week, count in zip(past.weeks, weeks, strict=True)
    ]
    axis = (_percent(high), _percent((low + high) / 2), _percent(low))
    return Meter(title, value, note, axis, *_paths(places), f"{title} by week: {', '.join(texts)}")


def _delay_meter(past: PastRecord, recent: Record) -> Meter:
    weeks = [week.record.delay for week in past.weeks]
    top = max([4.0, *(week.value for week in weeks if week.value is not None)])
    places = [
        None
        if week.value is None
        else tuple(
            HIGH * (1 - min(v if v is not None else week.value, top) / top)
            for v in (week.low, week.value, week.high)
        )
        for week in weeks
    ]
    value = UNKNOWN if recent.delay.value is None else f"{recent.delay.value:g}"
    alarmed = recent.alarmed
    note = f"commits, median; {alarmed.hits} of {alarmed.of} alarmed"
    texts = ["none" if week.value is None else f"{week.value:g}" for week in weeks]
    axis = (f"{top:g}", f"{top / 2:g}", "0")
    return Meter(
        "Delay", value, note, axis, *_paths(places), f"Median delay by week: {', '.join(texts)}"
    )


def _paths(places: Sequence[Any]) -> tuple[str, str, str]:
    """Return the line, the dots and the band of a plot, with gaps where nothing is known."""
    step = WIDE / max(len(places) - 1, 1)
    line, dots, band = [], [], []
    run: list[tuple[float, Any]] = []
    for k, place in enumerate([*places, None]):
        if place is not None:
            run.append((k * step, place))
            continue
        if run:
            line.append("M" + "L".join(f"{x:.0f} {y[1]:.1f}" for x, y in run))
            dots += [f"M{x:.0f} {y[1]:.1f}h0" for x, y in run]
            there = [f"{x:.0f} {y[0]:.1f}" for x, y in run]
            back = [f"{x:.0f} {y[2]:.1f}" for x, y in reversed(run)]
            band.append("M" + "L".join(there + back) + "Z")
        run = []
    return "".join(line), "".join(dots), "".join(band)


def _calibration(bins: Sequence[Any]) -> dict[str, Any] | None:
    """Return the plot of the calibration, and its largest bin in words; None without verdicts."""
    if not bins:
        return None
    line = "M" + "L".join(f"{200 * bin_.stated:.1f} {200 * (1 - bin_.share):.1f}" for bin_ in bins)
    dots = "".join(f"M{200 * bin_.stated:.1f} {200 * (1 - bin_.share):.1f}h0" for bin_ in bins)
    ranges = "".join(
        f"M{200 * bin_.stated:.1f} {200 * (1 - bin_.low):.1f}V{200 * (1 - bin_.high):.1f}"
        for bin_ in bins
    )
    largest = max(bins, key=lambda bin_: bin_.rows)
    words = (
        f"Of the {largest.rows} candidates scored about {_percent(largest.stated)}, people called "
        f"{_percent(largest.share)} real."
    )
    return {"line": line, "dots": dots, "ranges": ranges, "words": words}


def listed(connection: sa.Connection, work_list: WorkList) -> list[ListedCandidate]:
    """Return the first candidates of a work list, with what the page shows of them."""
    numbers = work_list.candidates[:LISTED]
    plots = traces(connection, numbers)

    def row(number: int) -> ListedCandidate:
        candidate = get_candidate(connection, number)
        full_name = reading.get_series(connection, candidate.series).name
        name, rest = names(full_name)
        spark = sparkline(plots.get(number))
        return ListedCandidate(
            *(candidate.series, number, str(full_name), name, rest),
            *(candidate.verdict.value, candidate.probability, spark),
        )

    return [row(number) for number in numbers]


def interval_path(low: float, high: float, difference: float) -> dict[str, float]:
    """Return where an interval lies on a line from 0 to 200 with zero in the middle."""
    largest = max(abs(low), abs(high), abs(difference)) or 1.0
    return {
        name: round(100 + 92 * value / largest, 1)
        for name, value in (("low", low), ("high", high), ("at", difference))
    }


def compared_texts(measure: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the old and the new value of a measure, and their difference, for people.

    Example:
        >>> compared_texts({"old": 0.75, "new": 0.8, "is_share": True})
        ('75.0 %', '80.0 %', '+5.0')
    """
    old, new = measure["old"], measure["new"]
    if measure["is_share"]:
        texts = f"{old:.1%}".replace("%", " %"), f"{new:.1%}".replace("%", " %")
        return *texts, f"{100 * (new - old):+.1f}".replace("-", MINUS)
    return f"{old:.3f}", f"{new:.3f}", f"{new - old:+.3f}".replace("-", MINUS)


def span(seconds: float) -> str:
    """Return a duration for people.

    Example:
        >>> span(4.2), span(72)
        ('4 s', '1 min 12 s')
    """
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")

"""How the model did, retraining, release and rollback, work lists, and the page of the model."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Request
from starlette.responses import Response

from barograph.learning.registry import card
from barograph.results.wording import MINUS
from barograph.runtime.errors import ConfigError, DataError
from barograph.server.store import reading, retrainings
from barograph.server.store.candidate_records import get_candidate
from barograph.server.store.retrainings import RetrainingRecord
from barograph.server.store.tokens import Scope
from barograph.server.triage.effects import traces
from barograph.server.web.context import AppContext, CallerName, Connection, Context, guarded_router
from barograph.server.web.model_report import (
    USES,
    WEEKS,
    ComparedFile,
    ComparedMeasure,
    ModelReport,
    WorkList,
    compared_files,
    model_report,
    work_lists,
)
from barograph.server.web.pages.rendering import names, page_router, render, sparkline
from barograph.server.web.responses import CONFLICT, ApiError
from barograph.server.web.retraining import PHASES, Retraining, RetrainingProgress
from barograph.server.web.schemas import answer, many, optional, schema_of

NO_FOLDER = "this service was started without a folder for models, so it cannot retrain"
WIDE, HIGH = 1000, 200  # of a plot, in its own units
LISTED = 6  # candidates of each work list
UNKNOWN = "?"
SHARES = (  # title, what it is a share of, and the name in the record
    ("Agreement", "verdicts", "agreement"),
    ("Useful alarms", "alarms", "useful"),
    ("Missed", "real changes", "missed"),
)
PAST = schema_of(ModelReport, "ModelRecord", without=("release", "has_alarms"))
PROGRESS = schema_of(
    RetrainingProgress, without=("began",), phases="phases", elapsed="elapsed", share="share"
)
SUMMARY = schema_of(RetrainingRecord, without=("result",), why="why")
RETRAINING = answer(
    "Retraining",
    "The running retraining, the latest one that ended, and the latest one that is done.",
    possible=bool,
    why_not=str,
    running=optional(PROGRESS),
    latest=optional(SUMMARY),
    compared=optional(SUMMARY),
    comparison=many(schema_of(ComparedFile)),
)
WORK_LISTS = answer("WorkLists", lists=many(schema_of(WorkList)))
RELEASED = answer("ReleasedFiles", files=list[str])

routes = guarded_router(Scope.READ, "model")
administration = guarded_router(Scope.ADMIN, "model")
page_routes = page_router()


@routes.get("/api/v1/model/record", response_model=PAST)
def get_record(connection: Connection, context: Context) -> Any:
    """Return how the model did, by week; verdicts are compared with what it had said before."""
    return model_report(connection, served_folder(context), context.candidate_model)


@routes.get("/api/v1/work-lists", response_model=WORK_LISTS)
def get_work_lists(connection: Connection) -> dict[str, Any]:
    """Return doubted labels, and the open change points whose verdicts would teach most."""
    return {"lists": work_lists(connection)}


@routes.get("/api/v1/retraining", response_model=RETRAINING)
def get_retraining(context: Context) -> dict[str, Any]:
    """Return how far the running retraining has come, and what the latest one found."""
    return retraining_state(context)


@administration.post(
    "/api/v1/retraining", response_model=RETRAINING, responses=CONFLICT, status_code=202
)
def post_retraining(context: Context, caller: CallerName) -> dict[str, Any]:
    """Retrain in the background; nothing is released until that is requested."""
    with or_409():
        _of(context).start(caller)
    return retraining_state(context)


@administration.post("/api/v1/retraining/cancel", response_model=RETRAINING, responses=CONFLICT)
def post_cancel(context: Context) -> dict[str, Any]:
    """End the running retraining; nothing of it is kept."""
    if not _of(context).cancel():
        raise ApiError(409, "no retraining is running")
    return retraining_state(context)


@administration.post("/api/v1/retraining/release", response_model=RELEASED, responses=CONFLICT)
def post_release(
    context: Context, caller: CallerName, number: Annotated[int, Body(embed=True, alias="id", ge=1)]
) -> dict[str, Any]:
    """Put every model in service that was found not to be worse; it decides from now on."""
    with or_409():
        return {"files": _of(context).release(number, caller)}


@administration.post("/api/v1/model/rollback", response_model=RELEASED, responses=CONFLICT)
def post_rollback(
    context: Context, caller: CallerName, name: Annotated[str, Body(embed=True, max_length=40)]
) -> dict[str, Any]:
    """Take the released file of a name out of service for good.

    The file before it decides again; before the first one, that is the built-in one.
    """
    with or_409():
        return {"files": [_of(context).roll_back(name, caller)]}


@page_routes.get("/model")
def get_model_page(connection: Connection, request: Request, context: Context) -> Response:
    """Return the page."""
    report = model_report(connection, served_folder(context), context.candidate_model)
    lists = [(work_list, listed(connection, work_list)) for work_list in work_lists(connection)]
    return render(
        request,
        "model.html",
        active="model",
        report=report,
        scoring=next(file for file in report.files if file.name == "label_free"),
        meters=meters(report),
        weeks=WEEKS,
        titles=USES,
        state=retraining_state(context),
        phases=PHASES,
        lists=lists,
        card="" if (model := context.candidate_model.newest()) is None else card(model),
        calibration=_calibration(report.calibration),
        texts=compared_texts,
        interval=interval_path,
    )


def retraining_state(context: AppContext) -> dict[str, Any]:
    """Return the running retraining, the latest one, and the comparison of the latest done one."""
    with context.store.read() as connection:
        latest = retrainings.latest(connection)
        done = retrainings.latest(connection, retrainings.DONE)
    retraining = context.retraining
    progress = None if retraining is None else retraining.progress
    why_not = NO_FOLDER if retraining is None else retraining.missing
    return {
        "possible": not why_not,
        "why_not": why_not,
        "running": None if progress is None else _as_json(progress),
        "latest": latest,
        "compared": done,
        "comparison": [] if done is None else compared_files(done.result or {}),
    }


def _as_json(progress: RetrainingProgress) -> dict[str, Any]:
    result: dict[str, Any] = PROGRESS.model_validate(progress, from_attributes=True).model_dump()
    return result


def served_folder(context: AppContext) -> Path | None:
    """Return the folder that models are released to; None if this service releases none."""
    return None if context.retraining is None else context.retraining.served


@contextmanager
def or_409() -> Iterator[None]:
    """Answer 409 when something is not possible in the present state."""
    try:
        yield
    except (ConfigError, DataError) as error:
        raise ApiError(409, str(error)) from error
    except OSError as error:  # the folder of the models is read-only, or its disk is full
        raise ApiError(503, f"{error.filename}: {error.strerror}") from error


def _of(context: AppContext) -> Retraining:
    if context.retraining is None:
        raise ApiError(409, NO_FOLDER)
    return context.retraining


def meters(report: ModelReport) -> list[dict[str, Any]]:
    """Return the four measures by week as plots; delays only where alarms are raised."""
    shares = [_share_meter(report, *share) for share in SHARES]
    return [*shares, *([_delay_meter(report)] if report.has_alarms else [])]


def _share_meter(report: ModelReport, title: str, of: str, name: str) -> dict[str, Any]:
    recent = getattr(report.recent, name)
    weeks = [getattr(week.record, name) for week in report.weeks]
    known = [share.value for share in weeks if share.value is not None]
    # Multiples of 20 %, so that the middle of the axis is a round number, too.
    low, high = math.floor(5 * min([0.5, *known])) / 5, 1.0
    if title == "Missed":
        low, high = 0.0, math.ceil(5 * max([0.1, *known])) / 5
    texts = [
        f"{week.start:%-d %b} {share.hits} of {share.of}"
        for week, share in zip(report.weeks, weeks, strict=True)
    ]
    return _paths(weeks, low, high) | {
        "title": title,
        "value": _percent(recent.value),
        "note": f"{recent.hits} of {recent.of} {of}",
        "labels": (_percent(high), _percent((low + high) / 2), _percent(low)),
        "summary": f"{title} by week: {', '.join(texts)}",
    }


def _delay_meter(report: ModelReport) -> dict[str, Any]:
    recent, alarmed = report.recent.delay, report.recent.alarmed
    weeks = [week.record.delay for week in report.weeks]
    top = max([4.0, *(week.value for week in weeks if week.value is not None)])
    texts = ["none" if week.value is None else f"{week.value:g}" for week in weeks]
    unit = "commit" if recent.value == 1 else "commits"
    return _paths(weeks, 0.0, top) | {
        "title": "Delay",
        "value": UNKNOWN if recent.value is None else f"{recent.value:g}",
        "note": f"{unit}, median; {alarmed.hits} of {alarmed.of} alarmed",
        "labels": (f"{top:g}", f"{top / 2:g}", "0"),
        "summary": f"Median delay by week: {', '.join(texts)}",
    }


def _paths(weeks: Sequence[Any], least: float, most: float) -> dict[str, Any]:
    """Return the line, the dots and the band of a plot, with gaps where nothing is known."""
    step = WIDE / max(len(weeks) - 1, 1)
    paths = {"line": "", "dots": "", "band": ""}

    def place(k: int, week: Any, name: str) -> str:
        value = getattr(week, name)  # an end may be unknown although the value is known
        known = min(max(week.value if value is None else value, least), most)
        return f"{k * step:.0f} {HIGH * (most - known) / (most - least):.1f}"

    for is_known, part in groupby(enumerate(weeks), lambda pair: pair[1].value is not None):
        if is_known:
            run = list(part)
            low, middle, high = (
                [place(k, week, name) for k, week in run] for name in ("low", "value", "high")
            )
            paths["line"] += "M" + "L".join(middle)
            paths["dots"] += "".join(f"M{point}h0" for point in middle)
            paths["band"] += "M" + "L".join(low + high[::-1]) + "Z"
    return paths


def _calibration(bins: Sequence[Any]) -> dict[str, Any] | None:
    """Return the plot of the calibration, and its largest bin in words; None without verdicts."""
    if not bins:
        return None
    places = [(f"{200 * bin_.stated:.1f}", f"{200 * (1 - bin_.share):.1f}") for bin_ in bins]
    ranges = [
        f"M{x} {200 * (1 - bin_.low):.1f}V{200 * (1 - bin_.high):.1f}"
        for (x, _), bin_ in zip(places, bins, strict=True)
    ]
    line = "M" + "L".join(f"{x} {y}" for x, y in places)
    dots = "".join(f"M{x} {y}h0" for x, y in places)
    largest = max(bins, key=lambda bin_: bin_.rows)
    words = (
        f"Of the {largest.rows} candidates scored about {_percent(largest.stated)}, people called "
        f"{_percent(largest.share)} real."
    )
    return {"line": line, "dots": dots, "ranges": "".join(ranges), "words": words}


def listed(connection: Connection, work_list: WorkList) -> list[dict[str, Any]]:
    """Return the first candidates of a work list, with what the page shows of them."""
    numbers = work_list.candidates[:LISTED]
    plots = traces(connection, numbers)
    rows = []
    for number in numbers:
        candidate = get_candidate(connection, number)
        identity = reading.get_series(connection, candidate.series).name
        facts = candidate, identity, *names(identity), sparkline(plots.get(number))
        rows.append(
            dict(zip(("candidate", "identity", "name", "rest", "spark"), facts, strict=True))
        )
    return rows


def interval_path(low: float, high: float, difference: float) -> dict[str, float]:
    """Return where an interval lies on a line from 0 to 200 with zero in the middle."""
    largest = max(abs(low), abs(high), abs(difference)) or 1.0
    return {
        name: round(100 + 92 * value / largest, 1)
        for name, value in (("low", low), ("high", high), ("at", difference))
    }


def compared_texts(measure: ComparedMeasure) -> tuple[str, str, str]:
    """Return the old and the new value of a measure, and their difference, for people.

    Example:
        >>> measure = ComparedMeasure("AUC", 90, 0.75, 0.8, -0.01, 0.1, "not certain", True)
        >>> compared_texts(measure)
        ('75.0 %', '80.0 %', '+5.0')
    """
    old, new = measure.old, measure.new
    if measure.is_share:
        texts = f"{old:.1%}".replace("%", " %"), f"{new:.1%}".replace("%", " %")
        return *texts, f"{100 * (new - old):+.1f}".replace("-", MINUS)
    return f"{old:.3f}", f"{new:.3f}", f"{new - old:+.3f}".replace("-", MINUS)


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.0%}".replace("%", " %")

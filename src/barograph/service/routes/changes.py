"""Change points, and what people say of them."""

from dataclasses import asdict
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query, Request

from barograph.series import Verdict
from barograph.service.access import Reading, Triaging, caller_of, router
from barograph.service.answers import Json
from barograph.service.asking import asked, following, known, written
from barograph.service.forms import form, form_body
from barograph.service.routes.series import (
    LARGEST,
    After,
    Limit,
    Number,
    Project,
    existing,
    storable,
)
from barograph.service.schemas.changes import VERDICTS, ChangeDetail, ChangesPage, VerdictGiven
from barograph.service.schemas.shared import ERRORS
from barograph.store import queries
from barograph.triage import verdicts as opinions

Candidate = Annotated[
    int, Path(ge=1, le=LARGEST, description="The number of the change point.", examples=[3])
]
Held = Annotated[
    VERDICTS | None, Query(description="The one that holds.", examples=["true_positive"])
]
Withdrawn = Annotated[
    bool, Query(description="Also those that the latest look found no more.", examples=[True])
]
routes = router(Reading, "change points")
verdicts = router(Triaging, "change points")


@routes.get(
    "/api/v1/change-points",
    response_model=ChangesPage,
    responses=ERRORS,
    summary="Change points of all series",
)
async def get_changes(
    request: Request,
    project: Project = None,
    verdict: Held = None,
    withdrawn: Withdrawn = False,
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Return change points; with `verdict=not_triaged` those that are to be judged."""
    storable([project or ""])
    said = None if verdict is None else Verdict(verdict)
    present = None if withdrawn else True
    found = await asked(
        request,
        lambda c: queries.find_candidates(
            c, project=project, verdict=said, present=present, after=after, limit=limit
        ),
    )
    return _page(found, limit)


@routes.get(
    "/api/v1/series/{number}/change-points",
    response_model=ChangesPage,
    responses=ERRORS,
    summary="Change points of a series",
)
async def get_changes_of(
    request: Request,
    number: Number,
    withdrawn: Withdrawn = False,
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Return the change points of one series."""
    present = None if withdrawn else True

    def question(connection: sa.Connection) -> list[queries.Candidate]:
        existing(connection, number)
        return queries.find_candidates(
            connection, number=number, present=present, after=after, limit=limit
        )

    return _page(await asked(request, question), limit)


@routes.get(
    "/api/v1/change-points/{number}",
    response_model=ChangeDetail,
    responses=ERRORS,
    summary="One change point",
)
async def get_change(request: Request, number: Candidate) -> Json:
    """Return one change point with its moves and its verdicts."""
    return Json(await asked(request, lambda c: _detail(c, number)))


@verdicts.post(
    "/api/v1/change-points/{number}/verdict",
    response_model=ChangeDetail,
    responses=ERRORS,
    openapi_extra=form_body(VerdictGiven),
    summary="Give a verdict",
)
async def post_verdict(request: Request, number: Candidate) -> Json:
    """Record what you say of a change point; it holds from now on, the earlier ones are kept."""
    told = await form(request, VerdictGiven)
    who = caller_of(request).name

    def work(connection: sa.Connection) -> dict[str, Any]:
        _detail(connection, number)
        opinions.give(connection, number, Verdict(told.verdict), who, told.note)
        return _detail(connection, number)

    return Json(await written(request, work))


def _detail(connection: sa.Connection, number: int) -> dict[str, Any]:
    with known():
        found = queries.one_candidate(connection, number)
    moves = [
        dict(zip(("from_order", "to_order", "moved"), move, strict=True))
        for move in queries.moves_of(connection, number)
    ]
    history = [one._asdict() for one in opinions.given(connection, number)]
    return {**asdict(found), "moves": moves, "verdicts": history}


def _page(found: list[queries.Candidate], limit: int) -> Json:
    rows = [asdict(one) for one in found]
    return Json({"change_points": rows, "next": following(found, limit)})

"""One decision in detail: its reasons, and every value that was sent for its point."""

from typing import Any

import sqlalchemy as sa
from fastapi import Request

from barograph.service.access import Reading, router
from barograph.service.answers import Json
from barograph.service.asking import asked, known, written
from barograph.service.errors import RETRY, Refused
from barograph.service.parts import parts_of
from barograph.service.routes.series import After, Limit, Number, Order, Run, storable
from barograph.service.schemas.decisions import Reasons, RevisionsPage
from barograph.service.schemas.shared import ERRORS
from barograph.store import queries
from barograph.store.reasons import OtherModelError, explained

POINT = "/api/v1/series/{number}/points/{order}"
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {**ERRORS[422], "description": "Another model decided than decides now."}
}
routes = router(Reading, "series")


@routes.get(
    f"{POINT}/reasons",
    response_model=Reasons,
    responses={**ERRORS, **CONFLICT},
    summary="Why a point was decided so",
)
async def get_reasons(request: Request, number: Number, order: Order, run: Run = "") -> Json:
    """Take the decision on a point apart; done when first asked for, and kept from then on.

    Reasons are those of the probability of the point as it was the newest.
    """
    storable([run])
    loaded = parts_of(request).watch.current
    if loaded is None:
        raise Refused(503, "no model decides yet", headers=RETRY)
    judged = loaded.model, loaded.judge.version

    def work(connection: sa.Connection) -> Json:
        with known():
            try:
                return Json({"reasons": explained(connection, *judged, number, order, run)})
            except OtherModelError as error:
                raise Refused(409, str(error)) from error

    return await written(request, work)


@routes.get(
    f"{POINT}/revisions",
    response_model=RevisionsPage,
    responses=ERRORS,
    summary="Every value of a point",
)
async def get_revisions(
    request: Request,
    number: Number,
    order: Order,
    run: Run = "",
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Return every value that was sent for a point, the one that holds first."""
    storable([run])

    def question(connection: sa.Connection) -> list[queries.Revision]:
        with known():
            return queries.revisions_of(connection, number, order, run, after=after, limit=limit)

    found = await asked(request, question)
    following = after + limit if len(found) == limit else None
    return Json({"revisions": [one._asdict() for one in found], "next": following})

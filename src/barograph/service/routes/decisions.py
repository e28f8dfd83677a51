"""One decision in detail: its reasons, and every value that was sent for its point."""

from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel, Field

from barograph.service.context import Context, guarded_router
from barograph.service.responses import ApiError, ErrorResponse, example, or_404
from barograph.service.routes.series import After, Limit, Order, Run, SeriesNumber
from barograph.store import reading
from barograph.store.reasons import OtherModelError, explained
from barograph.store.tokens import Scope

POINT = "/api/v1/series/{number}/points/{order}"
CONFLICT = {"model": ErrorResponse, "description": "The model that decided is no longer in use."}
REASON_EXAMPLE = {"name": "edge", "value": 6.2, "part": 0.41}
REVISION_EXAMPLE = {
    "value": 18234.5,
    "time": 1706220908000,
    "received": 1706220999000,
    "holds": True,
}


class ReasonResponse(BaseModel):
    """A feature of the point, and what it added to the probability."""

    name: str
    value: float
    part: float | None = Field(description="Null if the model cannot be explained.")


class ReasonsResponse(BaseModel):
    """Why a point was decided as it was, the most important feature first."""

    model_config = example({"reasons": [REASON_EXAMPLE]})
    reasons: list[ReasonResponse] = Field(
        description="Empty for points with too few points before them."
    )


class RevisionResponse(BaseModel):
    """One value that was sent for a point."""

    value: float
    time: int | None
    received: int
    holds: bool = Field(description="Whether it is the current value.")


class RevisionsPage(BaseModel):
    """All values of a point, the current one first; request the next page with `after` = `next`."""

    model_config = example({"revisions": [REVISION_EXAMPLE], "next": 1})
    revisions: list[RevisionResponse]
    next: int | None


routes = guarded_router(Scope.READ, "series")


@routes.get(
    f"{POINT}/reasons",
    response_model=ReasonsResponse,
    responses={409: CONFLICT},
    summary="Reasons of a decision",
)
def get_reasons(
    context: Context, number: SeriesNumber, order: Order, run: Run = ""
) -> dict[str, Any]:
    """Explain the decision on a point; reasons are computed on first request and then kept.

    They explain the probability that the point had when it was the newest.
    """
    loaded = context.model

    def work(connection: sa.Connection) -> dict[str, Any]:
        version = loaded.judge.version
        with or_404():
            try:
                reasons = explained(connection, loaded.model, version, number, order, run)
            except OtherModelError as error:
                raise ApiError(409, str(error)) from error
        return {"reasons": reasons}

    return context.store.write(work)


@routes.get(f"{POINT}/revisions", response_model=RevisionsPage, summary="All values of a point")
def get_revisions(
    context: Context,
    number: SeriesNumber,
    order: Order,
    run: Run = "",
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return every value that was sent for a point, the current one first."""
    with context.store.read() as connection, or_404():
        rows = reading.revisions_of(connection, number, order, run, after=after, limit=limit)
    return {"revisions": rows, "next": after + limit if len(rows) == limit else None}

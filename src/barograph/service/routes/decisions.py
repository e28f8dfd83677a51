"""One decision in detail: its reasons, and every value that was sent for its point."""

from typing import Any

import sqlalchemy as sa
from pydantic import Field

from barograph.service.context import Context, guarded_router
from barograph.service.responses import ApiError, ErrorResponse, Schema, field, nested, or_404
from barograph.service.routes.series import After, Limit, Order, Run, SeriesNumber
from barograph.store import reading
from barograph.store.reasons import OtherModelError, explained
from barograph.store.tokens import Scope

POINT = "/api/v1/series/{number}/points/{order}"
CONFLICT = {"model": ErrorResponse, "description": "The model that decided is no longer in use."}


class ReasonResponse(Schema):
    """A feature of the point, and what it added to the probability."""

    name: str = field("edge")
    value: float = field(6.2)
    contribution: float | None = nested("part", 0.41, "Null if the model cannot be explained.")


class ReasonsResponse(Schema):
    """Why a point was decided as it was, the most important feature first."""

    reasons: list[ReasonResponse] = Field(
        description="Empty for points with too few points before them."
    )


class RevisionResponse(Schema):
    """One value that was sent for a point."""

    value: float = field(18234.5)
    time: int | None = field(1706220908000)
    received: int = field(1706220999000)
    is_current: bool = nested("holds", True)


class RevisionsPage(Schema):
    """All values of a point, the current one first; request the next page with `after` = `next`."""

    revisions: list[RevisionResponse]
    next: int | None = field(1)


routes = guarded_router(Scope.READ, "series")


@routes.get(
    f"{POINT}/reasons",
    response_model=ReasonsResponse,
    responses={409: CONFLICT},
    summary="Reasons of a decision",
)
def get_reasons(context: Context, number: SeriesNumber, order: Order) -> dict[str, Any]:
    """Explain the decision on a commit; reasons are computed on first request and then kept.

    They explain the probability that the commit had when it was the newest.
    """
    loaded = context.model

    def work(connection: sa.Connection) -> dict[str, Any]:
        version = loaded.judge.version
        with or_404():
            try:
                reasons = explained(connection, loaded.model, version, number, order)
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

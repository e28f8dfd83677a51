"""What every page of the board shows, and the processed change points."""

from typing import Annotated, Any, Literal

from fastapi import Query

from barograph.results.series import Verdict
from barograph.server.store.tokens import Scope
from barograph.server.triage.overview import overview
from barograph.server.triage.processed import PAGE, processed
from barograph.server.triage.traces import levels
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field
from barograph.server.web.routes.queue import FilterQuery, Offset, QueueMember, member_fields

Kind = Annotated[
    Literal["", "true_positive", "false_positive", "under_investigation", "unsure"],
    Query(description="Only this verdict.", examples=["true_positive"]),
]
Who = Annotated[str, Query(max_length=200, description="Only of this person.", examples=["ada"])]
Length = Annotated[int, Query(ge=1, le=1000, description="Length of the page.", examples=[100])]


class BoardResponse(Schema):
    """The state of the board."""

    groups: int = field(34, "Groups in the queue.")
    change_points: int = field(212, "Change points in them.")
    silent: int = field(2, "Series that fell silent.")
    suspects: int = field(1, "Series that wait for a rerun.")
    last_result: int | None = field(1706220999000)
    seconds_left: float | None = field(
        540.0, "At the pace of the caller's latest verdicts; null if that is unknown."
    )


class ProcessedChangePoint(QueueMember):
    """A change point with its verdict."""

    who: str = field("ada", "Empty if unknown.")
    time: int | None = field(1706307399000, "When it was given.")
    reason: str = field("known host problem")
    note: str = field("fixed by SERVER-12345")
    scored: float | None = field(0.93, "The probability then.")


class ProcessedResponse(Schema):
    """Change points with a verdict, the latest first; for more, send `next` as `offset`."""

    change_points: list[ProcessedChangePoint]
    counts: dict[Verdict, int] = field({"true_positive": 31}, "Of all change points.")
    next: int | None = field(100)


routes = guarded_router(Scope.READ, "queue")


@routes.get("/api/v1/board", response_model=BoardResponse, summary="State of the board")
def get_board(context: Context, caller: CallerName) -> Any:
    """Return what waits, what is silent, and how old the newest result is."""
    with context.store.read() as connection:
        return overview(connection, caller)


@routes.get(
    "/api/v1/processed", response_model=ProcessedResponse, summary="Processed change points"
)
def get_processed(
    context: Context,
    queue_filter: FilterQuery,
    verdict: Kind = "",
    who: Who = "",
    offset: Offset = 0,
    limit: Length = PAGE,
) -> dict[str, Any]:
    """Return the change points that have a verdict, each with the latest one.

    The filters are those of the queue; `state`, `effect`, `show`, `ids`, `since`, `until` and
    `sort` have no effect.
    """
    kind = Verdict(verdict) if verdict else None
    with context.store.read() as connection:
        page = processed(connection, queue_filter, kind, who=who, offset=offset, limit=limit)
        known = levels(connection, [verdict.entry.id for verdict in page.entries])
    rows = [
        member_fields(verdict.entry, known.get(verdict.entry.id))
        | {name: getattr(verdict, name) for name in ("who", "time", "reason", "note", "scored")}
        for verdict in page.entries
    ]
    return {
        "change_points": rows,
        "counts": page.counts,
        "next": offset + limit if page.more else None,
    }

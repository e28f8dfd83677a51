"""Verdicts on many change points at once, their history, and tickets about change points."""

from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Body, Header, Path, Query
from pydantic import Field

from barograph.results.series import Verdict
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import tickets
from barograph.server.triage import verdicts as judgements
from barograph.server.triage.verdicts import (
    ITEMS,
    NOTE,
    REASON,
    REQUEST,
    BatchResult,
    VerdictEntry,
)
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import After, Limit
from barograph.server.web.schemas import Schema, page_of, schema_of

Before = Annotated[int | None, Query(ge=1, le=INTEGER, description="From `next`.")]
Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the batch.")]
NumberFilter = Annotated[int | None, Query(ge=1, le=INTEGER, description="Only those of this id.")]
RequestKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=REQUEST,
        description="Made up by the sender. A request that is sent again with the same key is "
        "answered as the first time, and nothing is written.",
    ),
]
BATCH = schema_of(BatchResult)
ENTRY = schema_of(VerdictEntry, without=("candidate",), change_point="candidate")


class SeenChangePoint(Schema):
    """A change point, and the version that the person saw."""

    id: int = Field(ge=1, le=INTEGER)
    version: int | None = Field(
        None,
        description="Refused if there was a verdict since; null replaces any verdict.",
        ge=0,
        le=INTEGER,
    )


TicketNumber = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the ticket.")]
TicketStatus = Literal["open", "closed"]
TICKET = schema_of(
    tickets.Ticket, without=("candidates",), change_points="candidates", status=TicketStatus
)

routes = guarded_router(Scope.READ, "verdicts")
giving = guarded_router(Scope.TRIAGE, "verdicts")
ticket_routes = guarded_router(Scope.READ, "tickets")
filing = guarded_router(Scope.TRIAGE, "tickets")


@routes.get(
    "/api/v1/verdicts", response_model=page_of("verdicts", ENTRY), summary="History of verdicts"
)
def get_verdicts(
    context: Context,
    change_point: NumberFilter = None,
    batch: NumberFilter = None,
    who: Annotated[str | None, Query(max_length=200, description="Only by this token.")] = None,
    verdict: Annotated[Verdict | None, Query(description="Only this verdict.")] = None,
    before: Before = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return who gave which verdict, when and why, the newest first."""
    with context.store.read() as connection:
        entries = judgements.history(
            connection,
            candidate=change_point,
            batch=batch,
            who=who,
            verdict=verdict,
            before=before,
            limit=limit,
        )
    return {"verdicts": entries, "next": next_cursor(entries, limit)}


@giving.post("/api/v1/verdicts", response_model=BATCH, summary="Give a verdict on many")
def post_verdicts(
    context: Context,
    caller: CallerName,
    change_points: Annotated[list[SeenChangePoint], Body(min_length=1, max_length=ITEMS)],
    verdict: Annotated[
        Verdict,
        Body(
            description="`unsure` and `under_investigation` never train a model; `not_triaged` "
            "reopens."
        ),
    ],
    note: Annotated[str, Body(max_length=NOTE)] = "",
    reason: Annotated[
        str,
        Body(max_length=REASON, description="In a word or two, such as `known host problem`."),
    ] = "",
    key: RequestKey = None,
) -> Any:
    """Record one verdict on some change points, except those that were decided meanwhile."""
    items = [(seen.id, seen.version) for seen in change_points]
    return context.store.write(
        lambda connection: judgements.record_batch(
            connection, items, verdict, caller, note, reason, request=key
        )
    )


@giving.post("/api/v1/verdicts/{batch}/undo", response_model=BATCH, summary="Undo verdicts")
def post_undo(context: Context, batch: Number, caller: CallerName, key: RequestKey = None) -> Any:
    """Restore the verdicts before a batch, except where somebody decided meanwhile."""
    return context.store.write(
        lambda connection: judgements.undo(connection, batch, caller, request=key)
    )


@ticket_routes.get(
    "/api/v1/tickets", response_model=page_of("tickets", TICKET), summary="Find tickets"
)
def get_tickets(
    context: Context,
    change_point: NumberFilter = None,
    status: Annotated[TicketStatus | None, Query()] = None,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return all tickets, or those about a change point."""
    with context.store.read() as connection:
        rows = tickets.find(
            connection, candidate=change_point, status=status, after=after, limit=limit
        )
    return {"tickets": rows, "next": next_cursor(rows, limit)}


@ticket_routes.get("/api/v1/tickets/{number}", response_model=TICKET, summary="Get a ticket")
def get_ticket(context: Context, number: TicketNumber) -> Any:
    """Return one ticket."""
    with context.store.read() as connection:
        return tickets.get(connection, number)


@filing.post(
    "/api/v1/tickets",
    response_model=TICKET,
    summary="Record a ticket, or link it to more change points",
)
def post_ticket(
    context: Context,
    caller: CallerName,
    key: Annotated[str, Body(min_length=1, max_length=2000, description="In the ticket system.")],
    url: Annotated[str, Body(max_length=2000)] = "",
    title: Annotated[str, Body(max_length=2000)] = "",
    change_points: Annotated[
        list[Annotated[int, Field(ge=1, le=INTEGER)]],
        Body(max_length=10_000, description="Ids of change points."),
    ] = [],  # noqa: B006 - FastAPI copies it
) -> Any:
    """Record a ticket about change points; a known key gets the change points added."""

    def work(connection: sa.Connection) -> tickets.Ticket:
        number = tickets.file(connection, key, url, title, change_points, caller)
        return tickets.get(connection, number)

    return context.store.write(work)


@filing.post("/api/v1/tickets/{number}/close", response_model=TICKET, summary="Close a ticket")
def post_close(context: Context, number: TicketNumber, caller: CallerName) -> Any:
    """Mark a ticket as closed."""

    def work(connection: sa.Connection) -> tickets.Ticket:
        ticket = tickets.get(connection, number)
        tickets.close(connection, ticket.key, caller)
        return tickets.get(connection, number)

    return context.store.write(work)

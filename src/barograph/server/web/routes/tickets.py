"""Tickets, and the change points that they are about."""

from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Body, Path, Query
from pydantic import Field

from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import tickets
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import After, Limit
from barograph.server.web.routes.verdicts import NumberFilter
from barograph.server.web.schemas import page_of, schema_of

Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the ticket.")]
TicketStatus = Literal["open", "closed"]
TICKET = schema_of(
    tickets.Ticket, without=("candidates",), change_points="candidates", status=TicketStatus
)

routes = guarded_router(Scope.READ, "tickets")
filing = guarded_router(Scope.TRIAGE, "tickets")


@routes.get("/api/v1/tickets", response_model=page_of("tickets", TICKET), summary="Find tickets")
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


@routes.get("/api/v1/tickets/{number}", response_model=TICKET, summary="Get a ticket")
def get_ticket(context: Context, number: Number) -> Any:
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
def post_close(context: Context, number: Number, caller: CallerName) -> Any:
    """Mark a ticket as closed."""

    def work(connection: sa.Connection) -> tickets.Ticket:
        ticket = tickets.get(connection, number)
        tickets.close(connection, ticket.key, caller)
        return tickets.get(connection, number)

    return context.store.write(work)

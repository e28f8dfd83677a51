"""Tickets, and the change points that they are about."""

from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Path, Query
from pydantic import Field

from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import tickets
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field, nested, next_cursor
from barograph.server.web.routes.series import After, Limit

Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the ticket.", examples=[2])]
ChangePointNumber = Annotated[
    int | None, Query(ge=1, le=INTEGER, description="Id of a change point.", examples=[3])
]
TicketStatus = Literal["open", "closed"]


class TicketRequest(Schema):
    """A new ticket, or a known one that is linked to more change points."""

    key: str = field("SERVER-12345", "Key in the ticket system.", min_length=1, max_length=2000)
    url: str = field("https://tickets.example/SERVER-12345", default="", max_length=2000)
    title: str = field("Inserts are slower since 3f9a1c7", default="", max_length=2000)
    change_points: list[Annotated[int, Field(ge=1, le=INTEGER)]] = field(
        [3], "Ids of change points.", default=[], max_length=10_000
    )


class TicketResponse(TicketRequest):
    """A ticket in an issue tracker."""

    change_points: list[int] = nested("candidates", [3], "Ids of change points.")
    id: int = field(2)
    status: TicketStatus = field("open")
    opened: int = field(1706220999000)


class TicketsPage(Schema):
    """A page of tickets; request the next page with `after` set to `next`."""

    tickets: list[TicketResponse]
    next: int | None = field(2)


routes = guarded_router(Scope.READ, "tickets")
filing = guarded_router(Scope.TRIAGE, "tickets")


@routes.get("/api/v1/tickets", response_model=TicketsPage, summary="Find tickets")
def get_tickets(
    context: Context,
    change_point: ChangePointNumber = None,
    status: Annotated[TicketStatus | None, Query(examples=["open"])] = None,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return all tickets, or those about a change point."""
    with context.store.read() as connection:
        rows = tickets.find(
            connection, candidate=change_point, status=status, after=after, limit=limit
        )
    return {"tickets": rows, "next": next_cursor(rows, limit)}


@routes.get("/api/v1/tickets/{number}", response_model=TicketResponse, summary="Get a ticket")
def get_ticket(context: Context, number: Number) -> Any:
    """Return one ticket."""
    with context.store.read() as connection:
        return tickets.get(connection, number)


@filing.post(
    "/api/v1/tickets",
    response_model=TicketResponse,
    summary="Record a ticket, or link it to more change points",
)
def post_ticket(context: Context, caller: CallerName, ticket: TicketRequest) -> Any:
    """Record a ticket about change points; a known key gets the change points added."""

    def work(connection: sa.Connection) -> tickets.Ticket:
        about = ticket.change_points
        number = tickets.file(connection, ticket.key, ticket.url, ticket.title, about, caller)
        return tickets.get(connection, number)

    return context.store.write(work)


@filing.post(
    "/api/v1/tickets/{number}/close", response_model=TicketResponse, summary="Close a ticket"
)
def post_close(context: Context, number: Number, caller: CallerName) -> Any:
    """Mark a ticket as closed."""

    def work(connection: sa.Connection) -> tickets.Ticket:
        ticket = tickets.get(connection, number)
        tickets.close(connection, ticket.key, caller)
        return tickets.get(connection, number)

    return context.store.write(work)

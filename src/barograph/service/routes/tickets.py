"""Tickets, and the change points that they are about."""

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query, Request

from barograph.service.access import Reading, Triaging, caller_of, router
from barograph.service.answers import Json
from barograph.service.asking import asked, following, known, written
from barograph.service.forms import form, form_body
from barograph.service.routes.series import LARGEST, After, Limit
from barograph.service.schemas.shared import ERRORS
from barograph.service.schemas.tickets import STATUS, TicketsPage, TicketWanted
from barograph.service.schemas.tickets import Ticket as TicketAnswer
from barograph.triage import tickets
from barograph.triage.tickets import Ticket

Number = Annotated[
    int, Path(ge=1, le=LARGEST, description="The number of the ticket here.", examples=[2])
]
About = Annotated[int | None, Query(ge=1, le=LARGEST, description="A change point.", examples=[3])]
State = Annotated[STATUS | None, Query(examples=["open"])]
routes = router(Reading, "tickets")
filing = router(Triaging, "tickets")


@routes.get("/api/v1/tickets", response_model=TicketsPage, responses=ERRORS, summary="Tickets")
async def get_tickets(
    request: Request,
    change_point: About = None,
    status: State = None,
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Return all tickets, or those about a change point."""
    found = await asked(
        request,
        lambda c: tickets.find(c, candidate=change_point, status=status, after=after, limit=limit),
    )
    rows = [_told(one) for one in found]
    return Json({"tickets": rows, "next": following(found, limit)})


@routes.get(
    "/api/v1/tickets/{number}", response_model=TicketAnswer, responses=ERRORS, summary="One ticket"
)
async def get_ticket(request: Request, number: Number) -> Json:
    """Return one ticket."""
    return Json(_told(await asked(request, lambda c: _existing(c, number))))


@filing.post(
    "/api/v1/tickets",
    response_model=TicketAnswer,
    responses=ERRORS,
    openapi_extra=form_body(TicketWanted),
    summary="Note a ticket, or link it to more change points",
)
async def post_ticket(request: Request) -> Json:
    """Note a ticket about some change points; one whose key is known gets them added."""
    wanted = await form(request, TicketWanted)
    who = caller_of(request).name

    def work(connection: sa.Connection) -> Ticket:
        about = wanted.change_points
        number = tickets.file(connection, wanted.key, wanted.url, wanted.title, about, who)
        return tickets.one(connection, number)

    return Json(_told(await written(request, work)))


@filing.post(
    "/api/v1/tickets/{number}/close",
    response_model=TicketAnswer,
    responses=ERRORS,
    summary="Close a ticket",
)
async def post_close(request: Request, number: Number) -> Json:
    """Note that a ticket is closed."""
    who = caller_of(request).name

    def work(connection: sa.Connection) -> Ticket:
        _existing(connection, number)
        tickets.close_number(connection, number, who)
        return _existing(connection, number)

    return Json(_told(await written(request, work)))


def _existing(connection: sa.Connection, number: int) -> Ticket:
    with known():
        return tickets.one(connection, number)


def _told(one: Ticket) -> dict[str, Any]:
    fields = one._asdict()
    fields["change_points"] = fields.pop("candidates")
    return fields

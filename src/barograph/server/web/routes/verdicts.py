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
from barograph.server.web.context import CallerName, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import After, Limit
from barograph.server.web.schemas import Schema, page_of, schema_of

Id = Annotated[int, Field(ge=1, le=INTEGER)]
Before = Annotated[int | None, Query(ge=1, le=INTEGER, description="From `next`.")]
Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the batch.")]
NumberFilter = Annotated[int | None, Query(ge=1, le=INTEGER, description="Only those of this id.")]
KEY = (
    "Made up by the sender. A request that is sent again with the same key is answered as the "
    "first time, and nothing is written."
)
RequestKey = Annotated[
    str | None, Header(alias="Idempotency-Key", max_length=REQUEST, description=KEY)
]
KIND = "`unsure` and `under_investigation` never train a model; `not_triaged` reopens."
WHY = "In a word or two, such as `known host problem`."
BATCH = schema_of(BatchResult)
ENTRY = schema_of(VerdictEntry, without=("candidate",), change_point="candidate")


class SeenChangePoint(Schema):
    """A change point, and the version that the person saw."""

    id: Id
    version: int | None = Field(
        None,
        description="Refused if there was a verdict since; null replaces any verdict.",
        ge=0,
        le=INTEGER,
    )


TicketNumber = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the ticket.")]
TicketChangePoints = Annotated[
    list[Id], Body(max_length=10_000, description="Ids of change points.")
]
TicketStatus = Literal["open", "closed"]
TICKET = schema_of(
    tickets.Ticket, without=("candidates",), change_points="candidates", status=TicketStatus
)

routes = guarded_router(Scope.READ, "verdicts")
giving = guarded_router(Scope.TRIAGE, "verdicts")
ticket_routes = guarded_router(Scope.READ, "tickets")
filing = guarded_router(Scope.TRIAGE, "tickets")


@routes.get("/api/v1/verdicts", response_model=page_of("verdicts", ENTRY))
def get_verdicts(
    connection: sa.Connection,
    change_point: NumberFilter = None,
    batch: NumberFilter = None,
    who: Annotated[str | None, Query(max_length=200, description="Only by this token.")] = None,
    verdict: Annotated[Verdict | None, Query(description="Only this verdict.")] = None,
    before: Before = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return who gave which verdict, when and why, the newest first."""
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


@giving.post("/api/v1/verdicts", response_model=BATCH)
def post_verdicts(
    connection: sa.Connection,
    caller: CallerName,
    change_points: Annotated[list[SeenChangePoint], Body(min_length=1, max_length=ITEMS)],
    verdict: Annotated[Verdict, Body(description=KIND)],
    note: Annotated[str, Body(max_length=NOTE)] = "",
    reason: Annotated[str, Body(max_length=REASON, description=WHY)] = "",
    key: RequestKey = None,
) -> Any:
    """Record one verdict on some change points, except those that were decided meanwhile."""
    items = [(seen.id, seen.version) for seen in change_points]
    return judgements.record_batch(connection, items, verdict, caller, note, reason, request=key)


@giving.post("/api/v1/verdicts/{batch}/undo", response_model=BATCH)
def post_undo(
    connection: sa.Connection, batch: Number, caller: CallerName, key: RequestKey = None
) -> Any:
    """Restore the verdicts before a batch, except where somebody decided meanwhile."""
    return judgements.undo(connection, batch, caller, request=key)


@ticket_routes.get("/api/v1/tickets", response_model=page_of("tickets", TICKET))
def get_tickets(
    connection: sa.Connection,
    change_point: NumberFilter = None,
    status: Annotated[TicketStatus | None, Query()] = None,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return all tickets, or those about a change point."""
    about = None if change_point is None else [change_point]
    rows = tickets.find(connection, about=about, status=status, after=after, limit=limit)
    return {"tickets": rows, "next": next_cursor(rows, limit)}


@ticket_routes.get("/api/v1/tickets/{number}", response_model=TICKET)
def get_ticket(connection: sa.Connection, number: TicketNumber) -> Any:
    """Return one ticket."""
    return tickets.get(connection, number)


@filing.post("/api/v1/tickets", response_model=TICKET)
def post_ticket(
    connection: sa.Connection,
    caller: CallerName,
    key: Annotated[str, Body(min_length=1, max_length=2000, description="In the ticket system.")],
    url: Annotated[str, Body(max_length=2000)] = "",
    title: Annotated[str, Body(max_length=2000)] = "",
    change_points: TicketChangePoints = [],  # noqa: B006 - FastAPI copies it
) -> Any:
    """Record a ticket about change points; a known key gets the change points added."""
    number = tickets.file(connection, key, url, title, change_points, caller)
    return tickets.get(connection, number)


@filing.post("/api/v1/tickets/{number}/close", response_model=TICKET)
def post_close(connection: sa.Connection, number: TicketNumber, caller: CallerName) -> Any:
    """Mark a ticket as closed."""
    tickets.close(connection, tickets.get(connection, number).key, caller)
    return tickets.get(connection, number)

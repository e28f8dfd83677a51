"""Verdicts on many change points at once, their history, and tickets about change points."""

from typing import Annotated, Any, Literal

from fastapi import Body, Header, Query
from pydantic import Field

from barograph.results.series import Verdict
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import tickets
from barograph.server.triage import verdicts as judgements
from barograph.server.triage.verdicts import BatchResult, VerdictEntry
from barograph.server.web.context import CallerName, Connection, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import After, Before, Limit, Number
from barograph.server.web.schemas import Schema, page_of, schema_of

KEY = (
    "Made up by the sender. A request sent again with it is answered as before; nothing is written."
)
RequestKey = Annotated[str | None, Header(alias="Idempotency-Key", description=KEY)]
SEEN = "Refused if there was a verdict since; null replaces any verdict."
KIND = "`unsure` and `under_investigation` never train a model; `not_triaged` reopens."
WHY = "In a word or two, such as `known host problem`."
BATCH = schema_of(BatchResult)
ENTRY = schema_of(VerdictEntry, without=("candidate",), change_point="candidate")


class SeenChangePoint(Schema):
    """A change point, and the version that the person saw."""

    id: Number
    version: int | None = Field(None, ge=0, le=INTEGER, description=SEEN)


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
    connection: Connection,
    change_point: Number | None = None,
    batch: Number | None = None,
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
    connection: Connection,
    caller: CallerName,
    change_points: Annotated[list[SeenChangePoint], Body()],
    verdict: Annotated[Verdict, Body(description=KIND)],
    note: Annotated[str, Body()] = "",
    reason: Annotated[str, Body(description=WHY)] = "",
    key: RequestKey = None,
) -> Any:
    """Record one verdict on some change points, except those that were decided meanwhile."""
    items = [(seen.id, seen.version) for seen in change_points]
    return judgements.record_batch(connection, items, verdict, caller, note, reason, request=key)


@giving.post("/api/v1/verdicts/{batch}/undo", response_model=BATCH)
def post_undo(
    connection: Connection, batch: Number, caller: CallerName, key: RequestKey = None
) -> Any:
    """Restore the verdicts before a batch, except where somebody decided meanwhile."""
    return judgements.undo(connection, batch, caller, request=key)


@ticket_routes.get("/api/v1/tickets", response_model=page_of("tickets", TICKET))
def get_tickets(
    connection: Connection,
    change_point: Number | None = None,
    status: Annotated[TicketStatus | None, Query()] = None,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return all tickets, or those about a change point."""
    about = None if change_point is None else [change_point]
    rows = tickets.find(connection, about=about, status=status, after=after, limit=limit)
    return {"tickets": rows, "next": next_cursor(rows, limit)}


@ticket_routes.get("/api/v1/tickets/{number}", response_model=TICKET)
def get_ticket(connection: Connection, number: Number) -> Any:
    """Return one ticket."""
    return tickets.get(connection, number)


@filing.post("/api/v1/tickets", response_model=TICKET)
def post_ticket(
    connection: Connection,
    caller: CallerName,
    key: Annotated[str, Body(min_length=1, description="In the ticket system.")],
    url: Annotated[str, Body()] = "",
    title: Annotated[str, Body()] = "",
    change_points: Annotated[list[Number], Body(max_length=10_000)] = [],  # noqa: B006 - copied
) -> Any:
    """Record a ticket about change points; a known key gets the change points added."""
    number = tickets.file(connection, key, url, title, change_points, caller)
    return tickets.get(connection, number)


@filing.post("/api/v1/tickets/{number}/close", response_model=TICKET)
def post_close(connection: Connection, number: Number, caller: CallerName) -> Any:
    """Mark a ticket as closed."""
    tickets.close(connection, tickets.get(connection, number).key, caller)
    return tickets.get(connection, number)

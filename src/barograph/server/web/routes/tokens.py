"""Administration: tokens, and the audit trail."""

from typing import Annotated, Any

from fastapi import Path, Query, Request
from pydantic import BeforeValidator

from barograph.server.store import audit, tokens
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.web.auth import Caller
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field, next_cursor
from barograph.server.web.routes.series import Limit

Name = Annotated[str, Path(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", examples=["ci"])]
Before = Annotated[int | None, Query(ge=1, le=INTEGER, description="From `next`.", examples=[9])]


class TokenRequest(Schema):
    """A token to create."""

    name: str = field("ci", min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    scopes: list[Scope] = field(["ingest"], min_length=1, max_length=4)


class CreatedTokenResponse(Schema):
    """A new token; only this answer shows it."""

    name: str = field("ci")
    scopes: list[Scope] = field(["ingest"])
    token: str = field("baro_...")


class TokenResponse(Schema):
    """A token without its secret."""

    name: str = field("ci")
    scopes: Annotated[list[Scope], BeforeValidator(sorted)] = field(["ingest"])
    created: int = field(1706220999000)
    revoked: int | None = field(1706307399000)


class TokensResponse(Schema):
    """All tokens without their secrets."""

    tokens: list[TokenResponse]


class SessionResponse(Schema):
    """Who sends the request, and what they may do."""

    name: str = field("ada")
    scopes: list[Scope] = field(["read", "triage"])
    csrf: str = field(
        "9b1f",
        "What a page sends as `X-Barograph-CSRF` with each write; empty unless the "
        "request has a session cookie.",
    )


class AuditEntryResponse(Schema):
    """One entry of the audit trail."""

    id: int = field(9)
    time: int = field(1706220999000)
    who: str = field("ci")
    action: str = field("ingest")
    subject: str = field("points")
    detail: dict[str, Any] = field({"written": 1})


class AuditPage(Schema):
    """The audit trail, newest first; request the next page with `before` set to `next`."""

    entries: list[AuditEntryResponse]
    next: int | None = field(9)


routes = guarded_router(Scope.ADMIN, "administration")
session = guarded_router(Scope.READ, "administration")


@session.get("/api/v1/session", response_model=SessionResponse, summary="Who sends the request")
def get_session(request: Request) -> dict[str, Any]:
    """Return the name and the scopes of the token that the request or its session has."""
    caller: Caller = request.state.caller
    return {"name": caller.name, "scopes": sorted(caller.scopes), "csrf": caller.csrf}


@routes.get("/api/v1/tokens", response_model=TokensResponse, summary="List all tokens")
def get_tokens(context: Context) -> dict[str, Any]:
    """Return the name and scopes of every token, never the secret."""
    with context.store.read() as connection:
        rows = tokens.every(connection)
    return {"tokens": rows}


@routes.post(
    "/api/v1/tokens",
    response_model=CreatedTokenResponse,
    status_code=201,
    summary="Create a token",
)
def post_token(context: Context, caller: CallerName, body: TokenRequest) -> dict[str, Any]:
    """Create a token; only this answer ever shows it."""
    scopes = sorted(set(body.scopes))
    secret = context.store.write(lambda c: tokens.create(c, body.name, scopes, caller))
    context.auth.forget()
    return {"name": body.name, "scopes": scopes, "token": secret}


@routes.delete("/api/v1/tokens/{name}", response_model=TokensResponse, summary="Revoke a token")
def delete_token(context: Context, name: Name, caller: CallerName) -> dict[str, Any]:
    """Revoke a token."""
    context.store.write(lambda c: tokens.revoke(c, name, caller))
    context.auth.forget()
    return get_tokens(context)


@routes.get("/api/v1/audit", response_model=AuditPage, summary="Audit trail")
def get_audit(context: Context, before: Before = None, limit: Limit = 100) -> dict[str, Any]:
    """Return who did what, newest first."""
    with context.store.read() as connection:
        entries = audit.trail(connection, limit, before)
    return {"entries": entries, "next": next_cursor(entries, limit)}

"""Administration: tokens, the session of the caller, and the audit trail."""

from typing import Annotated, Any

from fastapi import Body, Path, Request
from pydantic import BeforeValidator

from barograph.server.store import audit, tokens
from barograph.server.store.tokens import Scope, Token
from barograph.server.web.auth import Caller
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import Limit
from barograph.server.web.routes.verdicts import Before
from barograph.server.web.schemas import answer, many, page_of, schema_of

Name = Annotated[str, Path(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
NewName = Annotated[
    str, Body(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
]
Scopes = Annotated[list[Scope], BeforeValidator(sorted)]
TOKENS = answer("Tokens", tokens=many(schema_of(Token, without=("id",), scopes=Scopes)))
NEW_TOKEN = answer(
    "NewToken", "Only this answer shows the token.", name=str, scopes=Scopes, token=str
)
AUDIT = page_of("entries", schema_of(audit.AuditEntry))

routes = guarded_router(Scope.ADMIN, "administration")
session = guarded_router(Scope.READ, "administration")


@session.get(
    "/api/v1/session",
    response_model=schema_of(Caller, scopes=Scopes),
    summary="Who sends the request",
)
def get_session(request: Request) -> Any:
    """Return the name and the scopes of the token that the request or its session has."""
    return request.state.caller


@routes.get("/api/v1/tokens", response_model=TOKENS, summary="List all tokens")
def get_tokens(context: Context) -> dict[str, Any]:
    """Return the name and scopes of every token, never the secret."""
    with context.store.read() as connection:
        return {"tokens": tokens.every(connection)}


@routes.post("/api/v1/tokens", response_model=NEW_TOKEN, status_code=201, summary="Create a token")
def post_token(
    context: Context,
    caller: CallerName,
    name: NewName,
    scopes: Annotated[list[Scope], Body(min_length=1, max_length=4)],
) -> dict[str, Any]:
    """Create a token; only this answer ever shows it."""
    granted = sorted(set(scopes))
    secret = context.store.write(lambda c: tokens.create(c, name, granted, caller))
    context.auth.forget()
    return {"name": name, "scopes": granted, "token": secret}


@routes.delete("/api/v1/tokens/{name}", response_model=TOKENS, summary="Revoke a token")
def delete_token(context: Context, name: Name, caller: CallerName) -> dict[str, Any]:
    """Revoke a token."""
    context.store.write(lambda c: tokens.revoke(c, name, caller))
    context.auth.forget()
    return get_tokens(context)


@routes.get("/api/v1/audit", response_model=AUDIT, summary="Audit trail")
def get_audit(context: Context, before: Before = None, limit: Limit = 100) -> dict[str, Any]:
    """Return who did what, newest first."""
    with context.store.read() as connection:
        entries = audit.trail(connection, limit, before)
    return {"entries": entries, "next": next_cursor(entries, limit)}

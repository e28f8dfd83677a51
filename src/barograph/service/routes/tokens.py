"""Administration: tokens, and the audit trail."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from barograph.service.context import CallerName, Context, guarded_router
from barograph.service.responses import example, next_cursor
from barograph.service.routes.series import Limit
from barograph.store import audit, tokens
from barograph.store.measurement import INTEGER
from barograph.store.tokens import Scope

Name = Annotated[str, Path(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", examples=["ci"])]
Before = Annotated[int | None, Query(ge=1, le=INTEGER, description="From `next`.", examples=[9])]
AUDIT_EXAMPLE = {
    "id": 9,
    "at": 1706220999000,
    "who": "ci",
    "action": "ingest",
    "subject": "points",
    "detail": {"written": 1},
}


class TokenRequest(BaseModel):
    """A token to create."""

    model_config = example({"name": "ci", "scopes": ["ingest"]})
    name: str = Field(min_length=1, max_length=200)
    scopes: list[Literal["ingest", "read", "triage", "admin"]] = Field(min_length=1, max_length=4)


class CreatedTokenResponse(BaseModel):
    """A new token; only this answer shows it."""

    model_config = example({"name": "ci", "scopes": ["ingest"], "token": "baro_..."})
    name: str
    scopes: list[str]
    token: str


class TokenResponse(BaseModel):
    """A token without its secret."""

    name: str
    scopes: list[str]
    created: int
    revoked: int | None


class TokensResponse(BaseModel):
    """All tokens without their secrets."""

    model_config = example(
        {
            "tokens": [
                {
                    "name": "ci",
                    "scopes": ["ingest"],
                    "created": 1706220999000,
                    "revoked": 1706307399000,
                }
            ]
        }
    )
    tokens: list[TokenResponse]


class AuditEntry(BaseModel):
    """One entry of the audit trail."""

    id: int
    at: int
    who: str
    action: str
    subject: str
    detail: dict[str, Any]


class AuditPage(BaseModel):
    """The audit trail, newest first; request the next page with `before` set to `next`."""

    model_config = example({"acts": [AUDIT_EXAMPLE], "next": 9})
    acts: list[AuditEntry]
    next: int | None


routes = guarded_router(Scope.ADMIN, "administration")


@routes.get("/api/v1/tokens", response_model=TokensResponse, summary="List all tokens")
def get_tokens(context: Context) -> dict[str, Any]:
    """Return the name and scopes of every token, never the secret."""
    with context.store.read() as connection:
        rows = tokens.every(connection)
    listed = [
        {
            "name": row.name,
            "scopes": sorted(row.scopes),
            "created": row.created,
            "revoked": row.revoked,
        }
        for row in rows
    ]
    return {"tokens": listed}


@routes.post(
    "/api/v1/tokens",
    response_model=CreatedTokenResponse,
    status_code=201,
    summary="Create a token",
)
def post_token(context: Context, caller: CallerName, wanted: TokenRequest) -> dict[str, Any]:
    """Create a token; only this answer ever shows it."""
    scopes = sorted({Scope(name) for name in wanted.scopes})
    secret = context.store.write(lambda c: tokens.create(c, wanted.name, scopes, caller))
    context.auth.tokens.clear()
    return {"name": wanted.name, "scopes": scopes, "token": secret}


@routes.delete("/api/v1/tokens/{name}", response_model=TokensResponse, summary="Revoke a token")
def delete_token(context: Context, name: Name, caller: CallerName) -> dict[str, Any]:
    """Revoke a token."""
    context.store.write(lambda c: tokens.revoke(c, name, caller))
    context.auth.tokens.clear()
    return get_tokens(context)


@routes.get("/api/v1/audit", response_model=AuditPage, summary="Audit trail")
def get_audit(context: Context, before: Before = None, limit: Limit = 100) -> dict[str, Any]:
    """Return who did what, newest first."""
    with context.store.read() as connection:
        acts = audit.trail(connection, limit, before)
    return {"acts": acts, "next": next_cursor(acts, limit)}

"""For those who run the service: tokens, and the trail of who did what."""

from typing import Annotated

from fastapi import Path, Query, Request

from barograph.service.access import Administering, caller_of, router
from barograph.service.answers import Json
from barograph.service.asking import asked, following, written
from barograph.service.forms import form, form_body
from barograph.service.routes.series import LARGEST, Limit
from barograph.service.schemas.shared import ERRORS
from barograph.service.schemas.tokens import TokenList, TokenMade, TokenWanted, Trail
from barograph.store import audit, tokens
from barograph.store.tokens import Scope

NAME = r"^[^\x00-\x1f\x7f]+$"
Before = Annotated[int | None, Query(ge=1, le=LARGEST, description="From `next`.", examples=[9])]
routes = router(Administering, "administration")


@routes.get("/api/v1/tokens", response_model=TokenList, responses=ERRORS, summary="All tokens")
async def get_tokens(request: Request) -> Json:
    """Return every token's name and scopes, never the token."""
    rows = await asked(request, tokens.every)
    told = [
        {
            "name": one.name,
            "scopes": sorted(one.scopes),
            "created": one.created,
            "revoked": one.revoked,
        }
        for one in rows
    ]
    return Json({"tokens": told})


@routes.post(
    "/api/v1/tokens",
    response_model=TokenMade,
    status_code=201,
    responses=ERRORS,
    openapi_extra=form_body(TokenWanted),
    summary="Make a token",
)
async def post_token(request: Request) -> Json:
    """Make a token; the answer is the only place where it is ever seen."""
    wanted = await form(request, TokenWanted)
    who = caller_of(request).name
    scopes = [Scope(name) for name in wanted.scopes]
    secret = await written(request, lambda c: tokens.create(c, wanted.name, scopes, who))
    request.app.state.access.forget()
    return Json({"name": wanted.name, "scopes": sorted(set(scopes)), "token": secret}, 201)


@routes.delete(
    "/api/v1/tokens/{name}", response_model=TokenList, responses=ERRORS, summary="Revoke a token"
)
async def delete_token(
    request: Request, name: Annotated[str, Path(max_length=200, pattern=NAME, examples=["ci"])]
) -> Json:
    """Let a token be good for nothing from now on."""
    who = caller_of(request).name
    await written(request, lambda c: tokens.revoke(c, name, who))
    request.app.state.access.forget()
    return await get_tokens(request)


@routes.get("/api/v1/audit", response_model=Trail, responses=ERRORS, summary="Who did what")
async def get_audit(
    request: Request,
    before: Before = None,
    limit: Limit = 100,
) -> Json:
    """Return the trail, the newest entry first."""
    acts = await asked(request, lambda c: audit.trail(c, limit, before))
    rows = [one._asdict() for one in acts]
    return Json({"acts": rows, "next": following(acts, limit)})

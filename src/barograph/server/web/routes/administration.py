"""Administration: tokens, the audit trail, and the life of series."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Body, Query, Request
from pydantic import BeforeValidator

from barograph.results.series import LABELS, SeriesId, normalize_args
from barograph.server.store import audit, life, reading, retention, tokens
from barograph.server.store.tokens import Scope, Token
from barograph.server.web.auth import Caller
from barograph.server.web.context import CallerName, Connection, Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import SERIES, SERIES_PLACE, Before, Limit, Number, Text
from barograph.server.web.schemas import answer, many, page_of, schema_of

Scopes = Annotated[list[Scope], BeforeValidator(sorted)]
TOKENS = answer("Tokens", tokens=many(schema_of(Token, without=("id",), scopes=Scopes)))
NEW_TOKEN = answer(
    "NewToken", "Only this answer shows the token.", name=str, scopes=Scopes, token=str
)
MERGED = answer("MergedSeries", into=int, points=int)
PRUNED = schema_of(retention.PruneResult, dry_run=bool)
NewLabel = Annotated[Text | None, Body()]
Args = Annotated[dict[Text, Text | float] | None, Body()]
Into = Annotated[Number, Body(embed=True, description="Id of the series that stays.")]

routes = guarded_router(Scope.ADMIN, "administration")
session = guarded_router(Scope.READ, "administration")


@session.get("/api/v1/session", response_model=schema_of(Caller, scopes=Scopes))
def get_session(request: Request) -> Any:
    """Return the name and the scopes of the token that the request or its session has."""
    return request.state.caller


@routes.get("/api/v1/tokens", response_model=TOKENS)
def get_tokens(connection: Connection) -> dict[str, Any]:
    """Return the name and scopes of every token, never the secret."""
    return {"tokens": tokens.every(connection)}


@routes.post("/api/v1/tokens", response_model=NEW_TOKEN, status_code=201)
def post_token(
    context: Context,
    caller: CallerName,
    name: Annotated[str, Body()],
    scopes: Annotated[list[Scope], Body()],
) -> dict[str, Any]:
    """Create a token; only this answer ever shows it."""
    granted = sorted(set(scopes))
    secret = context.store.write(lambda c: tokens.create(c, name, granted, caller))
    context.auth.forget()
    return {"name": name, "scopes": granted, "token": secret}


@routes.delete("/api/v1/tokens/{name}", response_model=TOKENS)
def delete_token(context: Context, name: Text, caller: CallerName) -> dict[str, Any]:
    """Revoke a token."""

    def work(connection: Connection) -> list[Token]:
        tokens.revoke(connection, name, caller)
        return tokens.every(connection)

    left = context.store.write(work)
    context.auth.forget()
    return {"tokens": left}


@routes.get("/api/v1/audit", response_model=page_of("entries", schema_of(audit.AuditEntry)))
def get_audit(connection: Connection, before: Before = None, limit: Limit = 100) -> dict[str, Any]:
    """Return who did what, newest first."""
    entries = audit.trail(connection, limit, before)
    return {"entries": entries, "next": next_cursor(entries, limit)}


@routes.post(f"{SERIES_PLACE}/rename", response_model=SERIES)
def post_rename(
    connection: Connection,
    context: Context,
    number: Number,
    caller: CallerName,
    project: NewLabel = None,
    variant: NewLabel = None,
    task: NewLabel = None,
    test: NewLabel = None,
    measurement: NewLabel = None,
    args: Args = None,
) -> Any:
    """Give a series other labels; those that are left out stay.

    Results that arrive under its former name go to it, too.
    """
    texts = zip(LABELS, (project, variant, task, test, measurement), strict=True)
    labels = {name: text for name, text in texts if text is not None}
    new_args = None if args is None else normalize_args(args)
    old = reading.get_series(connection, number).name
    name = SeriesId(**old.labels | labels, args=old.args if new_args is None else new_args)
    return life.rename(connection, number, name, caller, context.store.limits)


@routes.post(f"{SERIES_PLACE}/merge", response_model=MERGED)
def post_merge(context: Context, number: Number, caller: CallerName, into: Into) -> dict[str, Any]:
    """Move the results, candidates and verdicts of a series to another one, and delete it."""
    return {"into": into, "points": context.store.merge(number, into, caller)}


@routes.post(f"{SERIES_PLACE}/retire", response_model=SERIES)
def post_retire(
    connection: Connection,
    number: Number,
    caller: CallerName,
    retired: Annotated[bool, Body(embed=True)] = True,
) -> Any:
    """Retire a series that is no longer measured, or bring it back; its results are kept."""
    return life.retire(connection, number, caller, retired=retired)


@routes.delete(SERIES_PLACE, response_model=schema_of(life.DeletedSeries))
def delete_series(
    connection: Connection,
    number: Number,
    caller: CallerName,
    with_verdicts: Annotated[bool, Query(description="Delete its verdicts, too.")] = False,
) -> Any:
    """Delete a series with its results and candidates; one with verdicts only on request."""
    return life.delete(connection, number, caller, with_verdicts=with_verdicts)


@routes.post("/api/v1/prune", response_model=PRUNED)
def post_prune(
    context: Context,
    caller: CallerName,
    older_than_days: Annotated[float, Body()],
    dry_run: Annotated[bool, Body(description="Only count.")] = True,
) -> dict[str, Any]:
    """Delete results by age; never verdicts, nor results of a series that has some."""
    result = retention.prune(context.store, older_than_days, caller, dry_run=dry_run)
    return {**asdict(result), "dry_run": dry_run}

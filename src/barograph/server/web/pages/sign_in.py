"""Sign in with a token, and out again."""

import hmac
import re
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from barograph.server.store import tokens
from barograph.server.store.tokens import Scope
from barograph.server.web.auth import COOKIE, check_host, csrf_of
from barograph.server.web.context import AppContext, Connection, Context, read_body
from barograph.server.web.pages.rendering import render
from barograph.server.web.responses import ApiError

FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 5
HOUR = 3_600_000
# A path of this service: browsers take "//host" and "/\host" for another one.
LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f-\x9f]*")
MAX_PATH = 2000

routes = APIRouter(include_in_schema=False)


@routes.get("/sign-in")
async def get_sign_in(request: Request, context: Context) -> Response:
    """Show the form, unless the caller needs none and does not ask for it by `another`."""
    target = safe_path(request.query_params.get("next", "/"))
    try:
        await context.auth.admit(request, Scope.READ)
    except ApiError as error:
        if error.status_code not in (401, 403):
            return _form(request, context, target, error)
    else:
        if "another" not in request.query_params:
            return RedirectResponse(target, 303)
    return _form(request, context, target, has_tokens=await context.auth.has_tokens())


@routes.post("/sign-in")
async def post_sign_in(request: Request, context: Context) -> Response:
    """Exchange a token for a session cookie."""
    target = "/"
    try:
        form = await _fields(request, context)
        target = safe_path(form.get("next", "/"))
        return await _begin(request, context, form.get("token", ""), target)
    except ApiError as error:
        return _form(request, context, target, error)


@routes.post("/sign-out")
async def post_sign_out(request: Request, context: Context) -> Response:
    """End the session."""
    cookie = request.cookies.get(COOKIE, "")
    sent = (await _fields(request, context)).get("csrf", "").encode()
    if cookie and not hmac.compare_digest(sent, csrf_of(cookie).encode()):
        raise ApiError(403, "this page is older than your session; reload it, then sign out")
    if cookie:
        await run_in_threadpool(context.store.write, lambda c: tokens.end_session(c, cookie))
        context.auth.forget()
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE, **_flags(request))
    return answer


def safe_path(path: str) -> str:
    """Return a path of this service, and the queue for anything else.

    Example:
        >>> [safe_path(path) for path in ("/series/7?from=3", "//evil.example", "https://x", "")]
        ['/series/7?from=3', '/', '/', '/']
    """
    return path if len(path) <= MAX_PATH and LOCAL_PATH.fullmatch(path) else "/"


async def _begin(request: Request, context: AppContext, secret: str, target: str) -> Response:
    token = await context.auth.sign_in(request, secret)
    if not token.allows(Scope.READ):
        scopes = ", ".join(sorted(token.scopes))
        raise ApiError(403, f"this token has the scope {scopes}; pages need the scope read")
    lifetime = round(context.settings.session_hours * HOUR)
    former = request.cookies.get(COOKIE, "")

    def replace(connection: Connection) -> str:
        tokens.end_session(connection, former)
        return tokens.begin_session(connection, token, lifetime)

    cookie = await run_in_threadpool(context.store.write, replace)
    context.auth.forget()
    answer = RedirectResponse(target, 303)
    answer.set_cookie(COOKIE, cookie, lifetime // 1000, **_flags(request))
    return answer


def _flags(request: Request) -> dict[str, Any]:
    # Strict: no page of another site can send it, not even by a link.
    return {"secure": request.url.scheme == "https", "httponly": True, "samesite": "strict"}


async def _fields(request: Request, context: AppContext) -> dict[str, str]:
    """Return the fields of a form that a page of this service sent."""
    check_host(request, context.settings)
    body = await read_body(request, [FORM])
    try:
        fields = parse_qs(body.decode(), max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise ApiError(400, "the form cannot be read") from error
    return {name: values[-1] for name, values in fields.items()}


def _form(
    request: Request,
    context: AppContext,
    target: str,
    error: ApiError | None = None,
    *,
    has_tokens: bool = True,
) -> Response:
    page = render(
        request,
        "sign_in.html",
        status=200 if error is None else error.status_code,
        target=target,
        problem="" if error is None else error.detail,
        has_tokens=has_tokens,
        hours=context.settings.session_hours,
    )
    page.headers.update({} if error is None else error.headers or {})
    return page

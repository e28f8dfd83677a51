"""Render templates, and answer errors of pages as pages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from barograph.results import wording
from barograph.results.series import Verdict
from barograph.server.store.tokens import Scope
from barograph.server.web.auth import COOKIE, READING, Caller
from barograph.server.web.context import GuardedRoute
from barograph.server.web.pages.assets import address
from barograph.server.web.responses import answer_error, problem

# No inline script or style, and no other host: what a name of a series holds is never run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
NAVIGATION = (
    ("queue", "/", "Queue"),
    ("processed", "/processed", "Processed"),
    ("series", "/series", "Series"),
    ("commits", "/commits", "Commits"),
    ("model", "/model", "Model"),
    ("health", "/data-health", "Health"),
)
# The verdicts of the buttons, with their words and keys; scripts read them from the buttons.
CHOICES = (
    (Verdict.TRUE_POSITIVE, "Real", "a"),
    (Verdict.FALSE_POSITIVE, "Noise", "h"),
    (Verdict.UNDER_INVESTIGATION, "Investigate", "i"),
    (Verdict.UNSURE, "Not sure", "n"),
)
VERDICT_WORDS = {Verdict.NOT_TRIAGED: "to decide", Verdict.UNSURE: "not sure"}
THEMES = ("light", "dark")  # without a choice, that of the system
HTML = "text/html; charset=utf-8"
LONGEST = 80  # characters of an address in a message
AGES = ((60_000, "s", 1000), (3_600_000, "min", 60_000), (172_800_000, "h", 3_600_000))
DAY = 86_400_000


def render(
    request: Request, template: str, *, status: int = 200, active: str = "", **values: Any
) -> Response:
    """Return a page.

    Args:
        request: The request; its caller decides what the page offers.
        template: Name of the template.
        status: HTTP status.
        active: Name of the entry of the navigation that the page belongs to.
        values: Variables of the template.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    page = environment().get_template(template)
    body = page.render(
        caller=caller,
        can={scope.value: caller is not None and caller.may(scope) for scope in Scope},
        here=here(request),
        navigation=NAVIGATION,
        theme=_theme(request),
        active=active,
        **values,
    )
    headers = {"Content-Security-Policy": POLICY, "Vary": "Cookie"}
    return Response(body, status, headers, HTML)


def _theme(request: Request) -> str:
    """Return the theme that the address or the cookie of the switch asks for; empty for none."""
    choices = request.query_params.get("theme"), request.cookies.get("theme")
    return next((choice for choice in choices if choice in THEMES), "")


def page_router() -> APIRouter:
    """Return a router of pages, which need the scope to read."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


class PageRoute(GuardedRoute):
    """A route that answers errors as a page."""

    scope = Scope.READ

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except ClientDisconnect:
                raise
            except Exception as error:
                # Scripts that ask for a part of a page get the error itself.
                if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
                    raise
                if isinstance(error, RequestValidationError):
                    first = error.errors()[0]
                    field = ".".join(map(str, first["loc"][1:]))
                    error = HTTPException(422, f"{field}: {first['msg']}"[:300])
                status, message, headers = problem(error)
            if status == 401 and request.method in READING:
                return _signed_out(request)
            page = render(request, "error.html", status=status, message=message, code=status)
            page.headers.update(headers)
            return page

        return answered


async def answer_missing(request: Request, error: Exception) -> Response:
    """Answer a request for what does not exist: with a page if a person visits its address."""
    is_visit = "text/html" in request.headers.get("accept", "") and request.method in READING
    if is_visit and not request.url.path.startswith("/api/"):
        message = f"there is no page {cut(request.url.path, LONGEST)}"
        return render(request, "error.html", status=404, message=message, code=404)
    return await answer_error(request, error)


def _signed_out(request: Request) -> Response:
    """Lead to the sign-in page, and back here afterwards."""
    from_elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
    if from_elsewhere and COOKIE not in request.cookies:
        # The cookie is strict: a link from another site comes without it. The page visits itself,
        # and then the cookie is sent, if there is one.
        return render(request, "arriving.html")
    return RedirectResponse(f"/sign-in?{urlencode({'next': here(request)})}", 303)


def cut(text: str, most: int) -> str:
    """Return text without invisible characters, and without its middle if it is long."""
    return wording.middle_cut(wording.printable(text), most)


def here(request: Request) -> str:
    """Return the address of a page on this service."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    made = Environment(
        loader=PackageLoader("barograph.server.web", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.globals |= {"asset": address, "verdict_choices": CHOICES}
    made.filters |= {
        "age": age,
        "change": lambda percent: wording.typeset(wording.change_text(percent)),
        "commit": lambda name: wording.printable(wording.short_commit(name)),
        "cut": cut,
        "number": lambda value: wording.typeset(wording.number(value)),
        "unit": wording.unit_text,
        "place": wording.place_text,
        "plural": wording.plural,
        "printable": wording.printable,
        "probability": wording.probability_text,
        "utc": utc,
        "verdict": verdict_word,
    }
    return made


def age(time: int, now: int | None = None) -> str:
    """Return how long ago a time in milliseconds was, such as "4 min" or "3 d".

    Example:
        >>> age(0, 240_000), age(0, 90_000_000), age(0, 3 * DAY), age(0, 800 * DAY)
        ('4 min', '25 h', '3 d', '2 years')
    """
    moment = int(datetime.now(UTC).timestamp() * 1000) if now is None else now
    passed = max(moment - time, 0)
    for limit, unit, size in AGES:
        if passed < limit:
            return f"{passed // size} {unit}"
    days = passed // DAY
    if days < 60:
        return f"{days} d"
    return f"{days // 30} months" if days < 730 else f"{days // 365} years"


def utc(time: int) -> str:
    """Return a time in milliseconds as text for people, such as "2026-03-12 08:41 UTC"."""
    day = wording.day(time)
    return day and f"{day} {datetime.fromtimestamp(time / 1000, UTC):%H:%M} UTC"


def verdict_word(verdict: str) -> str:
    """Return the word of a verdict on the board.

    Example:
        >>> verdict_word("true_positive"), verdict_word("not_triaged")
        ('real', 'to decide')
    """
    return VERDICT_WORDS.get(Verdict(verdict), Verdict(verdict).word)

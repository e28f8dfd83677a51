"""Templates and static files of the pages, and errors of pages as pages.

Scripts and styles are in memory, and browsers cache them for ever: all addresses hold one digest of
all files. A script is answered together with the modules that it imports: the chart of a page is
drawn earlier than with a request for each of them.
"""

import math
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from barograph.report.page import bundle
from barograph.results import wording
from barograph.results.series import SeriesId, Verdict
from barograph.server.store.tokens import Scope
from barograph.server.triage.effects import Trace
from barograph.server.web.auth import COOKIE, READING, Caller
from barograph.server.web.context import guarded_router
from barograph.server.web.responses import ApiError, api_error, error_response

FOLDERS = ("barograph.report", "barograph.server.web")
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOR_EVER = "public, max-age=31536000, immutable"
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
WIDTH, HEIGHT = 240, 60  # of a small plot
MARGIN = 4  # above and below
TAIL = 0.02  # of the results on each side that may lie beyond the plot
DAY = 86_400_000
AGES = (  # the unit of ages below a limit, and its size, in milliseconds
    *((60_000, "s", 1000), (3_600_000, "min", 60_000), (2 * DAY, "h", 3_600_000)),
    *((60 * DAY, "d", DAY), (730 * DAY, "months", 30 * DAY), (math.inf, "years", 365 * DAY)),
)


routes = APIRouter(include_in_schema=False)


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
    return guarded_router(Scope.READ, "pages", include_in_schema=False)


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer an error: with a page for a person who visits one, else as JSON."""
    known = api_error(error)
    # Scripts that ask for a part of a page get the error itself.
    if not _is_page(request) or request.headers.get("sec-fetch-mode", "navigate") != "navigate":
        return error_response(known)
    status, message = known.status_code, str(known.detail)
    if status == 401 and request.method in READING:
        return _signed_out(request)
    if isinstance(error, RequestValidationError):  # the address has the parameter
        message = message.partition(".")[2]
    if status == 404 and "route" not in request.scope:
        message = f"there is no page {cut(request.url.path, LONGEST)}"
    page = render(request, "error.html", status=status, message=message, code=status)
    page.headers.update(known.headers or {})
    return page


def _is_page(request: Request) -> bool:
    """Return whether a page is at the address, or a person looks for one there."""
    if isinstance(route := request.scope.get("route"), APIRoute):
        return not route.include_in_schema
    is_visit = "text/html" in request.headers.get("accept", "") and request.method in READING
    return is_visit and not request.url.path.startswith("/api/")


def _signed_out(request: Request) -> Response:
    """Lead to the sign-in page, and back here afterwards."""
    from_elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
    if from_elsewhere and COOKIE not in request.cookies:
        # The cookie is strict: a link from another site comes without it. The page visits itself,
        # and then the cookie is sent, if there is one.
        return render(request, "arriving.html")
    return RedirectResponse(f"/sign-in?{urlencode({'next': here(request)})}", 303)


def names(name: SeriesId) -> tuple[str, str]:
    """Return what people call a series, and the rest of its identity without the project."""
    title = name.test or name.measurement or name.project or "series"
    args = [f"{key} {value}" for key, value in name.args]
    rest = [name.variant, name.task, name.measurement, *args]
    return title, " · ".join(part for part in rest if part and part != title)


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
    made.globals |= {"asset": asset_address, "verdict_choices": CHOICES}
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
    return next(f"{passed // size} {unit}" for limit, unit, size in AGES if passed < limit)


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


def sparkline(trace: Trace | None) -> dict[str, str] | None:
    """Return a small plot as SVG paths, which are there with the rows: no script draws them.

    Returns:
        The results ("raw") and both levels ("before" and "after", empty if unknown) in a box of
        240 by 60; None for fewer than two results.

    Example:
        >>> from barograph.server.triage.effects import EdgeResult, Effect
        >>> low, high = (EdgeResult(0, "", None, value) for value in (1.0, 2.0))
        >>> sparkline(Trace([low, low], [high], Effect(1.0, 2.0, 2, 1, is_clear=True)))
        {'raw': 'M0 56L120 56L240 4', 'before': 'M0 56H180', 'after': 'M180 4H240'}
    """
    values = () if trace is None else trace.values
    if trace is None or len(values) < 2:
        return None
    known, size, split = trace.levels, len(values), len(trace.before)
    levels = None if known is None else known.size
    cut_off = int(TAIL * size)  # so that an outlier does not stretch the axis
    shown = [*sorted(values)[cut_off : size - cut_off], *(levels[:2] if levels else ())]
    low, high = min(shown), max(shown)
    span, step = high - low or 1.0, WIDTH / (size - 1)

    def y(value: float) -> int:
        share: float = (min(max(value, low), high) - low) / span
        return round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN))

    def level(start: int, end: int, value: float) -> str:
        # It begins and ends half way between two results.
        left, right = (min(max(round((k - 0.5) * step), 0), WIDTH) for k in (start, end))
        return f"M{left} {y(value)}H{right}" if end > start else ""

    paths = {"raw": "M" + "L".join(f"{round(k * step)} {y(v)}" for k, v in enumerate(values))}
    if known is None or levels is None:
        return paths | {"before": "", "after": ""}
    return paths | {
        "before": level(max(0, split - known.count_before), split, levels.before),
        "after": level(split, min(size, split + known.count_after), levels.after),
    }


@cache
def assets() -> dict[str, bytes]:
    """Return all static files by name."""
    places = [resources.files(package).joinpath("static") for package in FOLDERS]
    files = {
        file.name: file.read_text("utf-8")
        for place in places
        for file in place.iterdir()
        if file.name.endswith(tuple(MEDIA_TYPES))
    }
    return {
        name: (bundle(name, files) if name.endswith(".js") else text).encode()
        for name, text in files.items()
    }


@cache
def version() -> str:
    """Return the digest of all static files."""
    digest = sha256()
    for name, asset in sorted(assets().items()):
        digest.update(f"{name} {len(asset)} ".encode() + asset)
    return digest.hexdigest()[:16]


def asset_address(name: str) -> str:
    """Return the address of a static file."""
    if name not in assets():
        raise KeyError(f"no static file {name!r}")
    return f"/static/{version()}/{name}"


@routes.get("/static/{digest}/{name}")
async def get_asset(digest: str, name: str) -> Response:
    """Answer a static file; a page of an earlier version gets the present file."""
    asset = assets().get(name)
    if asset is None:
        raise ApiError(404, f"no static file {name!r:.60}")
    headers = {"Cache-Control": FOR_EVER if digest == version() else "no-cache"}
    return Response(asset, 200, headers, MEDIA_TYPES[Path(name).suffix])

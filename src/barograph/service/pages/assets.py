"""The scripts and styles of the pages: in memory, compressed once, and cached for ever by browsers.

All addresses hold one digest of all files: modules import each other by relative names, which stay
within the same version.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import NamedTuple

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from barograph.service.responses import ApiError

FOLDERS = ("barograph.plotting", "barograph.service")
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
IMPORTED = re.compile(rb'from "\./([a-z_]+\.js)"')
SCRIPT = Markup('<script type="module" src="{}"{}></script>')
PRELOAD = Markup('<link rel="modulepreload" href="{}"{}>')
FOR_EVER = "public, max-age=31536000, immutable"

routes = APIRouter(include_in_schema=False)


class Asset(NamedTuple):
    """A static file."""

    media_type: str
    content: bytes
    packed: bytes


@cache
def assets() -> dict[str, Asset]:
    """Return all static files by name."""
    result = {}
    for package in FOLDERS:
        for file in resources.files(package).joinpath("static").iterdir():
            media_type = MEDIA_TYPES.get("." + file.name.rpartition(".")[2])
            if media_type is not None:
                content = file.read_bytes()
                result[file.name] = Asset(media_type, content, gzip.compress(content, 9, mtime=0))
    return result


@cache
def version() -> str:
    """Return the digest of all static files."""
    digest = sha256()
    for name, asset in sorted(assets().items()):
        digest.update(f"{name} {len(asset.content)} ".encode() + asset.content)
    return digest.hexdigest()[:16]


def address(name: str) -> str:
    """Return the address of a static file."""
    if name not in assets():
        raise KeyError(f"no static file {name!r}")
    return f"/static/{version()}/{name}"


@cache
def module(*scripts: str) -> Markup:
    """Return the elements that load scripts, and ask for all that they import at the same time.

    Of several scripts, the first is loaded first and run before the first paint: a page that is
    painted without its chart, and again with it, shows the chart later.
    """
    elements: dict[str, Markup] = {}
    for script in scripts:
        needed = [script]
        for path in needed:
            names = (other.decode() for other in IMPORTED.findall(assets()[path].content))
            needed += [name for name in dict.fromkeys(names) if name not in needed]
        is_first = script == scripts[0]
        blocking = Markup(' blocking="render"') if is_first and len(scripts) > 1 else Markup("")
        priority = Markup("") if is_first else Markup(' fetchpriority="low"')
        for name in needed:
            element, extra = (
                (SCRIPT, blocking + priority) if name in scripts else (PRELOAD, priority)
            )
            elements.setdefault(name, element.format(address(name), extra))
    return Markup("\n").join(elements.values())


@routes.get("/static/{digest}/{name}")
async def get_asset(request: Request, digest: str, name: str) -> Response:
    """Answer a static file; a page of an earlier version gets the present file."""
    asset = assets().get(name)
    if asset is None:
        raise ApiError(404, f"no static file {name!r:.60}")
    headers = {
        "Cache-Control": FOR_EVER if digest == version() else "no-cache",
        "Vary": "Accept-Encoding",
    }
    if not accepts_gzip(request):
        return Response(asset.content, 200, headers, asset.media_type)
    return Response(asset.packed, 200, headers | {"Content-Encoding": "gzip"}, asset.media_type)


def accepts_gzip(request: Request) -> bool:
    """Return whether the answer to a request may be compressed."""
    return "gzip" in request.headers.get("accept-encoding", "")

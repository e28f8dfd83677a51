"""The scripts and styles of the pages: in memory, and cached for ever by browsers.

All addresses hold one digest of all files. A script is answered together with the modules that it
imports: the chart of a page is drawn earlier than with a request for each of them.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from barograph.report.javascript import bundle
from barograph.server.web.responses import ApiError

FOLDERS = ("barograph.report", "barograph.server.web")
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOR_EVER = "public, max-age=31536000, immutable"

routes = APIRouter(include_in_schema=False)


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


def address(name: str) -> str:
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

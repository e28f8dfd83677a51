"""The scripts and styles of the pages: in memory, compressed once, and cached for ever by browsers.

All addresses hold one digest of all files. A script is answered together with the modules that it
imports: the chart of a page is drawn earlier than with a request for each of them.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from barograph.service.responses import ApiError

FOLDERS = ("barograph.plotting", "barograph.service")
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
IMPORT = re.compile(r'^import (?:({[^}]+}) from )?"\./([a-z_]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const|class) (\w+))", re.MULTILINE)
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
    places = [resources.files(package).joinpath("static") for package in FOLDERS]
    files = {
        file.name: file.read_text("utf-8")
        for place in places
        for file in place.iterdir()
        if file.name.endswith(tuple(MEDIA_TYPES))
    }
    result = {}
    for name, text in files.items():
        content = (bundle(name, files) if name.endswith(".js") else text).encode()
        packed = gzip.compress(content, 9, mtime=0)
        result[name] = Asset(MEDIA_TYPES[name[name.rindex(".") :]], content, packed)
    return result


def bundle(script: str, files: Mapping[str, str]) -> str:
    r"""Return a script as one module, with all modules that it imports in the order of imports.

    Example:
        >>> files = {"a.js": 'import { b as c } from "./b.js";\nc();\n'}
        >>> files["b.js"] = "export function b() {}\n"
        >>> print(bundle("a.js", files), end="")
        const $b = (() => {
        function b() {}
        return { b };
        })();
        const { b: c } = $b;
        c();
    """
    bodies: dict[str, str] = {}

    def add(name: str) -> None:
        text = files[f"{name}.js"]
        for _, imported in IMPORT.findall(text):
            if imported not in bodies:
                add(imported)
        bodies[name] = IMPORT.sub(_bound, text)

    add(script.removesuffix(".js"))
    *modules, (_, body) = bodies.items()
    return "".join(_module(*module) for module in modules) + body


def _bound(found: re.Match[str]) -> str:
    """Return the declaration that takes the place of an import."""
    names, module = found.groups()
    return f"const {names.replace(' as ', ': ')} = ${module};\n" if names else ""


def _module(name: str, body: str) -> str:
    """Return a module as a constant, which holds what it exports."""
    exports = ", ".join(EXPORT.findall(body))
    return f"const ${name} = (() => {{\n{EXPORT.sub('', body)}return {{ {exports} }};\n}})();\n"


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

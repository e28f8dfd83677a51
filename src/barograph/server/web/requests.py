"""Request bodies: bounded while they arrive, while they unpack, and before they are decoded."""

import asyncio
import gzip
import io
import zlib
from collections.abc import Collection
from typing import Any

import msgspec
from fastapi import Request
from starlette.types import Receive, Scope

from barograph.server.web.responses import ApiError
from barograph.server.web.settings import Settings

MAX_COMMAS = 64  # of one row; a measurement with 32 arguments needs fewer


class ApiRequest(Request):
    """A request whose body is bounded and must be JSON; FastAPI decodes bodies through it.

    Args:
        scope: ASGI scope.
        receive: ASGI channel.
        fields: Names of the fields of the body; empty if its schema checks them.
    """

    def __init__(self, scope: Scope, receive: Receive, fields: Collection[str]) -> None:
        super().__init__(scope, receive)
        self._fields = fields

    async def body(self) -> bytes:
        """Return the body, unpacked if it was compressed."""
        if not hasattr(self, "_body"):
            self._body = await read_body(
                self, self.app.state.context.settings, ["application/json"]
            )
        return self._body

    async def json(self) -> Any:
        """Return the decoded body."""
        body = await self.body()
        check_elements(body, self.app.state.context.store.limits.batch)
        content = decode_json(body)
        is_known = isinstance(content, dict) and self._fields
        unknown = set(content) - set(self._fields) if is_known else set()
        if unknown:  # a misspelt field must not pass for one that is left out
            allowed = ", ".join(sorted(self._fields))
            raise ApiError(422, f"no field {min(unknown)!r:.60}; allowed: {allowed}")
        return content


def media_type(request: Request) -> str:
    """Return the media type of a request without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, settings: Settings, types: Collection[str]) -> bytes:
    """Return the body of a request, unpacked if it is gzip.

    Args:
        request: The request.
        settings: Limits of the service.
        types: Media types that are accepted.

    Raises:
        ApiError: The body is too large, damaged, or has an unknown type or encoding.
    """
    media = media_type(request)
    if media not in types:
        raise ApiError(415, f"Content-Type: {media!r:.60} is not {' or '.join(types)}")
    limit = settings.max_body
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return bytes(body)
    if encoding == "gzip":
        return await asyncio.to_thread(_unpack, bytes(body), settings.max_unpacked)
    raise ApiError(
        415, f"Content-Encoding: {encoding!r:.40} is not supported; use gzip or identity"
    )


def check_elements(body: bytes, max_rows: int) -> None:
    """Refuse a JSON body with far more elements than its rows need, before it is decoded."""
    if body.count(b",") > max_rows * MAX_COMMAS or (
        body.count(b"[") + body.count(b"{") > 4 * max_rows + 64
    ):
        raise ApiError(413, f"the body has too many elements for {max_rows} rows")


def decode_json(body: bytes, type_: Any = Any) -> Any:
    """Decode a JSON body.

    Args:
        body: UTF-8 text.
        type_: Expected type, see `msgspec.json.decode`.

    Raises:
        ApiError: The body is not valid JSON (400), or of another type (422).
    """
    try:
        return msgspec.json.decode(body.decode(), type=type_)
    except UnicodeDecodeError as error:
        raise ApiError(400, f"the body is not UTF-8: byte {error.start}") from error
    except RecursionError as error:
        raise ApiError(400, "the body is nested too deeply") from error
    except msgspec.ValidationError as error:
        raise ApiError(422, f"body: {error}") from error
    except ValueError as error:
        raise ApiError(400, f"the body is not valid JSON: {error!s:.200}") from error


def _unpack(packed: bytes, limit: int) -> bytes:
    """Unpack gzip up to a limit."""
    try:
        body = gzip.GzipFile(fileobj=io.BytesIO(packed)).read(limit + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ApiError(400, f"the body is not valid gzip: {error}") from error
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the body is larger than {limit} bytes; send several requests")

"""Answers: the one shape of every error, and the cursors of pages.

    {"error": {"status": 422, "kind": "invalid", "message": "...", "details": null}}

The status says who has to act: 4xx the sender, 5xx the service. A traceback never leaves the
service, and the log of a failure never holds a token.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from barograph.runtime.errors import BarographError, NotFoundError, StoreError
from barograph.server.web.schemas import Schema, answer

LOG = logging.getLogger("barograph.server.web")
RETRY = {"Retry-After": "1"}
MAX_DETAILS = 20
KINDS = {
    400: "malformed",
    401: "unauthorised",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    415: "unsupported_type",
    421: "misdirected",
    422: "invalid",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}


class ApiError(HTTPException, BarographError):
    """A request that is answered with an error.

    The store lets a `BarographError` pass out of a transaction as it is.

    Args:
        status: HTTP status.
        message: One sentence for people.
        details: Errors of single fields or rows.
        headers: Additional headers of the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        details: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.details = details


def error_response(
    status: int,
    message: str,
    *,
    details: object = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error in the shape that all errors have."""
    kind = KINDS.get(status, "error")
    error = {"status": status, "kind": kind, "message": message, "details": details}
    # ASCII: a message may quote text that is not valid Unicode.
    body = json.dumps({"error": error}, separators=(",", ":")).encode("ascii")
    return Response(body, status, dict(headers or {}), "application/json")


def problem(error: Exception) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the message and the headers that answer an error.

    Log what the service has to answer for; what is unexpected is answered without its details.
    """
    if isinstance(error, HTTPException):
        message = str(error.detail)
        is_phrase = message == HTTPStatus(error.status_code).phrase
        return error.status_code, message.lower() if is_phrase else message, error.headers or {}
    if isinstance(error, StoreError):
        LOG.error("%s", error)
        return 503, str(error), RETRY
    if isinstance(error, BarographError):
        return 404 if isinstance(error, NotFoundError) else 422, str(error), {}
    LOG.error("a request failed", exc_info=error)
    return 500, "internal error; see the log of the service", {}


def handle_errors(app: FastAPI) -> None:
    """Answer all errors of an app in one shape."""
    app.add_exception_handler(HTTPException, answer_error)
    app.add_exception_handler(BarographError, answer_error)
    app.add_exception_handler(RequestValidationError, _validation_error)


async def answer_error(_request: Request, error: Exception) -> Response:
    """Answer an error as JSON."""
    status, message, headers = problem(error)
    return error_response(status, message, details=getattr(error, "details", None), headers=headers)


async def _validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it alone
    # The input is not repeated: it may be huge, or a secret in the wrong place.
    details = [
        {"field": ".".join(map(str, item["loc"]))[:200], "message": item["msg"][:300]}
        for item in error.errors()[:MAX_DETAILS]
    ]
    return error_response(422, "{field}: {message}".format(**details[0]), details=details)


def next_cursor(rows: Sequence[Any], limit: int) -> int | None:
    """Return the id at which the next page starts, or None on the last page."""
    return rows[-1].id if len(rows) == limit else None


class ErrorDetail(Schema):
    """What went wrong."""

    status: int = Field(description="The HTTP status.")
    kind: str = Field(description="A word for programs, such as `invalid` or `unauthorised`.")
    message: str = Field(description="A sentence for people.")
    details: Any = Field(description="Errors of single fields or rows, or null.")


ERROR = answer("Error", "The shape of every error.", error=ErrorDetail)
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ERROR, "description": text}
    for status, text in {
        400: "The body cannot be read.",
        401: "The token is missing or unknown.",
        403: "The token lacks the scope of this route, or a page of another site sent the request.",
        404: "Not found.",
        413: "The request is too large.",
        415: "The media type or encoding is not supported.",
        421: "The Host header does not name this service.",
        422: "The request is readable but not valid.",
        429: "Too many requests.",
        503: "The store is not available; nothing of the request was kept.",
    }.items()
}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": ERROR, "description": "Not possible in the present state."}
}

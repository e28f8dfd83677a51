"""Answers: the one shape of every error, and the cursors of pages.

    {"error": {"status": 422, "kind": "invalid", "message": "...", "details": null}}

The status says who has to act: 4xx the sender, 5xx the service. A traceback never leaves the
service, and the log of a failure never holds a token.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from barograph.runtime.errors import BarographError, NotFoundError, StoreError
from barograph.server.web.schemas import answer

LOG = logging.getLogger("barograph.server.web")
Headers = Mapping[str, str] | None
RETRY = {"Retry-After": "1"}
MAX_DETAILS = 20
KINDS = {  # the word of each status for programs, and its description in the OpenAPI document
    400: ("malformed", "The body cannot be read."),
    401: ("unauthorised", "The token is missing or unknown."),
    403: (
        "forbidden",
        "The token lacks the scope of this route, or another site's page sent this.",
    ),
    404: ("not_found", "Not found."),
    405: ("method_not_allowed", "The address takes other methods."),
    409: ("conflict", "Not possible in the present state."),
    413: ("too_large", "The request is too large."),
    415: ("unsupported_type", "The media type or encoding is not supported."),
    421: ("misdirected", "The Host header does not name this service."),
    422: ("invalid", "The request is readable but not valid."),
    429: ("too_many_requests", "Too many requests."),
    500: ("internal", "The service failed."),
    503: ("unavailable", "The store is not available; nothing of the request was kept."),
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
        self, status: int, message: str, *, details: object = None, headers: Headers = None
    ) -> None:
        super().__init__(status, message, headers)
        self.details = details


def api_error(error: Exception) -> ApiError:
    """Return the error that answers an exception.

    Log what the service has to answer for; what is unexpected is answered without its details.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException):  # of the framework, with the phrase of its status
        return ApiError(error.status_code, str(error.detail).lower(), headers=error.headers)
    if isinstance(error, RequestValidationError):
        # The input is not repeated: it may be huge, or a secret in the wrong place.
        details = [
            {"field": ".".join(map(str, item["loc"]))[:200], "message": item["msg"][:300]}
            for item in error.errors()[:MAX_DETAILS]
        ]
        return ApiError(422, "{field}: {message}".format(**details[0]), details=details)
    if isinstance(error, StoreError):
        LOG.error("%s", error)
        return ApiError(503, str(error), headers=RETRY)
    if isinstance(error, BarographError):
        return ApiError(404 if isinstance(error, NotFoundError) else 422, str(error))
    LOG.error("a request failed", exc_info=error)
    return ApiError(500, "internal error; see the log of the service")


def error_response(error: ApiError) -> Response:
    """Return an error in the shape that all errors have."""
    status = error.status_code
    content = {
        "status": status,
        "kind": KINDS[status][0] if status in KINDS else "error",
        "message": error.detail,
        "details": error.details,
    }
    # ASCII: a message may quote text that is not valid Unicode.
    body = json.dumps({"error": content}, separators=(",", ":")).encode("ascii")
    return Response(body, status, error.headers, "application/json")


def next_cursor(rows: Sequence[Any], limit: int) -> int | None:
    """Return the id at which the next page starts, or None on the last page."""
    return rows[-1].id if len(rows) == limit else None


TEXT = """The shape of every error.

`kind` is a word for programs, `message` a sentence for people, and `details` are errors of single
fields or rows, or null."""
DETAIL = answer("ErrorDetail", "What went wrong.", status=int, kind=str, message=str, details=Any)
ERROR = answer("Error", TEXT, error=DETAIL)
CONFLICT: dict[int | str, dict[str, Any]] = {409: {"model": ERROR, "description": KINDS[409][1]}}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ERROR, "description": text}
    for status, (_, text) in KINDS.items()
    if status not in (405, 409, 500)
}

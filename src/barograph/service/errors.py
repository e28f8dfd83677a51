"""One error shape for everything that can go wrong.

    {"error": {"status": 422, "kind": "invalid", "message": "...", "details": null}}

The status says who has to act: 4xx the sender, 5xx us. What the log gets of a failure of ours
never holds a token, and the sender never gets a traceback.
"""

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from barograph.errors import BarographError, StoreError
from barograph.service.answers import Json, failure

LOG = logging.getLogger("barograph.service")
RETRY = {"Retry-After": "1"}
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


class Refused(BarographError):  # noqa: N818 - it is an answer
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        details: object = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details
        self.headers = headers or {}

    def answer(self) -> Json:
        """Write it."""
        kind = KINDS.get(self.status, "error")
        return failure(self.status, kind, self.message, details=self.details, headers=self.headers)


def handle_errors(app: FastAPI) -> None:
    """Give every error of an app the one shape."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(BarographError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def unexpected(error: Exception) -> Json:
    """Log what nobody foresaw, and answer without telling the sender how we look inside."""
    LOG.error("a request failed", exc_info=error)
    return Refused(500, "the service failed; its log says why").answer()


async def _refused(_request: Request, error: Exception) -> Json:
    assert isinstance(error, Refused)  # noqa: S101 - registered for it alone
    return error.answer()


async def _ours(_request: Request, error: Exception) -> Json:
    if isinstance(error, StoreError):
        LOG.error("%s", error)
        return Refused(503, str(error), headers=RETRY).answer()
    return Refused(422, str(error)).answer()


async def _invalid(_request: Request, error: Exception) -> Json:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it alone
    # What was sent is not repeated: it may be huge, or a secret in the wrong place.
    details = [
        {"field": ".".join(map(str, one["loc"])), "message": one["msg"]}
        for one in error.errors()[:20]
    ]
    first = details[0]
    return Refused(422, f"{first['field']}: {first['message']}", details=details).answer()


async def _http(_request: Request, error: Exception) -> Json:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it alone
    message = str(error.detail)
    if message == HTTPStatus(error.status_code).phrase:
        message = {404: "there is no such place", 405: "this method is not allowed here"}.get(
            error.status_code, message
        )
    headers = dict(error.headers or {})
    return Refused(error.status_code, message, headers=headers).answer()

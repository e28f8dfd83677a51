"""How every answer is written: compact JSON that any client can read."""

import json
from collections.abc import Mapping

from starlette.responses import Response


class Json(Response):
    """A JSON answer; text that is no valid Unicode is escaped, and NaN is never written."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Write the content."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def failure(
    status: int,
    kind: str,
    message: str,
    *,
    details: object = None,
    headers: Mapping[str, str] | None = None,
) -> Json:
    """Write the one shape that every error has."""
    told = {"status": status, "kind": kind, "message": message, "details": details}
    return Json({"error": told}, status, dict(headers or {}))

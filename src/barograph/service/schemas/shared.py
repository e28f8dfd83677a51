"""What every answer has in common: examples, and the one shape of errors."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MODEL = "online-3f1c2b7a90de"


def example(value: Any) -> ConfigDict:
    """Show a value in the OpenAPI text."""
    return ConfigDict(json_schema_extra={"examples": [value]}, extra="forbid")


class Failure(BaseModel):
    """What went wrong."""

    status: int = Field(description="The HTTP status, again.")
    kind: str = Field(description="A word for programs, such as `invalid` or `unauthorised`.")
    message: str = Field(description="A sentence for people.")
    details: Any = Field(description="What belongs to single fields or rows; null if nothing.")


class ErrorAnswer(BaseModel):
    """The one shape that every error has."""

    model_config = example(
        {
            "error": {
                "status": 422,
                "kind": "invalid",
                "message": "value: missing",
                "details": None,
            }
        }
    )
    error: Failure


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in {
        400: "The body cannot be read.",
        401: "No token, or one that is not known.",
        403: "The token has not the scope that this needs.",
        404: "There is no such thing.",
        413: "More than one request may hold.",
        415: "A media type or an encoding that is not known.",
        421: "Without any token, a Host that is not this machine.",
        422: "Read, but not allowed as it is.",
        429: "Too many requests.",
        503: "The store cannot be written or read just now; nothing of the request was kept.",
    }.items()
}

"""Small JSON bodies, each of one pydantic model."""

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from barograph.service.body import read_body
from barograph.service.errors import Refused
from barograph.service.parsing import read_json
from barograph.service.parts import parts_of

M = TypeVar("M", bound=BaseModel)


async def form(request: Request, model: type[M]) -> M:
    """Read a body that must be one JSON value of a model."""
    body = await json_body(request)
    return validated(body, model, parts_of(request).store.limits.batch)


async def json_body(request: Request) -> bytes:
    """Read a body that says that it is JSON."""
    media = media_of(request)
    if media != "application/json":
        raise Refused(415, f"Content-Type: {media!r:.60} is not application/json")
    settings = parts_of(request).settings
    return await read_body(request, settings.body, settings.unpacked)


def media_of(request: Request) -> str:
    """What the sender says the body is."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def validated(body: bytes, model: type[M], most: int) -> M:
    """Make a model of a body, or say which field is wrong; what was sent is not repeated."""
    try:
        return model.model_validate(read_json(body, most))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise Refused(422, f"{where:.200}: {first['msg']:.300}") from error


def form_body(model: type[BaseModel]) -> dict[str, Any]:
    """Describe such a body for the OpenAPI text."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

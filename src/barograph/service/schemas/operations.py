"""Whether the service lives."""

from typing import Literal

from pydantic import BaseModel

from barograph.service.schemas.shared import MODEL, example


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    model_config = example({"status": "ready", "model": MODEL, "version": "0.1.0"})
    status: Literal["alive", "ready"]
    model: str | None = None
    version: str

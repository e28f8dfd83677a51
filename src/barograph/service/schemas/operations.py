"""Whether the service lives."""

from typing import Any, Literal

from pydantic import BaseModel

from barograph.service.schemas.shared import MODEL, example

EXPOSITION: dict[str, Any] = {
    "schema": {"type": "string"},
    "example": (
        "# HELP barograph_points_total Measurements by what became of them.\n"
        "# TYPE barograph_points_total counter\n"
        'barograph_points_total{status="written"} 31.0\n'
        "# HELP barograph_ready Whether the service is ready.\n"
        "# TYPE barograph_ready gauge\n"
        "barograph_ready 1.0\n"
        "# HELP barograph_store_up Whether the store answers.\n"
        "# TYPE barograph_store_up gauge\n"
        "barograph_store_up 1.0\n"
    ),
}


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    model_config = example({"status": "ready", "model": MODEL, "version": "0.1.0"})
    status: Literal["alive", "ready"]
    model: str | None = None
    version: str

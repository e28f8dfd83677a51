"""What the routes work with, in one place."""

from dataclasses import dataclass

from fastapi import Request

from barograph.service.behind import Behind
from barograph.service.metrics import Metrics
from barograph.service.models import Watch
from barograph.service.settings import Settings
from barograph.store import Store


@dataclass(frozen=True)
class Parts:
    """The parts of one running service."""

    store: Store
    watch: Watch
    metrics: Metrics
    settings: Settings
    behind: Behind | None = None


def parts_of(request: Request) -> Parts:
    """Return the parts of the service that a request came to."""
    parts: Parts = request.app.state.parts
    return parts

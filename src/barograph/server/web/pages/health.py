"""The page of the data's health: what fell silent, came late, waits or was rejected."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from barograph.server.store.arrivals import HOUR, LEAST, PATIENCE
from barograph.server.web.context import Context
from barograph.server.web.data_health import DAYS, DataHealth, data_health
from barograph.server.web.pages.rendering import page_router, render
from barograph.server.web.pages.series import names

MINUTE = 60_000
LATE = 5 * MINUTE  # of the background work, before the page calls it late
routes = page_router()


@routes.get("/data-health")
def get_health_page(request: Request, context: Context) -> Response:
    """Return the page."""
    with context.store.read() as connection:
        health = data_health(connection)
    return render(
        request,
        "health.html",
        active="health",
        health=health,
        findings=findings(health),
        worker=context.worker,
        days=DAYS,
        patience=PATIENCE,
        least=LEAST + 1,
        behind=health.lag > LATE,
        gap=gap,
        names=names,
    )


def findings(health: DataHealth) -> list[tuple[int, str, str, bool]]:
    """Return the summary of the page: number, text, section, and whether somebody should look."""
    counts = health.counts
    rejected = sum(rejection.results for rejection in health.rejected)
    waiting = "suspect waits" if counts.suspects == 1 else "suspects wait"
    numbers = [
        (counts.silent, "silent series", "silent"),
        (counts.late, "series with late results", "late"),
        (counts.suspects, f"{waiting} for a rerun", "suspects"),
        (rejected, f"result{'s' * (rejected != 1)} rejected in {DAYS} days", "rejected"),
    ]
    lag = (health.waiting, "series to recompute", "lag", health.lag > LATE)
    return [*((*finding, finding[0] > 0) for finding in numbers), lag]


def gap(milliseconds: int) -> str:
    """Return a gap between results for people.

    Example:
        >>> gap(1_800_000), gap(10_800_000), gap(172_800_000)
        ('30 min', '3 h', '2 d')
    """
    if milliseconds < 2 * HOUR:
        return f"{max(1, round(milliseconds / MINUTE))} min"
    hours = milliseconds / HOUR
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} d"

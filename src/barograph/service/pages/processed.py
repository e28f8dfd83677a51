"""The processed candidates: verdict, who gave it, when and why; each can be reopened."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response

from barograph.series import Verdict
from barograph.service.context import Context
from barograph.service.pages.queue import query_of, rows_of
from barograph.service.pages.rendering import page_router, render
from barograph.service.routes.board import Kind, Who
from barograph.service.routes.queue import FilterQuery, Offset
from barograph.triage.processed import PAGE, processed

routes = page_router()


@routes.get("/processed")
def get_processed(
    request: Request,
    context: Context,
    queue_filter: FilterQuery,
    verdict: Kind = "",
    who: Who = "",
    offset: Offset = 0,
) -> Response:
    """Answer the candidates that have a verdict, the latest first."""
    kind = Verdict(verdict) if verdict else None
    with context.store.read() as connection:
        page = processed(connection, queue_filter, kind, who=who, offset=offset)
        rows = rows_of(connection, [decided.entry for decided in page.entries], with_project=True)
    query = query_of(queue_filter)
    more = f"&{query}" if query else ""
    return render(
        request,
        "processed.html",
        active="processed",
        pairs=list(zip(page.entries, rows, strict=True)),
        counts=page.counts,
        verdict=verdict,
        who=who,
        queue_filter=queue_filter,
        link=lambda **changed: _link(verdict, who, changed) + more,
        following=offset + PAGE if page.more else None,
        offset=offset,
        page_size=PAGE,
    )


def _link(verdict: str, who: str, changed: dict[str, object]) -> str:
    fields = {"verdict": verdict, "who": who, **changed}
    return "/processed?" + urlencode({name: value for name, value in fields.items() if value})

"""The first page of an empty store: how to send results."""

from __future__ import annotations

import shlex

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from barograph.service.auth import LOCAL
from barograph.service.context import AppContext
from barograph.service.pages.rendering import render
from barograph.store.reading import find_series

EXAMPLE = (
    '{"project": "demo", "test": "insert", "measurement": "ops_per_sec",\n'
    '       "commit": "4c1e9d7", "value": 41210, "unit": "ops/s"}'
)


def store_of(context: AppContext) -> str:
    """Return where the store is, for commands on this machine; empty if that holds a password."""
    url = "" if context.retraining is None else context.retraining.config.url
    return "" if "://" in url else url


def is_empty(connection: sa.Connection) -> bool:
    """Return whether the store has no series yet."""
    return not find_series(connection, limit=1)


def empty_page(request: Request, store: str) -> Response:
    """Return the page; its commands hold the address that this page was asked for at.

    Args:
        request: The request.
        store: Location of the store, for commands on the machine of the service; empty if it is
            not to be shown.
    """
    caller = getattr(request.state, "caller", None)
    needs_token = caller is not LOCAL  # who needs no token is this machine
    where = f" --store {shlex.quote(store)}" if store and not needs_token else ""
    token = '  -H "Authorization: Bearer $BAROGRAPH_TOKEN" \\\n' if needs_token else ""
    address = shlex.quote(f"{request.url.scheme}://{request.url.netloc}/api/v1/points")
    send = f"curl {address} \\\n{token}  -H \"Content-Type: application/json\" \\\n  -d '{EXAMPLE}'"
    return render(
        request,
        "empty.html",
        active="queue",
        import_command=f"barograph import results.csv{where}",
        send_command=send,
        demo_command="barograph serve --demo --port 8001",
        needs_token=needs_token,
    )

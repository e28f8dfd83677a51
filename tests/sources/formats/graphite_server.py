"""A Graphite server for tests: it answers queries and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.sources.server import running


class GraphiteServer(ThreadingHTTPServer):
    """Answers `/render` with `targets`, events with `events`, and some paths in odd ways."""

    targets: dict[str, list[list[float | None]]]
    events: Any
    asked: list[str]
    credentials: list[str | None]

    @property
    def url(self) -> str:
        """The address of the server, with a slash."""
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: GraphiteServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.server.asked.append(self.path)
        self.server.credentials.append(self.headers.get("Authorization"))
        if parts.path == "/render":
            targets = parse_qs(parts.query).get("target", [])
            known = self.server.targets
            self._json([{"target": t, "datapoints": known[t]} for t in targets if t in known])
        elif parts.path == "/events/get_data" and self.server.events is not None:
            self._json(self.server.events)
        else:
            self.send_error(404)

    def _json(self, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Print nothing."""


@contextmanager
def graphite_server() -> Iterator[GraphiteServer]:
    """Run a server on a free port of this machine."""
    server = GraphiteServer(("127.0.0.1", 0), _Handler)
    server.targets, server.events, server.asked, server.credentials = {}, None, [], []
    with running(server):
        yield server

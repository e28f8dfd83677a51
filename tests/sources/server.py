"""A local HTTP server that answers like Zenodo, or as badly as a test requires."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, TypeVar

S = TypeVar("S", bound=BaseServer)


class Server(ThreadingHTTPServer):
    """A record with files; `tricks` answer the next requests for a path, in order, instead."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, record: int = 7) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.record = record
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        self.files: dict[str, bytes] = {}
        self.lies: dict[str, dict[str, Any]] = {}
        self.tricks: dict[str, list[Callable[[Handler], None]]] = {}
        self.requests: list[str] = []

    @property
    def api(self) -> str:
        return f"/api/records/{self.record}"

    def address(self, name: str) -> str:
        return f"{self.api}/files/{name}/content"

    def listing(self) -> dict[str, Any]:
        return {"id": self.record, "files": [self.entry(name) for name in self.files]}

    def entry(self, name: str) -> dict[str, Any]:
        data = self.files[name]
        entry = {
            "key": name,
            "size": len(data),
            "checksum": f"md5:{hashlib.md5(data, usedforsecurity=False).hexdigest()}",
            "links": {"self": self.base + self.address(name)},
        }
        return entry | self.lies.get(name, {})

    def count(self, path: str) -> int:
        return self.requests.count(path)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that hang up."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        tricks = self.server.tricks.get(self.path, [])
        if tricks:
            tricks.pop(0)(self)
        elif self.path == self.server.api:
            self.reply(200, json.dumps(self.server.listing()).encode())
        else:
            self.deliver()

    def content(self) -> bytes | None:
        for name, data in self.server.files.items():
            if self.path == self.server.address(name):
                return data
        return None

    def deliver(self, cut: int | None = None) -> None:
        """Send the file, breaking off after `cut` bytes."""
        data = self.content()
        if data is None:
            self.reply(404, b"none")
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:cut])

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


def serving() -> AbstractContextManager[Server]:
    return running(Server())


@contextmanager
def running(server: S) -> Iterator[S]:
    """Serve from a separate thread until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cut_after(count: int) -> Callable[[Handler], None]:
    """Return a trick that breaks off after `count` bytes."""
    return lambda handler: handler.deliver(cut=count)


def status(code: int, body: bytes = b"", **headers: str) -> Callable[[Handler], None]:
    """Return a trick that replies with a status."""
    return lambda handler: handler.reply(code, body, **headers)

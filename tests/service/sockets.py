"""A server with a tiny app and limits of connections, and a client of plain sockets."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from barograph.server.web.protocol import protocol_with
from barograph.server.web.settings import ConnectionLimits
from tests.service.servers import in_thread
from tests.shared import PATIENCE

LARGE = 20_000_000
LIMIT = 60.0  # seconds until a deadline counts as missing; those that are tested are of a second
FAULTS: list[RuntimeError] = []  # of the app, which the server would log with a traceback
ASK = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
RUNNING: list[str] = []  # the paths that the app is answering


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the size of the body, or with the headers."""
    RUNNING.append(scope["path"])
    try:
        await answered(scope, receive, send)
    finally:
        RUNNING.remove(scope["path"])


async def answered(scope: Any, receive: Any, send: Any) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    content = bytes(LARGE) if scope["path"] == "/large" else str(size).encode()
    if scope["path"] == "/headers":
        content = b"; ".join(b"%s=%s" % header for header in scope["headers"])
    if scope["path"] == "/running":
        content = " ".join(RUNNING).encode()
    if scope["path"] in ("/wait", "/late"):
        await asyncio.sleep(0.02 if scope["path"] == "/wait" else 0.3)
    headers = [(b"content-length", str(len(content)).encode())]
    try:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["path"] == "/slow":
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            await asyncio.sleep(0.3)
        if scope["path"] == "/broken":
            return
        await send({"type": "http.response.body", "body": content})
    except RuntimeError as error:
        FAULTS.append(error)
        raise


@contextmanager
def running(
    limits: ConnectionLimits, idle: int = int(PATIENCE), protocol: type | None = None
) -> Iterator[int]:
    """A server with these limits, which closes idle connections; yields its port."""
    config = uvicorn.Config(
        app,
        port=0,
        http=protocol or protocol_with(limits),
        lifespan="off",
        log_level="critical",
        timeout_keep_alive=idle,
    )
    server = uvicorn.Server(config)
    with in_thread(server) as port:
        yield port


def connect(port: int, patience: float = PATIENCE) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=patience)


def answer(sent: bytes, port: int, patience: float = PATIENCE) -> bytes:
    """Send bytes on a new connection and return everything until it is closed or answered."""
    with connect(port, patience) as stream:
        stream.sendall(sent)
        return reply(stream)


def reply(stream: socket.socket) -> bytes:
    received = b""
    while piece := stream.recv(65_536):
        received += piece
        if (
            b"200 OK" in received
            and received.count(b"\r\n\r\n")
            and not received.endswith(b"\r\n\r\n")
        ):
            break
    return received

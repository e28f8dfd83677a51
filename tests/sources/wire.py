"""A server that implements enough of MongoDB's wire protocol for a real client to read from it.

OP_MSG, and OP_QUERY for the first greeting, as the MongoDB manual describes them; one collection,
`find` and `getMore`; and it refuses a user, as a test wants it to.
"""

import socketserver
import struct
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import bson

from tests.sources.server import running

OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
GREETING = {
    "ismaster": True,
    "helloOk": True,
    "maxBsonObjectSize": 16 << 20,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 100_000,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "ok": 1.0,
}


class Wire(socketserver.ThreadingTCPServer):
    """Documents in the order of their `_id`, and the commands that were asked."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, documents: list[Mapping[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Talk)
        self.documents = sorted(documents, key=lambda fields: fields["_id"])
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self.commands: list[dict[str, Any]] = []
        self.reads = 0
        self.cursors: dict[int, list[Mapping[str, Any]]] = {}

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that hang up."""


class Talk(socketserver.BaseRequestHandler):
    server: Wire

    def handle(self) -> None:
        while header := self.exactly(16):
            length, number, _, kind = struct.unpack("<iiii", header)
            body = self.exactly(length - 16)
            if kind == OP_QUERY:
                start = body.index(b"\0", 4) + 9
                reply = struct.pack("<iqii", 8, 0, 0, 1) + bson.encode(self.answer(body[start:]))
                self.send(reply, number, OP_REPLY)
            else:
                self.send(b"\0\0\0\0\0" + bson.encode(self.answer(body[5:])), number, OP_MSG)

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.request.recv(count - len(data))
            if not piece:
                return b""
            data += piece
        return data

    def send(self, body: bytes, number: int, kind: int) -> None:
        self.request.sendall(struct.pack("<iiii", 16 + len(body), 0, number, kind) + body)

    def answer(self, data: bytes) -> Mapping[str, Any]:
        """Return the reply to a command."""
        length = struct.unpack("<i", data[:4])[0]
        command = bson.decode(data[:length])
        name = next(iter(command))
        if name.startswith("sasl"):
            message = f"Authentication failed: {bson.encode(command)!r} hunter/2@x"
            return {"ok": 0.0, "code": 18, "codeName": "AuthenticationFailed", "errmsg": message}
        if name not in ("find", "getMore"):
            return GREETING if name in ("hello", "ismaster", "isMaster") else {"ok": 1.0}
        self.server.commands.append(command)
        self.server.reads += 1
        return self.batch(command, name)

    def batch(self, command: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        if name == "find":
            rest, cursor, label = self.server.documents, self.server.reads, "firstBatch"
        else:
            cursor, label = command["getMore"], "nextBatch"
            rest = self.server.cursors.pop(cursor)
        size = 4
        self.server.cursors[cursor] = rest[size:]
        place = cursor if rest[size:] else 0
        result = {label: rest[:size], "id": bson.Int64(place), "ns": "perf.time_series"}
        return {"cursor": result, "ok": 1.0}


def talking(documents: list[Mapping[str, Any]]) -> AbstractContextManager[Wire]:
    return running(Wire(documents))

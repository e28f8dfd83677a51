"""The HTTP protocol of the service: bounds and deadlines for what arrives before the app sees it.

Uvicorn's compiled protocol waits for ever for the rest of a head or a body, takes heads of any
size, and any number of connections. A process may open about a thousand files, so idle connections
alone could keep everyone else out, the health check included.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from barograph.service.middleware import with_security_headers
from barograph.service.responses import error_response
from barograph.service.settings import ConnectionLimits

PROBES = ("/health", "/ready", "/ping")


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits, and with errors in the shape of all other errors."""

    limits = ConnectionLimits()
    addresses: ClassVar[Counter[str]] = Counter()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._running: deque[RequestResponseCycle] = deque()  # pipelined requests wait in it
        self._is_reserved = self._is_refused = False
        self._is_in_head = self._began_now = False
        self._waiting = 0  # bytes of a head that is not complete
        self._size = 0  # bytes of the headers so far

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and refuse it if there are too many."""
        super().connection_made(transport)
        self.addresses[self._address] += 1
        count = len(self.connections)
        is_crowd = self.addresses[self._address] > self.limits.per_address
        if is_crowd and self._address not in self.limits.trusted_proxies:
            self._refuse(503, f"too many connections from {self._address}")
        elif count > self.limits.allowed + self.limits.reserved:
            self._refuse(503, "too many connections")
        else:
            self._is_reserved = count > self.limits.allowed
            self._expect_within(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the connection back."""
        self._expect_nothing()
        self._expect_no_reading()
        for cycle in self._running:  # Uvicorn notifies only the last one
            cycle.disconnected = True
            cycle.message_event.set()
        self.addresses[self._address] -= 1
        if not self.addresses[self._address]:
            del self.addresses[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless the connection was refused."""
        if self._is_refused:
            return
        self._began_now = False
        super().data_received(data)
        # What began within this piece is bounded by the size of the piece.
        if self._is_in_head and not self._began_now:
            self._waiting += len(data)
            if self._waiting > self.limits.max_head:
                self._refuse_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._is_in_head = self._began_now = True
        self._waiting = self._size = 0
        if self._deadline is None:
            self._expect_within(self.limits.head_seconds)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._size += len(name) + len(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is not acceptable."""
        self._is_in_head = False
        self._expect_nothing()
        if self._is_refused:
            return
        if self._size + len(self.url) > self.limits.max_head:
            self._refuse_head()
        elif [name for name, _ in self.headers].count(b"host") > 1:
            self._refuse(400, "the request has several Host headers")
        elif self._is_reserved and self.url.partition(b"?")[0].decode("latin-1") not in PROBES:
            self._refuse(503, "too many connections")
        else:
            super().on_headers_complete()
            while self._running and self._running[0].response_complete:
                self._running.popleft()
            self._running.append(self.cycle)
            self._expect_within(self.limits.body_seconds)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        if not self._is_refused:
            self._expect_nothing()
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP; they never reach the app."""
        self._refuse(400, msg)

    def _refuse_head(self) -> None:
        self._refuse(431, f"the headers are larger than {self.limits.max_head} bytes")

    def _refuse(self, status: int, message: str) -> None:
        """Answer with an error, and close the connection."""
        if self._is_refused:
            return
        self._is_refused = True
        self._expect_nothing()
        answer = error_response(status, message, headers={"Connection": "close"})
        headers = b"".join(b"%s: %s\r\n" % h for h in with_security_headers(answer.raw_headers))
        line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
        self.transport.write(b"%s%s\r\n%s" % (line, headers, answer.body))
        self.transport.close()

    def pause_writing(self) -> None:
        """Stop writing until the other side has read what was written."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        self._expect_no_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, which first writes the rest of its answers."""
        super().timeout_keep_alive_handler()
        self._expect_reading()

    def _expect_reading(self, before: int | None = None) -> None:
        """End the connection unless less than before is left to be read at each interval."""
        self._expect_no_reading()
        size = self.transport.get_write_buffer_size()
        if before is not None and size >= before:
            self.transport.abort()
        elif size:
            seconds = self.limits.answer_seconds
            self._unread = self.loop.call_later(seconds, self._expect_reading, size)

    def _expect_no_reading(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._expire)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        """End a connection whose head or body did not arrive in time."""
        self._deadline = None
        running: RequestResponseCycle | None = self.cycle  # None before the first request
        if running is not None and not running.more_body and not running.response_complete:
            self._expect_within(self.limits.head_seconds)  # an earlier request is being answered
        elif self._is_in_head:
            self._refuse(408, "the headers did not arrive in time")
        else:  # an idle connection, or a body: the answer to it may have begun
            self._is_refused = True
            self.transport.close()


def protocol_with(limits: ConnectionLimits) -> type[GuardedProtocol]:
    """Return the protocol with other limits and a count of its own."""
    members = {"limits": limits, "addresses": Counter()}
    return type(GuardedProtocol.__name__, (GuardedProtocol,), members)

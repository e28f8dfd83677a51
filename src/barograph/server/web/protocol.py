"""The HTTP protocol of the service: bounds and deadlines for what arrives before the app sees it.

Uvicorn's compiled protocol waits for ever for the rest of a head or a body, takes heads of any
size, and any number of connections. A process may open about a thousand files, so idle connections
alone could keep everyone else out, the health check included.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter, deque
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from barograph.server.web.middleware import with_security_headers
from barograph.server.web.responses import RETRY, error_response
from barograph.server.web.settings import ConnectionLimits

PROBES = ("/health", "/ready", "/ping")
HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^][\s/?#@:\\]*)(:[0-9]{0,5})?")
LOG = logging.getLogger("uvicorn.error")
CHUNKED = 8  # bytes that may arrive for one of a body: in a chunk of its own, that takes six


class _ClientLog(logging.LoggerAdapter[logging.Logger]):
    """Uvicorn's log, where a fault of a client is no warning: clients could fill the disk."""

    @property
    def level(self) -> int:
        """The level of the log."""
        return self.logger.level

    def warning(self, msg: object, *values: object, **more: Any) -> None:
        """Log a fault of a client."""
        self.debug(msg, *values, **more)


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits, and with errors in the shape of all other errors.

    Connections beyond the limits may only ask for the health of the service. There is room for a
    few of them: the oldest gives way, so silent connections cannot keep that room.
    """

    limits = ConnectionLimits()
    addresses: ClassVar[Counter[str]] = Counter()
    surplus: ClassVar[dict[GuardedProtocol, str]] = {}  # and what is wrong, oldest first

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.logger = _ClientLog(LOG)  # type: ignore[assignment]
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._running: deque[RequestResponseCycle] = deque()  # pipelined requests wait in it
        self._is_refused = self._is_in_head = self._began_now = False
        self._last_words = b""  # the error that ends a refused connection
        self._received = 0  # bytes of a head that is not complete, or of a body as sent
        self._content = 0  # bytes of a body so far
        self._size = 0  # bytes of the headers so far

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and restrict it if there are too many."""
        super().connection_made(transport)
        self.addresses[self._address] += 1
        count = len(self.connections)
        is_crowd = self.addresses[self._address] > self.limits.per_address
        if is_crowd and self._address not in self.limits.trusted_proxies:
            self._restrict(f"too many connections from {self._address}")
        elif count > self.limits.allowed:
            self._restrict("too many connections")
        self._expect_within(self.limits.head_seconds)

    def _restrict(self, fault: str) -> None:
        """Let the connection ask for the health of the service, and end the oldest of its kind."""
        self.surplus[self] = fault
        if len(self.surplus) > self.limits.reserved:
            idle = (other for other in self.surplus if not other.is_answering)
            other = next(idle)  # at least this connection
            other.refuse(503, self.surplus[other])

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        last: RequestResponseCycle | None = self.cycle  # None before the first request
        return last is not None and not last.response_complete

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
        self.surplus.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless the connection was refused."""
        if self._is_refused:
            return
        self._began_now = False
        super().data_received(data)
        self._check_received(len(data))

    def _check_received(self, size: int) -> None:
        """Bound what is neither a complete head nor the content of a body."""
        if not self._began_now:  # what did is bounded by the size of the piece
            self._received += size
        if self._is_refused:
            return
        if self._received > self.limits.max_head + CHUNKED * self._content:
            if self._is_in_head:
                self._refuse_head()
            else:
                self.refuse(400, "the extensions of the chunks, or the trailers, are too large")
        elif self._deadline is None and not self.is_answering:
            # What arrives stops the clock of idle connections, even a blank line. While a request
            # is being answered, that clock is yet to start.
            self._expect_within(self.limits.head_seconds)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._is_in_head = self._began_now = True
        self._received = self._content = self._size = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is dropped, because it would pass for a header."""
        if self._is_in_head:
            self._size += len(name) + len(value)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is not acceptable."""
        self._is_in_head = False
        self._received = 0
        if self._is_refused:
            return
        self._use_target_host()
        if self._size + len(self.url) > self.limits.max_head:
            self._refuse_head()
        elif fault := self._fault():
            self.refuse(*fault)
        else:
            super().on_headers_complete()
            while self._running and self._running[0].response_complete:
                self._running.popleft()
            self._running.append(self.cycle)
            self._expect_within(self.limits.body_seconds)

    def _use_target_host(self) -> None:
        """Replace the Host header by the host of `GET http://host/path` (RFC 9112, 3.2.2)."""
        scheme, separator, rest = self.url.partition(b"://")
        if separator and b"/" not in scheme and b"?" not in scheme:
            host = rest.partition(b"/")[0].partition(b"?")[0]
            for place, (name, _) in enumerate(self.headers):
                if name == b"host":
                    self.headers[place] = (name, host)

    def _fault(self) -> tuple[int, str] | None:
        """Return the status and the message of a head that is not acceptable."""
        version = self.parser.get_http_version()
        hosts = [value for name, value in self.headers if name == b"host"]
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        path = self.url.partition(b"?")[0].decode("latin-1")
        if version not in ("1.0", "1.1"):
            return 505, f"HTTP/{version} is not supported; use HTTP/1.1"
        if not hosts and version == "1.1":
            return 400, "the request has no Host header"
        if len(hosts) > 1:
            return 400, "the request has several Host headers"
        if hosts and not HOST.fullmatch(hosts[0]):
            host = hosts[0].decode("latin-1")
            return 400, f"Host: {host!r:.60} is not a name or address, with or without a port"
        if codings and codings[0].strip().lower() != b"chunked":
            return 501, "Transfer-Encoding: only chunked is supported"
        if self in self.surplus and path not in PROBES:
            return 503, self.surplus[self]
        return None

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if not self._is_refused:
            self._content += len(body)
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        if not self._is_refused:
            self._expect_nothing()
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP; they never reach the app."""
        self.refuse(400, msg)

    def _refuse_head(self) -> None:
        self.refuse(431, f"the headers are larger than {self.limits.max_head} bytes")

    def on_response_complete(self) -> None:
        """Start the next request, or end the connection if it was refused meanwhile."""
        super().on_response_complete()
        if self._is_refused:
            self._close_after_answers()

    def refuse(self, status: int, message: str) -> None:
        """Answer with an error after the earlier requests, and close the connection.

        If the answer to the faulty request itself was begun, only closing can signal the error.
        """
        if self._is_refused:
            return
        more = RETRY if status == 503 else {}
        answer = error_response(status, message, headers={"Connection": "close", **more})
        headers = b"".join(b"%s: %s\r\n" % h for h in with_security_headers(answer.raw_headers))
        line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
        self._end_with(b"%s%s\r\n%s" % (line, headers, answer.body))

    def _end_with(self, last_words: bytes) -> None:
        """Take no more requests; drop the one that is not complete, and answer those before it."""
        self._is_refused = True
        self._expect_nothing()
        self.surplus.pop(self, None)
        faulty: RequestResponseCycle | None = self.cycle  # None before the first request
        if faulty is not None and faulty.more_body and not faulty.response_complete:
            self._running.remove(faulty)
            self.pipeline = deque(waiting for waiting in self.pipeline if waiting[0] is not faulty)
            if faulty.response_started:
                last_words = b""
        self._last_words = last_words
        self._close_after_answers()

    def _close_after_answers(self) -> None:
        if all(cycle.response_complete for cycle in self._running):
            self.transport.write(self._last_words)
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
        if self._is_in_head:
            self.refuse(408, "the headers did not arrive in time")
        else:  # an idle connection, or a body
            self._end_with(b"")


def protocol_with(limits: ConnectionLimits) -> type[GuardedProtocol]:
    """Return the protocol with other limits and a count of its own."""
    members = {"limits": limits, "addresses": Counter(), "surplus": {}}
    return type(GuardedProtocol.__name__, (GuardedProtocol,), members)

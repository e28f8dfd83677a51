"""Limits and deadlines of connections, on a server with a tiny app."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, ClassVar

import pytest
import uvicorn

from barograph.service.protocol import GuardedProtocol, protocol_with
from barograph.service.settings import ConnectionLimits
from tests.service.servers import in_thread
from tests.shared import PATIENCE, wait_for

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


def test_requests_pass_and_connections_are_kept() -> None:
    with running(ConnectionLimits()) as port, connect(port) as stream:
        for _ in range(3):
            stream.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            assert reply(stream).endswith(b"5")


@pytest.mark.parametrize("piece", [b"X-A: b\r\n", b"X-A: " + b"c" * 1000])
def test_large_heads_answer_431_at_once(piece: bytes) -> None:
    head = b"GET / HTTP/1.1\r\nHost: x\r\n" + piece
    with running(ConnectionLimits()) as port, connect(port) as stream:
        stream.sendall(head)
        sent = len(head)
        try:
            while sent < 64 << 20:
                stream.sendall(piece * 100)
                sent += 100 * len(piece)
        except OSError:  # the server closed the connection
            pass
        assert sent < 32 << 20  # the buffers of both sides hold a few of these


def test_complete_head_beyond_the_limit_answers_431() -> None:
    with running(ConnectionLimits(max_head=2000)) as port:
        assert answer(ASK % b"" + b"", port).startswith(b"HTTP/1.1 200")
        refusal = answer(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: %s\r\n\r\n" % (b"a" * 3000), port)
        assert refusal.startswith(b"HTTP/1.1 431")
        assert b"the headers are larger than 2000 bytes" in refusal
        refusal = answer(b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 3000), port)
        assert refusal.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    ("head", "status", "message"),
    [
        (b"GET / HTTP/1.1", 400, b"the request has no Host header"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y", 400, b"several Host headers"),
        (b"GET / HTTP/1.1\r\nHost: x:abc", 400, b"Host: 'x:abc' is not a name"),
        (b"GET / HTTP/1.1\r\nHost: x/y", 400, b"Host: 'x/y' is not a name"),
        (b"GET / HTTP/1.1\r\nHost: [::1]y", 400, b"Host: '[::1]y' is not a name"),
        (b"GET http://u@x/ HTTP/1.1\r\nHost: x", 400, b"Host: 'u@x' is not a name"),
        (b"GET / HTTP/2.0\r\nHost: x", 505, b"HTTP/2.0 is not supported"),
        (b"GET /", 505, b"HTTP/0.9 is not supported"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked",
            501,
            b"only chunked is supported",
        ),
    ],
)
def test_heads_against_the_standard_are_refused(head: bytes, status: int, message: bytes) -> None:
    with running(ConnectionLimits()) as port:
        response = answer(head + b"\r\n\r\n", port)
        assert response.startswith(b"HTTP/1.1 %d " % status)
        assert message in response


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.0",
        b"GET / HTTP/1.1\r\nHost: x.example:8000",
        b"GET / HTTP/1.1\r\nHost: [::1]:8000",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n0",
    ],
)
def test_heads_of_other_forms_are_served(head: bytes) -> None:
    with running(ConnectionLimits()) as port:
        assert answer(head + b"\r\n\r\n", port).startswith(b"HTTP/1.1 200")


def test_host_of_the_target_replaces_the_host_header() -> None:
    with running(ConnectionLimits()) as port:
        response = answer(b"GET http://y:80/headers HTTP/1.1\r\nHost: x\r\n\r\n", port)
        assert response.endswith(b"host=y:80")
        response = answer(b"GET /headers?to=http://y HTTP/1.1\r\nHost: x\r\n\r\n", port)
        assert response.endswith(b"host=x")


CHUNKS = b"POST /headers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_trailers_are_no_headers() -> None:
    with running(ConnectionLimits()) as port:
        response = answer(
            CHUNKS + b"2\r\nab\r\n0\r\nAuthorization: Bearer t\r\nHost: y\r\n\r\n", port
        )
        assert response.endswith(b"host=x; transfer-encoding=chunked")


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"", b"1;%s\r\na\r\n" % (b"b" * 1000)), (b"1;", b"b" * 1000), (b"0\r\n", b"X: y\r\n" * 100)],
)
def test_chunks_with_little_content_are_refused(start: bytes, piece: bytes) -> None:
    with running(ConnectionLimits()) as port, connect(port) as stream:
        with suppress(OSError):  # the server closes the connection
            stream.sendall(CHUNKS + start)
            for _ in range(200):
                stream.sendall(piece * 100)
        assert b"the extensions of the chunks" in reply(stream)


def test_small_chunks_are_served() -> None:
    with running(ConnectionLimits(max_head=1000)) as port, connect(port) as stream:
        stream.sendall(CHUNKS.replace(b"/headers", b"/"))
        for _ in range(100):
            stream.sendall(b"1\r\na\r\n" * 500)
        stream.sendall(b"0\r\n\r\n")
        assert reply(stream).endswith(b"50000")


def test_bytes_that_are_not_http_are_refused() -> None:
    with running(ConnectionLimits()) as port:
        assert answer(b"\x16\x03\x01\x02\x00\r\n\r\n", port).startswith(b"HTTP/1.1 400")


def test_pipelined_requests_begin_once_the_earlier_ones_are_answered() -> None:
    with running(ConnectionLimits()) as port, connect(port) as stream:
        stream.sendall(ASK % b"late" + ASK % b"running" + ASK % b"late" + ASK % b"\x16")
        received = b"".join(iter(lambda: stream.recv(65_536), b""))
    bodies = [part.partition(b"\r\n\r\n")[2] for part in received.split(b"HTTP/1.1 ")[1:4]]
    assert bodies == [b"0", b"/running", b"0"]


FAULTY_REQUESTS = [
    b"\x16\x03\x01\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
]


@pytest.mark.parametrize("earlier", [b"late", b"slow"])
@pytest.mark.parametrize("faulty", FAULTY_REQUESTS)
def test_error_comes_after_the_answers_to_earlier_requests(earlier: bytes, faulty: bytes) -> None:
    with running(ConnectionLimits()) as port, connect(port) as stream:
        stream.sendall(ASK % earlier + ASK % b"" + faulty + ASK % b"")
        received = b"".join(iter(lambda: stream.recv(65_536), b""))
    head, *others = received.split(b"HTTP/1.1 ")[1:]
    assert head.startswith(b"200 ")
    assert head.endswith(b"\r\n\r\n0")
    assert [other[:4] for other in others] == [b"200 ", b"400 "]


def test_error_ends_the_connection_when_an_earlier_answer_is_never_complete() -> None:
    with running(ConnectionLimits()) as port, connect(port) as stream:
        stream.sendall(ASK % b"broken" + b"\x16\x03\x01\r\n\r\n")
        received = b"".join(iter(lambda: stream.recv(65_536), b""))
        assert received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
def test_faults_of_clients_leave_no_line_in_the_log(
    caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    caplog.set_level("INFO", "uvicorn.error")
    config = uvicorn.Config(
        app, port=0, http=protocol_with(ConnectionLimits()), lifespan="off", log_config=None
    )
    with in_thread(uvicorn.Server(config)) as port:
        caplog.clear()
        for _ in range(3):
            assert answer(sent, port).startswith(b"HTTP/1.1 ")
        assert [line.getMessage() for line in caplog.records if line.module != "server"] == []


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", b""),
        (b"GET / HT", b"HTTP/1.1 408"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe", b""),
    ],
)
def test_half_sent_requests_end_at_the_deadline(sent: bytes, expected: bytes) -> None:
    # Only the deadline that ends this request is short.
    is_head = not sent.startswith(b"POST")
    limits = ConnectionLimits(
        head_seconds=1.0 if is_head else PATIENCE, body_seconds=PATIENCE if is_head else 1.0
    )
    with running(limits) as port:
        began = time.monotonic()
        assert answer(sent, port, LIMIT).startswith(expected)
        assert time.monotonic() - began > 0.5


@pytest.mark.parametrize("first", [b"", b"late"])
def test_half_sent_head_after_a_request_ends_at_the_deadline(first: bytes) -> None:
    with running(ConnectionLimits(head_seconds=1.0)) as port, connect(port, LIMIT) as stream:
        stream.sendall(ASK % first)
        assert reply(stream).endswith(b"0")
        stream.sendall(b"GET / HT")
        assert reply(stream).startswith(b"HTTP/1.1 408")


def test_half_sent_head_during_an_answer_ends_as_an_idle_connection() -> None:
    with running(ConnectionLimits(), idle=1) as port, connect(port, LIMIT) as stream:
        stream.sendall(ASK % b"late" + b"GET / HT")
        assert reply(stream).endswith(b"0")
        assert not stream.recv(1)


def test_body_may_take_longer_than_a_head() -> None:
    with running(ConnectionLimits(head_seconds=0.5)) as port, connect(port) as stream:
        stream.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
        time.sleep(1.0)
        stream.sendall(b"b")
        assert reply(stream).endswith(b"2")


def test_answer_may_take_longer_than_a_head_or_a_body() -> None:
    limits = ConnectionLimits(head_seconds=0.1, body_seconds=0.1)
    with running(limits) as port, connect(port) as stream:
        for _ in range(2):
            stream.sendall(ASK % b"late")
            assert reply(stream).endswith(b"0")


def test_idle_connections_are_closed() -> None:
    with running(ConnectionLimits(), idle=1) as port, connect(port, LIMIT) as stream:
        stream.sendall(ASK % b"")
        assert reply(stream).endswith(b"0")
        assert not stream.recv(1)


class _Unpaused(GuardedProtocol):
    """The protocol on a connection that takes whole answers at once, whoever reads them."""

    limits = ConnectionLimits(answer_seconds=1.0)
    addresses: ClassVar[Counter[str]] = Counter()
    surplus: ClassVar[dict[GuardedProtocol, str]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.set_write_buffer_limits(high=2 * LARGE)
        super().connection_made(transport)


def test_idle_connection_with_an_unread_answer_is_ended() -> None:
    server = running(_Unpaused.limits, idle=1, protocol=_Unpaused)
    with server as port, connect(port, LIMIT) as stream:
        stream.sendall(ASK % b"large")
        stream.recv(1)
        wait_for(lambda: not _Unpaused.addresses, LIMIT)  # the server gave the connection back


@pytest.mark.parametrize(("pause", "is_read"), [(0.01, True), (3.0, False)])
def test_unread_answer_ends_the_connection(pause: float, *, is_read: bool) -> None:
    with running(ConnectionLimits(answer_seconds=1.5)) as port, connect(port) as stream:
        stream.sendall(ASK % b"large")
        size = len(stream.recv(1 << 18))
        with suppress(ConnectionResetError):
            while size <= LARGE:
                time.sleep(pause)
                pause = min(pause, 0.01)
                if not (piece := stream.recv(1 << 18)):
                    break
                size += len(piece)
        assert (size > LARGE) is is_read


def test_hanging_up_after_many_requests_is_no_fault_of_the_app() -> None:
    FAULTS.clear()
    with running(ConnectionLimits()) as port:
        with connect(port) as stream:
            stream.sendall(ASK % b"wait" * 20)
            stream.recv(10)
        time.sleep(0.2)
        assert answer(ASK % b"", port).endswith(b"0")
    assert not FAULTS


def test_blank_lines_do_not_keep_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = protocol_with(ConnectionLimits())
    with running(protocol.limits, protocol=protocol) as port, connect(port, LIMIT) as stream:
        stream.sendall(ASK % b"")
        assert reply(stream).endswith(b"0")
        monkeypatch.setattr(protocol, "limits", ConnectionLimits(head_seconds=0.01))
        stream.sendall(b"\r\n")
        assert not stream.recv(1)


def test_one_address_may_not_take_all_connections() -> None:
    with running(ConnectionLimits(per_address=2)) as port:
        with connect(port) as first, connect(port) as second:
            for stream in (first, second):
                stream.sendall(ASK % b"")
                assert reply(stream).startswith(b"HTTP/1.1 200")
            refusal = answer(ASK % b"", port)
            assert refusal.startswith(b"HTTP/1.1 503")
            assert b"too many connections from 127.0.0.1" in refusal
            assert b"retry-after: " in refusal
            assert answer(ASK % b"health", port).startswith(b"HTTP/1.1 200")
        wait_for(lambda: answer(ASK % b"", port).startswith(b"HTTP/1.1 200"))


def test_silent_connections_do_not_keep_the_room_for_health() -> None:
    with running(ConnectionLimits(total=1, reserved=2)) as port, ExitStack() as stack:
        silent = [stack.enter_context(connect(port)) for _ in range(4)]
        assert reply(silent[1]).startswith(b"HTTP/1.1 503")  # the oldest beyond the limit
        assert answer(ASK % b"health", port).startswith(b"HTTP/1.1 200")
        assert reply(silent[2]).startswith(b"HTTP/1.1 503")


def test_trusted_proxies_have_any_number_of_connections() -> None:
    limits = ConnectionLimits(per_address=1, trusted_proxies=frozenset(["127.0.0.1"]))
    with running(limits) as port, connect(port):
        assert answer(ASK % b"", port).startswith(b"HTTP/1.1 200")


def test_proxy_is_exempt_from_the_limit_and_other_addresses_are_not() -> None:
    limits = ConnectionLimits(per_address=1, trusted_proxies=frozenset(["127.0.0.2"]))
    with running(limits) as port, connect(port) as first:
        first.sendall(ASK % b"")
        assert reply(first).startswith(b"HTTP/1.1 200")
        assert answer(ASK % b"", port).startswith(b"HTTP/1.1 503")


def test_health_is_answered_when_all_connections_are_taken() -> None:
    with running(ConnectionLimits(total=2, reserved=1)) as port:
        held = [connect(port), connect(port)]
        for stream in held:
            stream.sendall(ASK % b"")
            reply(stream)
        assert answer(ASK % b"health", port).startswith(b"HTTP/1.1 200")
        time.sleep(0.05)
        assert answer(ASK % b"api/v1/series", port).startswith(b"HTTP/1.1 503")
        for stream in held:
            stream.close()


def test_connections_are_fewer_where_few_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    assert ConnectionLimits().allowed == 80
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 20, 1 << 20))
    assert ConnectionLimits().allowed == 2000

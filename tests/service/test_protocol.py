"""What the protocol accepts and refuses, on a server with a tiny app."""

from contextlib import suppress

import pytest
import uvicorn

from barograph.server.web.protocol import protocol_with
from barograph.server.web.settings import ConnectionLimits
from tests.service.servers import in_thread
from tests.service.sockets import ASK, answer, app, connect, reply, running


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

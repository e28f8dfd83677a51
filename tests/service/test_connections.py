"""Deadlines of connections, and how many there may be, on a server with a tiny app."""

import asyncio
import time
from collections import Counter
from contextlib import ExitStack, suppress
from typing import ClassVar

import pytest

from barograph.server.web.protocol import GuardedProtocol, protocol_with
from barograph.server.web.settings import ConnectionLimits
from tests.service.sockets import ASK, FAULTS, LARGE, LIMIT, answer, connect, reply, running
from tests.shared import PATIENCE, wait_for


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

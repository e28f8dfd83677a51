"""The server behind a proxy that ends TLS, and on IPv6."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse

from barograph.server.store import Store, tokens
from barograph.server.store.tokens import Scope
from barograph.server.web.app import create_app
from barograph.server.web.middleware import HEADERS
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.server import make_server, run_server
from barograph.server.web.settings import Settings
from tests.service.servers import in_thread
from tests.shared import PATIENCE, wait_for
from tests.sources.server import running

BURST = 2
Get = Callable[..., httpx2.Response]
WRONG = {"Authorization": "Bearer baro_wrong"}


async def _seen(request: Request) -> JSONResponse:
    assert request.client is not None
    return JSONResponse({"client": request.client.host, "scheme": request.url.scheme})


@pytest.fixture
def trusted() -> frozenset[str]:
    """The proxies that the service trusts."""
    return frozenset()


@pytest.fixture
def app(tmp_path: Path, trusted: frozenset[str]) -> Iterator[FastAPI]:
    """A service with a token, and a route that answers how it sees its client."""
    with Store(str(tmp_path / "store.db")) as store:
        store.write(lambda c: tokens.create(c, "any", [Scope.READ], "test"))
        watch = ModelWatch(tmp_path / "none.baro")
        settings = Settings(rate=0.001, burst=BURST, trusted_proxies=trusted)
        app = create_app(store, watch, settings)
        app.add_route("/seen", _seen)
        yield app


@contextmanager
def serving(app: FastAPI, host: str) -> Iterator[int]:
    """The server in a thread; yields its port."""
    server = make_server(app, host, 0)
    server.config.lifespan = "off"  # no model is needed
    with in_thread(server) as port:
        yield port


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and its certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls")
    subprocess.run(  # noqa: S603 - fixed arguments
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path / "key"),
            *("-out", path / "certificate"),
        ],
        check=True,
        capture_output=True,
    )
    both = path / "both.pem"
    both.write_bytes((path / "key").read_bytes() + (path / "certificate").read_bytes())
    return both


@contextmanager
def tls_proxy(certificate: Path, port: int) -> Iterator[int]:
    """A proxy that ends TLS and adds the address of its peer to X-Forwarded-For."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            peer = self.client_address[0]
            headers = dict(self.headers.items()) | {"X-Forwarded-Proto": "https"}
            before = headers.get("X-Forwarded-For")
            headers["X-Forwarded-For"] = f"{before}, {peer}" if before else peer
            line = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            line.request("GET", self.path, headers=headers)
            answer = line.getresponse()
            body = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            line.close()

        def log_message(self, *_: Any) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.socket = context.wrap_socket(proxy.socket, server_side=True)
    with running(proxy):
        yield proxy.server_address[1]


@contextmanager
def proxied(app: FastAPI, certificate: Path) -> Iterator[Get]:
    """Yield a function that asks through the proxy, from any address of this machine."""
    context = ssl.create_default_context(cafile=certificate)
    with serving(app, "127.0.0.1") as port, tls_proxy(certificate, port) as public:

        def get(path: str, source: str, headers: dict[str, str] | None = None) -> httpx2.Response:
            transport = httpx2.HTTPTransport(verify=context, local_address=source)
            with httpx2.Client(transport=transport, timeout=PATIENCE) as client:
                return client.get(f"https://127.0.0.1:{public}{path}", headers=headers)

        yield get


@pytest.mark.parametrize("trusted", [frozenset(["127.0.0.1"])])
def test_trusted_proxy_names_the_client_and_its_scheme(app: FastAPI, certificate: Path) -> None:
    with proxied(app, certificate) as get:
        answer = get("/seen", "127.0.0.2", {"X-Forwarded-For": "10.9.9.9"})
        assert answer.json() == {"client": "127.0.0.2", "scheme": "https"}
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        # Wrong tokens of one client do not lock out another, whatever it claims about itself.
        claims = [WRONG | {"X-Forwarded-For": f"10.0.0.{k}"} for k in range(BURST + 1)]
        codes = [get("/api/v1/series", "127.0.0.2", headers).status_code for headers in claims]
        assert codes == [401, 401, 429]
        assert get("/api/v1/series", "127.0.0.3", WRONG).status_code == 401


def test_headers_of_a_proxy_that_is_not_trusted_are_ignored(
    app: FastAPI, certificate: Path
) -> None:
    with proxied(app, certificate) as get:
        assert get("/seen", "127.0.0.2").json() == {"client": "127.0.0.1", "scheme": "http"}
        codes = [get("/api/v1/series", f"127.0.0.{k + 2}", WRONG).status_code for k in range(3)]
        assert codes == [401, 401, 429]


def end(server: uvicorn.Server) -> None:
    """Send SIGTERM to this process once the server runs."""
    wait_for(lambda: server.started)
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_sigterm_closes_the_store_and_exits_with_0(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    child = os.fork()
    if child == 0:
        code = 99
        try:
            with Store(str(path)) as store:
                store.write(lambda c: tokens.create(c, "any", [Scope.READ], "test"))
                app = create_app(store, ModelWatch(tmp_path / "none.baro"), Settings())
                server = make_server(app, "127.0.0.1", 0)
                server.config.lifespan = "off"
                threading.Thread(target=end, args=(server,), daemon=True).start()
                code = 0 if run_server(server) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert path.exists()
    assert not path.with_name("store.db-wal").exists()  # written back and closed


def test_client_that_hangs_up_in_a_body_leaves_a_line_for_debugging(
    app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    async def read(request: Request) -> JSONResponse:
        return JSONResponse({"size": len(await request.body())})

    app.add_route("/body", read, methods=["POST"])
    caplog.set_level("DEBUG", "barograph.server.web")
    head = b"POST /body HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf"
    with serving(app, "127.0.0.1") as port:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
            line.sendall(head)
        wait_for(lambda: caplog.records, 60.0)
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert lines == [("DEBUG", "POST /body: the client hung up")]


def test_server_listens_on_ipv6(app: FastAPI) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(app, "::1") as port:
        answer = httpx2.get(f"http://[::1]:{port}/seen", timeout=PATIENCE)
        assert answer.json() == {"client": "::1", "scheme": "http"}


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    ],
)
def test_bytes_that_are_not_http_answer_400(app: FastAPI, sent: bytes) -> None:
    with serving(app, "127.0.0.1") as port:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
            line.sendall(sent)
            received = b"".join(iter(lambda: line.recv(65_536), b""))
        assert received.startswith(b"HTTP/1.1 400 ")
        assert httpx2.get(f"http://127.0.0.1:{port}/health", timeout=PATIENCE).status_code == 200


def test_endless_head_is_refused(app: FastAPI) -> None:
    with (
        serving(app, "127.0.0.1") as port,
        socket.create_connection(("127.0.0.1", port), PATIENCE) as line,
    ):
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        sent = 0
        with suppress(OSError):  # the server closes the connection
            while sent < 32 << 20:  # the buffers of both sides hold less
                line.sendall(b"X-A: " + b"b" * 10_000 + b"\r\n")
                sent += 10_007
        assert sent < 32 << 20


def test_connections_are_limited(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barograph.server.web.server.CONNECTIONS", 3)
    with serving(app, "127.0.0.1") as port, ExitStack() as stack:
        url = f"http://127.0.0.1:{port}/health"
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        wait_for(lambda: httpx2.get(url, timeout=PATIENCE).status_code == 503)
        stack.close()
        wait_for(lambda: httpx2.get(url, timeout=PATIENCE).status_code == 200)


def test_pipelined_requests_meet_the_rate_limit(app: FastAPI) -> None:
    request = b"GET /api/v1/series HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with (
        serving(app, "127.0.0.1") as port,
        socket.create_connection(("127.0.0.1", port), PATIENCE) as line,
    ):
        line.sendall(request * 19 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = b"".join(iter(lambda: line.recv(65_536), b""))
    assert received.count(b"HTTP/1.1 401") == BURST
    assert received.count(b"HTTP/1.1 429") == 20 - BURST

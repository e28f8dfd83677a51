"""nginx with the configuration of the documentation, in front of the service."""

import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from getpass import getuser
from pathlib import Path

import httpx2
import pytest

from barograph.server.store import Store
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.server import make_server
from barograph.server.web.settings import Settings
from tests.service.servers import in_thread
from tests.shared import PATIENCE, wait_for

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
NAME = "bench.example.org"
FRAME = """
user {user};
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""
LIMIT = 40.0  # seconds until a deadline of 10 s counts as missing
BODY = b"POST /api/v1/points HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n" % (
    NAME.encode()
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def configured(folder: Path, port: int, public: int) -> Path:
    """The configuration of the documentation, with the ports and the certificate of this test."""
    [server] = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for documented, ours in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{public} ssl;"),
        ("127.0.0.1:8000", f"127.0.0.1:{port}"),
        (f"/etc/ssl/{NAME}.pem", str(folder / "certificate")),
        (f"/etc/ssl/{NAME}.key", str(folder / "key")),
    ):
        assert documented in server
        server = server.replace(documented, ours)
    path = folder / "nginx.conf"
    path.write_text(FRAME.format(user=getuser(), folder=folder, server=server))
    return path


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of nginx in front of a service."""
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    folder.chmod(0o755)
    subprocess.run(  # noqa: S603 - fixed arguments
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"),
            *("-keyout", folder / "key", "-out", folder / "certificate"),
        ],
        check=True,
        capture_output=True,
    )
    settings = Settings(allowed_hosts=frozenset([NAME]), trusted_proxies=frozenset(["127.0.0.1"]))
    with Store(str(folder / "store.db")) as store:
        server = make_server(
            create_app(store, ModelWatch(folder / "none.baro"), settings), "127.0.0.1", 0
        )
        server.config.lifespan = "off"
        with in_thread(server) as port, proxy(folder, port) as public:
            yield public


@contextmanager
def proxy(folder: Path, port: int) -> Iterator[int]:
    """Run nginx in front of a port; yields its own."""
    public = free_port()
    command = ["nginx", "-c", str(configured(folder, port, public))]
    process = subprocess.Popen(command)  # noqa: S603 - fixed arguments
    try:
        wait_for(lambda: process.poll() is not None or answers(public))
        assert process.poll() is None, (folder / "error.log").read_text()
        yield public
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    with suppress(OSError), connect(port) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME.encode())
        return line.recv(100).startswith(b"HTTP/1.1 200")
    return False


def connect(port: int) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=LIMIT))


def rest(line: ssl.SSLSocket) -> bytes:
    """Everything until the other side hangs up."""
    received = b""
    with suppress(ssl.SSLError, ConnectionError):  # hung up without a farewell of TLS
        while piece := line.recv(65_536):
            received += piece
    return received


def test_slow_heads_and_bodies_are_cut_while_others_are_served(public: int) -> None:
    with connect(public) as silent, connect(public) as head, connect(public) as body:
        head.sendall(b"GET /health HTTP/1.1\r\nHo")
        body.sendall(BODY + b"Content-Length: 100\r\n\r\n[")
        began = time.monotonic()
        assert answers(public)
        assert time.monotonic() - began < PATIENCE
        for line in (silent, head, body):
            assert not rest(line).startswith(b"HTTP/1.1 2")
        assert time.monotonic() - began < LIMIT
    assert answers(public)


@pytest.mark.parametrize("length", ["Content-Length: 99999999999", "Transfer-Encoding: chunked"])
def test_endless_bodies_are_cut(public: int, length: str) -> None:
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    with connect(public) as line:
        line.sendall(BODY + length.encode() + b"\r\n\r\n")
        with suppress(OSError):  # nginx may hang up
            for _ in range(320):  # 20 MiB
                line.sendall(piece)
        assert line.recv(12) == b"HTTP/1.1 413"
    assert answers(public)


def test_endless_heads_are_refused(public: int) -> None:
    with connect(public) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: %s\r\nX-A: " % NAME.encode())
        with suppress(OSError):
            for _ in range(10):
                line.sendall(b"a" * 10_000)
        assert line.recv(12) == b"HTTP/1.1 400"
    assert answers(public)


def test_connections_of_one_address_are_limited(public: int) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            line = stack.enter_context(connect(public))
            line.sendall(BODY + b"Content-Length: 5\r\n\r\n[")
        wait_for(lambda: not answers(public))
    wait_for(lambda: answers(public))


def test_pages_arrive_compressed(public: int) -> None:
    transport = httpx2.HTTPTransport(verify=False)
    with httpx2.Client(transport=transport, timeout=PATIENCE) as client:
        answer = client.get(f"https://127.0.0.1:{public}/sign-in", headers={"Host": NAME})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-type"].startswith("text/html")

"""The HTTP server that runs the app, and how it ends.

The server limits connections and the size of a head, and the app limits bodies. A proxy limits the
time that clients may take, see docs/service.md.
"""

import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

GRACE = 10  # seconds that running requests may take after a signal to end
CONNECTIONS = 500  # requests on further ones are answered with 503
MAX_HEAD = 65_536  # bytes of a request line with its headers


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: Callable[[str], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening(address(self.config.host, self.servers[0].sockets[0].getsockname()[1]))


def make_server(
    app: FastAPI, host: str, port: int, listening: Callable[[str], None] = lambda _: None
) -> uvicorn.Server:
    """Return a server that is not started yet.

    Args:
        app: The app, see `create_app`.
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        listening: Called with the URL once the server listens.
    """
    return _Server(
        uvicorn.Config(
            app,
            http="h11",  # the other implementation of uvicorn takes heads of any size
            h11_max_incomplete_event_size=MAX_HEAD,
            limit_concurrency=CONNECTIONS,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the app reads those of its trusted proxies
            timeout_graceful_shutdown=GRACE,
        ),
        listening,
    )


def run_server(server: uvicorn.Server) -> bool:
    """Run a server until SIGTERM or SIGINT; return whether it could listen.

    After SIGTERM the caller goes on, closes what it opened, and exits with 0. SIGINT raises
    KeyboardInterrupt once the server has ended.
    """
    former = signal.signal(signal.SIGTERM, _exit)
    try:
        server.run()
    except SystemExit as exit_:
        return not exit_.code
    finally:
        signal.signal(signal.SIGTERM, former)
    return True


def _exit(_signal: int, _frame: FrameType | None) -> None:
    # Uvicorn sends itself the signal again after its own shutdown.
    sys.exit(0)


def address(host: str, port: int) -> str:
    """Return the URL of an address.

    >>> address("::1", 8000)
    'http://[::1]:8000'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

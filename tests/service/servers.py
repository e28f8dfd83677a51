"""A server of uvicorn in a thread of the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from tests.shared import wait_for


@contextmanager
def in_thread(server: uvicorn.Server) -> Iterator[int]:
    """Run a server; yields its port."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        assert server.started, "the server did not start"
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()

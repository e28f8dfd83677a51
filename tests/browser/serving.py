"""A service in this process, over a store of its own, that a browser can reach."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from barograph.service import ModelWatch, Retraining, Settings, create_app
from barograph.store import Store
from tests.service.models import small_model

Fill = Callable[[Store], object]
STARTING = 30.0  # seconds


@contextmanager
def serving(
    folder: Path,
    fill: Fill | None = None,
    settings: Settings | None = None,
    retraining_of: Callable[[Store, Path], Retraining] | None = None,
) -> Iterator[str]:
    """Start a service on a free port; yield its URL, without a slash at the end.

    Args:
        folder: Empty folder for the store and the model.
        fill: Called with the open store before the service starts.
        settings: Limits of the service.
        retraining_of: Returns what retrains; without it nothing does.
    """
    artifact = folder / "online.baro"
    small_model().save(artifact)
    watch = ModelWatch(artifact)
    with Store(str(folder / "store.db"), watch.start().judge) as store:
        if fill is not None:
            fill(store)
        retraining = None if retraining_of is None else retraining_of(store, folder)
        app = create_app(store, watch, settings, retraining=retraining)
        # The browser keeps its connections open, so the server must not wait for their end.
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        with _listening(config) as port:
            yield f"http://127.0.0.1:{port}"


@contextmanager
def _listening(config: uvicorn.Config) -> Iterator[int]:
    """Run the server in a thread; yield its port once it answers."""
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="board", daemon=True
        )
        thread.start()
        try:
            deadline = time.monotonic() + STARTING
            while not server.started:
                if not thread.is_alive() or time.monotonic() > deadline:
                    raise RuntimeError("the service did not start")
                time.sleep(0.005)
            yield int(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(STARTING)

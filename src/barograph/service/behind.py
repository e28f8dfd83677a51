"""The look behind the requests has a process of its own: no request waits for its computing.

It talks to the store by itself, is started anew when it dies, and ends with the service, however
that ends.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from barograph.detection.base import Detector
from barograph.service.garbage import settle
from barograph.service.looking import Looking
from barograph.store import Store
from barograph.store.nobody import Nobody

LOG = logging.getLogger("barograph.service")
NICE = 10  # the requests come first
GRACE = 5.0  # seconds that a round has to end in
PATIENCE = (1.0, 60.0)  # seconds before a dead one is started anew, at first and at most


@dataclass(frozen=True)
class Task:
    """What the process works with; see `Looking`."""

    url: str
    detector: Detector
    name: str
    path: Path | None
    pause: float = 1.0
    cluster_pause: float = 60.0


class Behind:
    """Keeps a process at the task while the service runs."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None
        self._keeper = threading.Thread(target=self._keep, name="barograph-looking", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process, where there is one."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Begin."""
        self._keeper.start()

    def stop(self) -> None:
        """Let the process end its round, and end it."""
        self._stop.set()
        with self._lock:
            if self._line is not None:
                self._line.close()
        self._keeper.join(GRACE)
        if self._process is not None and self._process.is_alive():
            self._process.terminate()

    def _keep(self) -> None:
        wait, most = PATIENCE
        while not self._stop.is_set():
            process = self._begin()
            if process is None:
                return
            process.join()
            if not self._stop.is_set():
                LOG.warning("the look behind the requests ended (%s)", process.exitcode)
            self._stop.wait(wait)
            wait = min(most, 2 * wait)

    def _begin(self) -> SpawnProcess | None:
        """Start a process that ends when our end of its line is closed, by us or by our death."""
        context = get_context("spawn")
        theirs, mine = context.Pipe(duplex=False)
        level = LOG.getEffectiveLevel()
        process = context.Process(
            target=work, args=(self._task, theirs, level), name="barograph-looking", daemon=True
        )
        with self._lock:
            if self._stop.is_set():
                return None
            process.start()
            theirs.close()
            self._process, self._line = process, mine
        return process


def work(task: Task, line: Connection, level: int) -> None:
    """Look again and again until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C asks the service, and that asks us
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with suppress(AttributeError, OSError):  # not every system knows it
        os.nice(NICE)
    stop = threading.Event()
    threading.Thread(target=_listen, args=(line, stop), daemon=True).start()
    with Store(task.url, Nobody()) as store:
        looking = Looking(
            store,
            task.detector,
            task.name,
            task.path,
            pause=task.pause,
            cluster_pause=task.cluster_pause,
        )
        looking.refresher()  # loads the model, which stays
        settle()
        looking.run(stop)


def _listen(line: Connection, stop: threading.Event) -> None:
    """Wait for the end of the service; what is not done soon after it is given up."""
    with suppress(EOFError, OSError):
        line.recv_bytes()
    stop.set()
    time.sleep(GRACE)
    sys.stderr.flush()
    os._exit(0)  # the store is made for it: a transaction is whole, or not at all

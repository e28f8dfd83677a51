"""Background refresh of candidates and clusters.

The refresh runs in a separate process, so requests wait only for its short writes. The process
opens the store itself, is restarted when it dies, and ends with the service, however that ends.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from barograph.detection import ClusterSettings
from barograph.detection.base import Detector
from barograph.runtime.errors import StoreError
from barograph.server.store import Store
from barograph.server.triage.clusters import recluster
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.web.model_watch import CandidateModel

LOG = logging.getLogger("barograph.server.web")
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
NICE = 10
GRACE = 5.0  # seconds that a running round may take after a stop
RESTART_DELAYS = (1.0, 60.0)  # seconds: the first, and the longest
BATCH = 50  # series of one transaction, which stays too short to delay requests


@dataclass(frozen=True)
class WorkerConfig:
    """What the background process refreshes, and how often.

    Args:
        url: Location of the store.
        detector: Detector that finds the candidates.
        name: Name of the detector in the candidates.
        path: Released label-free model; the built-in model is used while there is no file.
        pause: Seconds between two rounds.
        cluster_pause: Seconds between two rounds that also recompute clusters.
        cluster_settings: How clusters are searched for.
    """

    url: str
    detector: Detector
    name: str
    path: Path | None
    pause: float = 1.0
    cluster_pause: float = 60.0
    cluster_settings: ClusterSettings = ClusterSettings()  # noqa: RUF009 - it is frozen


class RefreshLoop:
    """Keeps candidates and clusters up to date with the points.

    Args:
        store: Store with the points.
        config: What to refresh, and how often.
    """

    def __init__(self, store: Store, config: WorkerConfig) -> None:
        self._store = store
        self._config = config
        self._projects: set[str] = set()  # whose clusters are out of date
        self._model = CandidateModel(config.path)
        self._refresher: CandidateRefresher | None = None

    def refresher(self) -> CandidateRefresher:
        """Return the detector with the newest model."""
        model = self._model.newest()
        if self._refresher is None or self._refresher.model is not model:
            self._refresher = CandidateRefresher(self._config.detector, self._config.name, model)
        return self._refresher

    def run_once(self, *, clusters: bool, stop: threading.Event | None = None) -> None:
        """Refresh all series that changed; after a stop, start no other transaction."""
        stop = stop or threading.Event()
        count = BATCH
        while count == BATCH and not stop.is_set():
            refreshed = self.refresher().refresh(self._store, BATCH)
            self._projects |= refreshed.projects
            count = refreshed.series
        if clusters:
            for project in sorted(self._projects):
                if not stop.is_set():
                    recluster(self._store, project, self._config.cluster_settings)
                    self._projects.discard(project)

    def run(self, stop: threading.Event) -> None:
        """Refresh until the stop."""
        clustered = time.monotonic()
        while not stop.wait(self._config.pause):
            clusters = time.monotonic() - clustered >= self._config.cluster_pause
            try:
                self._store.write_back()  # first, for a full disk fails the refresh
                self.run_once(clusters=clusters, stop=stop)
            # The points are safe and the series still marked: the next round tries again.
            except StoreError as error:
                LOG.warning("the refresh of candidates failed: %s", error)
            except Exception:
                LOG.exception("the refresh of candidates failed")
            if clusters:
                clustered = time.monotonic()


class BackgroundWorker:
    """Runs a `RefreshLoop` in another process, and restarts it when it dies."""

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._thread = threading.Thread(
            target=self._supervise, name="barograph-refresh", daemon=True
        )

    @property
    def pid(self) -> int | None:
        """The id of the process, if it was started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process."""
        self._thread.start()

    def stop(self) -> None:
        """Let the process finish its round, and end it."""
        self._stop.set()
        with self._lock:
            if self._pipe is not None:
                self._pipe.close()
            if self._process is not None:
                self._process.terminate()  # at once if it is still starting; see `_work`
        self._thread.join(GRACE)
        if self._process is not None and self._process.is_alive():
            self._process.kill()
            self._process.join(GRACE)  # as long as it has the store open, its log stays

    def _supervise(self) -> None:
        delay, longest = RESTART_DELAYS
        while not self._stop.is_set():
            process = self._start_process()
            if process is None:
                return
            process.join()
            if not self._stop.is_set():
                LOG.warning("the refresh process exited with code %s", process.exitcode)
            self._stop.wait(delay)
            delay = min(longest, 2 * delay)

    def _start_process(self) -> SpawnProcess | None:
        level = LOG.getEffectiveLevel()
        with self._lock:
            if self._stop.is_set():
                return None
            self._process, self._pipe = start_child(
                _work, self.config, level, name="barograph-refresh", daemon=True
            )
        return self._process


def start_child(
    work: Callable[..., None], *arguments: object, name: str, daemon: bool = False
) -> tuple[SpawnProcess, Connection]:
    """Start a process, and return it with our end of a pipe.

    Our end is closed by us or by our death, and the process ends with it.

    Args:
        work: What the process does; it gets the other end of the pipe, then the arguments.
        arguments: What can be pickled.
        name: Name of the process.
        daemon: Whether it can have no processes of its own, and is terminated when we exit.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *arguments), name=name, daemon=daemon)
    try:
        process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def set_up_child(level: int) -> None:
    """Prepare a process that `start_child` started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the service, which stops us
    logging.basicConfig(level=level, format=LOG_FORMAT)


def lower_priority() -> None:
    """Let requests go first."""
    with suppress(AttributeError, OSError):  # not every system has it
        os.nice(NICE)


def _work(pipe: Connection, config: WorkerConfig, level: int) -> None:
    """Refresh until the pipe is closed."""
    set_up_child(level)
    stop = threading.Event()
    # In a thread: this one may hold the lock of the stop when the signal interrupts it.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop.set).start())
    threading.Thread(target=_wait_for_close, args=(pipe, stop), daemon=True).start()
    with Store(config.url) as store:
        # On Linux a thread has a priority of its own, and the writing thread of the store keeps
        # that of the service: on a busy machine it would hold the lock that requests wait for.
        lower_priority()
        RefreshLoop(store, config).run(stop)
    _exit()  # without tidying up, which takes seconds at this priority on a busy machine


def _wait_for_close(pipe: Connection, stop: threading.Event) -> None:
    """Set the stop once the pipe is closed; exit if the round does not end in time."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    stop.set()
    time.sleep(GRACE)
    _exit()  # transactions are atomic: nothing is half done


def _exit() -> None:
    sys.stderr.flush()
    os._exit(0)

"""Background work: candidates and clusters follow the points, in a process of their own.

Requests wait only for its short writes. The process opens the store itself, is started again when
it dies, and ends with the service, however that ends. It may be killed at any moment: transactions
are atomic, and the series of an unfinished round are still marked.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING

from barograph.detection import ClusterSettings
from barograph.detection.base import Detector
from barograph.runtime.errors import StoreError
from barograph.server.store import Store
from barograph.server.triage.clusters import recluster
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.web.model_watch import CandidateModel

if TYPE_CHECKING:
    from barograph.learning.retrain import RetrainParams

LOG = logging.getLogger("barograph.server.web")
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
NICE = 10
RESTART_DELAY = 1.0  # seconds
BATCH = 50  # series of one transaction, which stays too short to delay requests


@dataclass(frozen=True)
class WorkerConfig:
    """What the background processes refresh and retrain, and how often.

    Args:
        url: Location of the store.
        detector: Detector that finds the candidates.
        name: Name of the detector in the candidates.
        path: Released label-free model; the built-in model is used while there is no file. Other
            models are released to its folder.
        pause: Seconds between two rounds.
        cluster_pause: Seconds between two rounds that also recompute clusters.
        cluster_settings: How clusters are searched for.
        params: Returns how models are learned; called in the process. None offers no retraining.
    """

    url: str
    detector: Detector
    name: str
    path: Path | None
    pause: float = 1.0
    cluster_pause: float = 60.0
    cluster_settings: ClusterSettings = ClusterSettings()  # noqa: RUF009 - it is frozen
    params: Callable[[], RetrainParams] | None = None


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

    def run_once(self, *, clusters: bool) -> None:
        """Refresh all series that changed, with the newest model."""
        config = self._config
        refresher = CandidateRefresher(config.detector, config.name, self._model.newest())
        count = BATCH
        while count == BATCH:
            refreshed = refresher.refresh(self._store, BATCH)
            self._projects |= refreshed.projects
            count = refreshed.series
        for project in sorted(self._projects) if clusters else ():
            recluster(self._store, project, config.cluster_settings)
            self._projects.discard(project)

    def run(self) -> None:
        """Refresh until the process is killed."""
        clustered = time.monotonic()
        while True:
            time.sleep(self._config.pause)
            clusters = time.monotonic() - clustered >= self._config.cluster_pause
            try:
                self.run_once(clusters=clusters)
            # The points are safe and the series still marked: the next round tries again.
            except StoreError as error:
                LOG.warning("the refresh of candidates failed: %s", error)
            except Exception:
                LOG.exception("the refresh of candidates failed")
            if clusters:
                clustered = time.monotonic()


class BackgroundWorker:
    """Refreshes in another process, and starts it again when it dies."""

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self._is_stopped = threading.Event()
        self._starting = threading.Lock()
        self._process: SpawnProcess | None = None  # while it runs
        self._thread = threading.Thread(target=self._supervise, name="barograph-work", daemon=True)

    @property
    def pid(self) -> int | None:
        """The id of the process, if it runs."""
        process = self._process
        return process.pid if process is not None else None

    def start(self) -> None:
        """Start the process."""
        self._thread.start()

    def stop(self) -> None:
        """End the process."""
        with self._starting:
            self._is_stopped.set()
            if self._process is not None:
                kill(self._process)
        self._thread.join()  # as long as the process has the store open, its log stays

    def _supervise(self) -> None:
        while not self._is_stopped.wait(0.0 if self._process is None else RESTART_DELAY):
            with self._starting:
                if self._is_stopped.is_set():
                    return
                process = self._process = start_child(_refresh, self.config)
            process.join()
            if not self._is_stopped.is_set():
                LOG.warning("the background process exited with code %s", process.exitcode)


def start_child(work: Callable[..., None], *arguments: object) -> SpawnProcess:
    """Start a process that ends with this one, and with all of its own processes.

    Args:
        work: What the process does.
        arguments: What can be pickled.
    """
    call = LOG.getEffectiveLevel(), work, arguments
    process = get_context("spawn").Process(target=_run, args=call, name="barograph-work")
    process.start()
    return process


def kill(process: SpawnProcess) -> None:
    """Kill a process of `start_child` with all of its processes, even while it is starting."""
    with suppress(AttributeError, OSError):  # not every system has groups; it may have ended
        if process.pid is not None and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _run(level: int, work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """Do the work of a child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the service, which stops us
    with suppress(AttributeError, OSError):  # not every system has it
        os.setpgrp()  # so that all processes of a training end together
    logging.basicConfig(level=level, format=LOG_FORMAT)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(*arguments)
    _end()  # without tidying up, which takes seconds at a low priority on a busy machine


def _end_with_parent() -> None:
    """Wait for the end of the service, and end this process with all of its processes."""
    if (parent := parent_process()) is not None:
        parent.join()
    _end()


def _end() -> None:
    """End this process with all of its processes."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _refresh(config: WorkerConfig) -> None:
    with Store(config.url) as store:
        lower_priority()
        RefreshLoop(store, config).run()


def lower_priority() -> None:
    """Compute at a low priority from now on.

    On Linux a thread has a priority of its own, and the writing thread of an open store keeps that
    of the service: on a busy machine it would hold the lock that requests wait for.
    """
    with suppress(AttributeError, OSError):  # not every system has it
        os.nice(NICE)

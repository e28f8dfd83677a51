"""Background work: the refresh of candidates and clusters, and retraining on request.

One process does it, so requests wait only for its short writes. The process opens the store itself,
is restarted when it dies, and ends with the service, however that ends. A retraining runs in a
thread of it, reports through the pipe, and releases nothing.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.detection import ClusterSettings
from barograph.detection.base import Detector
from barograph.models.triage import FILES, USES
from barograph.runtime.errors import BarographError, ConfigError, StoreError
from barograph.server.store import Store, retrainings
from barograph.server.triage.clusters import recluster
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.web.model_watch import CandidateModel

if TYPE_CHECKING:
    from barograph.learning.retrain import RetrainParams

LOG = logging.getLogger("barograph.server.web")
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
NICE = 10
GRACE = 5.0  # seconds that a running round may take after a stop
RESTART_DELAY = 1.0  # seconds
BATCH = 50  # series of one transaction, which stays too short to delay requests
STEP, ENDED = "step", "ended"  # reports on a retraining, besides the states that it can end in


@dataclass(frozen=True)
class WorkerConfig:
    """What the background process refreshes and retrains, and how often.

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

    @property
    def served(self) -> Path | None:
        """Folder that models are released to; None if none are."""
        return None if self.path is None else self.path.parent


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
                self.run_once(clusters=clusters, stop=stop)
            # The points are safe and the series still marked: the next round tries again.
            except StoreError as error:
                LOG.warning("the refresh of candidates failed: %s", error)
            except Exception:
                LOG.exception("the refresh of candidates failed")
            if clusters:
                clustered = time.monotonic()


class BackgroundWorker:
    """Does the background work in another process, and restarts it when it dies."""

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self.on_report: Callable[[str, Any], None] = lambda *_: None  # called on a thread
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._process: SpawnProcess | None = None  # while it runs
        self._pipe: Connection | None = None
        self._is_requested = False
        self._thread = threading.Thread(target=self._supervise, name="barograph-work", daemon=True)

    @property
    def pid(self) -> int | None:
        """The id of the process, if it runs."""
        process = self._process
        return process.pid if process is not None else None

    def start(self) -> None:
        """Start the process."""
        self._thread.start()

    def retrain(self) -> None:
        """Start a retraining, at the latest when the process runs again; see `on_report`."""
        with self._changed:
            self._is_requested = True
            if self._pipe is not None:
                with suppress(OSError):  # it has just died: `ENDED` is reported
                    self._pipe.send(None)

    def restart(self) -> None:
        """End the process with a running retraining; another process is started."""
        with self._changed:
            process, self._is_requested = self._process, False
            if process is None:
                self.on_report(ENDED, None)
            else:
                _kill(process)
                self._changed.wait_for(lambda: self._process is not process, GRACE)

    def stop(self) -> None:
        """Let the process finish its round, and end it."""
        self._stop.set()
        with self._changed:
            if self._process is not None:
                self._process.terminate()  # at once if it is still starting; see `_work`
        self._thread.join(GRACE)
        if (process := self._process) is not None:
            _kill(process)
            process.join(GRACE)  # as long as it has the store open, its log stays

    def _supervise(self) -> None:
        while not self._stop.is_set():
            # The process would leave the files of a retraining that is cancelled.
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                self._run_process(folder)
            self._stop.wait(RESTART_DELAY)

    def _run_process(self, folder: str) -> None:
        """Run the process until it ends, and pass its reports on."""
        with self._changed:
            if self._stop.is_set():
                return
            process, pipe = start_child(_work, self.config, LOG.getEffectiveLevel(), folder)
            self._process, self._pipe = process, pipe
            if self._is_requested:
                pipe.send(None)
        with suppress(EOFError, OSError):
            while True:
                kind, content = pipe.recv()
                self._is_requested &= kind == STEP
                self.on_report(kind, content)
        process.join()
        if not self._stop.is_set():
            LOG.warning("the background process exited with code %s", process.exitcode)
        self._is_requested = False
        self.on_report(ENDED, process.exitcode)
        with self._changed:
            self._process = self._pipe = None
            self._changed.notify_all()
        pipe.close()


def start_child(work: Callable[..., None], *arguments: object) -> tuple[SpawnProcess, Connection]:
    """Start a process, and return it with our end of a pipe.

    Our end is closed by our death, and the process ends with it.

    Args:
        work: What the process does; it gets the other end of the pipe, then the arguments.
        arguments: What can be pickled.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *arguments), name="barograph-work")
    process.start()
    theirs.close()
    return process, ours


def _kill(process: SpawnProcess) -> None:
    """End a process with all of its processes, even while it is starting.

    Nothing is half done: transactions are atomic, and files are written whole.
    """
    number = process.pid
    if number is None or not process.is_alive():
        return
    with suppress(AttributeError, OSError):  # not every system has it
        if os.getpgid(number) == number:
            os.killpg(number, signal.SIGKILL)
    process.kill()


def _work(pipe: Connection, config: WorkerConfig, level: int, folder: str) -> None:
    """Refresh and retrain until the pipe is closed; temporary files go to a folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the service, which stops us
    logging.basicConfig(level=level, format=LOG_FORMAT)
    with suppress(AttributeError, OSError):  # not every system has it
        os.setpgrp()  # so that all processes of a training end together
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    stop = threading.Event()
    # In a thread: this one may hold the lock of the stop when the signal interrupts it.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop.set).start())
    with Store(config.url) as store:
        # On Linux a thread has a priority of its own, and the writing thread of the store keeps
        # that of the service: on a busy machine it would hold the lock that requests wait for.
        with suppress(AttributeError, OSError):
            os.nice(NICE)
        threading.Thread(target=_serve, args=(pipe, store, config, stop), daemon=True).start()
        RefreshLoop(store, config).run(stop)
    _exit()  # without tidying up, which takes seconds at this priority on a busy machine


def _serve(pipe: Connection, store: Store, config: WorkerConfig, stop: threading.Event) -> None:
    """Retrain on request. Set the stop once the pipe is closed; exit if the round goes on."""
    with suppress(EOFError, OSError):
        while True:
            pipe.recv()
            threading.Thread(target=_retrain, args=(pipe, store, config), daemon=True).start()
    stop.set()
    time.sleep(GRACE)
    _exit()  # transactions are atomic: nothing is half done


def _retrain(pipe: Connection, store: Store, config: WorkerConfig) -> None:
    """Learn challengers, and report every step and the end."""
    try:
        result = _learn(store, config, lambda *step: pipe.send((STEP, step)))
    except BarographError as error:
        pipe.send((retrainings.FAILED, {"why": str(error)}))
    except Exception as error:
        LOG.exception("the retraining failed")
        pipe.send((retrainings.FAILED, {"why": f"{type(error).__name__}: {error}"[:300]}))
    else:
        pipe.send((retrainings.DONE, result))


def _learn(
    store: Store, config: WorkerConfig, report: Callable[[int, int, int], None]
) -> dict[str, Any]:
    from barograph.learning.retrain import retrain
    from barograph.learning.work_lists import audited_labels
    from barograph.server.store.export import read_all

    if config.params is None or config.served is None:
        raise ConfigError("there are no parameters, or there is no folder for models")
    params = config.params()
    with store.read() as connection:
        history, numbers = read_all(connection)
    report(1, 0, 1)

    def step(done: int) -> None:
        if done <= 2:
            report(1 + done, 0, 1 if done == 1 else len(USES))
        elif done < 2 + len(USES):
            report(3, done - 2, len(USES))
        else:
            report(4, done - 2 - len(USES), len(FILES))

    result = retrain(history, params, config.served, step=step)
    report(5, 0, 1)
    labels = audited_labels(history, params.train)
    doubted = [[numbers[candidate], *facts] for candidate, *facts in labels]
    return result.to_json() | {"doubted": doubted}


def _exit() -> None:
    """End this process with all of its processes."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)

"""Retraining in the background: one at a time, in a process that cannot disturb the service.

The process reads the store, learns challengers and registers them, but releases nothing: a person
does that after looking at the comparison. It reports its progress through a pipe, and ends with all
of its own processes when the pipe is closed, by a cancellation or by the death of the service.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.learning import registry
from barograph.learning.registry import ReleaseFolders
from barograph.models.triage import FILES, USES
from barograph.runtime.errors import BarographError, ConfigError, StoreError
from barograph.runtime.extras import install
from barograph.server.store import Store, retrainings
from barograph.server.web.background import lower_priority, set_up_child, start_child
from barograph.server.web.model_watch import file_version

if TYPE_CHECKING:
    from barograph.learning.retrain import RetrainParams

LOG = logging.getLogger("barograph.server.web")
PHASES = (
    *("Collect verdicts", "Compute features", "Choose settings"),
    *("Train models", "Compare with the released models", "Look for doubtful labels"),
)
GRACE = 5.0  # seconds that a cancelled process may take to end
PAUSE = 2.0  # seconds between two looks at what other processes released


@dataclass(frozen=True)
class RetrainingConfig:
    """What is retrained, and how.

    Args:
        url: Location of the store.
        served: Folder that models are released to.
        params: Returns how models are learned; called in the process that learns.
    """

    url: str
    served: Path
    params: Callable[[], RetrainParams]

    @property
    def folders(self) -> ReleaseFolders:
        """Where models are released and registered."""
        return ReleaseFolders.beside(self.served)


@dataclass(frozen=True)
class RetrainingProgress:
    """How far a running training has come.

    Attributes:
        number: Number of the training.
        began: When it began, on the monotonic clock.
        phase: Index of the present one of PHASES.
        done: Number of steps of this phase that are done.
        of: Number of its steps.
        seconds: How long each phase before took.
    """

    number: int
    began: float
    phase: int = 0
    done: int = 0
    of: int = 1
    seconds: tuple[float, ...] = ()

    @property
    def share(self) -> float:
        """The share of the work that is done, with phases of equal length."""
        return (self.phase + self.done / self.of) / len(PHASES)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def to_json(self) -> dict[str, Any]:
        """Return the progress as JSON can hold it."""
        return {
            "id": self.number,
            "phases": list(PHASES),
            "phase": self.phase,
            "done": self.done,
            "of": self.of,
            "seconds": [round(took, 1) for took in self.seconds],
            "elapsed": round(self.elapsed, 1),
            "share": round(self.share, 4),
        }

    def at(self, phase: int, done: int, of: int) -> RetrainingProgress:
        """Return the progress at a step of a phase."""
        seconds = self.seconds
        if phase > self.phase:
            took = self.elapsed - sum(seconds)
            seconds += (took,) + (0.0,) * (phase - self.phase - 1)
        return replace(self, phase=phase, done=done, of=of, seconds=seconds)


class Retraining:
    """Starts, follows and cancels trainings in the background.

    Args:
        store: Store that keeps the results.
        config: What is retrained, and how.
    """

    def __init__(self, store: Store, config: RetrainingConfig) -> None:
        self.config = config
        self._store = store
        self._lock = threading.Lock()
        self.progress: RetrainingProgress | None = None  # of the running training
        self._process: SpawnProcess | None = None
        self._thread: threading.Thread | None = None
        self._is_cancelled = False
        self._stop = threading.Event()
        self._noted: object = None  # the state of the registry that the store agrees with
        self.note_changes()

    @property
    def missing(self) -> str:
        """Why no training can be started here; empty if one can."""
        if find_spec("xgboost") is None:
            return f"retraining needs the package xgboost: {install('train')}"
        return ""

    def start(self, who: str) -> int:
        """Start a training, and return its number.

        Args:
            who: Name of the person, for the records.

        Raises:
            ConfigError: One runs already, or something is not installed.
        """
        if self.missing:
            raise ConfigError(self.missing)
        with self._lock:
            if self.progress is not None:
                raise ConfigError("a retraining is running already")
            number = self._store.write(lambda c: retrainings.begin(c, who))
            try:
                self._launch(number)
            except Exception as error:
                why = f"the process could not be started: {error}"[:300]
                facts = {"why": why}
                self._store.write(
                    lambda c: retrainings.finish(c, number, retrainings.FAILED, facts)
                )
                raise ConfigError(why) from error
        return number

    def _launch(self, number: int) -> None:
        """Start the process of a training, and the thread that follows it."""
        folder = tempfile.TemporaryDirectory(prefix="barograph-retrain-")
        try:
            process, pipe = start_child(_work, self.config, folder.name, name="barograph-retrain")
        except BaseException:
            folder.cleanup()
            raise
        self._is_cancelled = False
        self.progress = RetrainingProgress(number, time.monotonic())
        self._process = process
        self._thread = threading.Thread(
            target=self._follow, args=(number, process, pipe, folder), daemon=True
        )
        self._thread.start()

    def cancel(self) -> bool:
        """End the running training; return whether there was one. Nothing of it is released."""
        with self._lock:
            if self.progress is None or self._process is None:
                return False
            self._is_cancelled = True
            _kill(self._process)
            thread = self._thread
        if thread is not None:
            thread.join(GRACE)
        return True

    def release(self, number: int, who: str) -> list[str]:
        """Put the challengers of a training in service, and return the names of the files.

        Raises:
            ConfigError: It is not the latest one that is done, or has nothing to release.
        """
        from barograph.learning.release import release_challengers

        with self._store.read() as connection:
            done = retrainings.latest(connection, retrainings.DONE)
        if done is None or done.id != number:
            raise ConfigError(f"retraining {number} is not the latest one that is done")
        result = done.result or {}
        chosen = {
            name: (digest, result["files"][name])
            for name, digest in result.get("challengers", {}).items()
        }
        if not chosen:
            raise ConfigError(f"retraining {number} has no model that may be released")
        releasing = retrainings.releasing(self._store, number, who, self._was_released)
        with self._lock, releasing:
            release_challengers(self.config.folders, chosen)
        return list(chosen)

    def roll_back(self, name: str, who: str) -> str:
        """Put the former file of a name, or the built-in models, back in service; return the name.

        Raises:
            ConfigError: There is no such file, or the built-in one is in service.
        """
        with self._lock:
            registry.roll_back(name, self.config.folders, who)
        retrainings.note_rollbacks(self._store, registry.rollbacks(self.config.folders))
        return name

    def run(self, pause: float = PAUSE) -> None:
        """Note what other processes release and roll back, until `stop`."""
        while not self._stop.wait(pause):
            self.note_changes()

    def note_changes(self) -> None:
        """Bring the records of the store up to date with the registry.

        Processes that were killed leave releases to complete and to note. The command that rolls
        back has no store.
        """
        state = self._registry_state()
        if state == self._noted:
            return
        try:
            if (self.config.folders.registry / registry.PENDING).exists():
                registry.resume(self.config.folders)
                state = self._registry_state()
            retrainings.note_releases(self._store, self._was_released)
            retrainings.note_rollbacks(self._store, registry.rollbacks(self.config.folders))
        except (BarographError, OSError) as error:
            LOG.warning("releases and rollbacks could not be noted: %s", error)
            if isinstance(error, StoreError):
                return  # the store may answer again, but a damaged file stays as it is
        self._noted = state

    def _registry_state(self) -> list[object]:
        folder = self.config.folders.registry
        return [file_version(folder / name) for name in registry.INDICES]

    def _was_released(self, digests: Mapping[str, str]) -> bool:
        return registry.was_released(digests, self.config.folders)

    def stop(self) -> None:
        """End the running training, and `run`, with the service."""
        self._stop.set()
        self.cancel()

    def _follow(
        self,
        number: int,
        process: SpawnProcess,
        pipe: Connection,
        folder: tempfile.TemporaryDirectory[str],
    ) -> None:
        """Take the reports of a process until it ends, and note how it ended."""
        state, result = retrainings.FAILED, None
        with retrainings.heartbeat(self._store, number), suppress(EOFError, OSError):
            while True:
                kind, content = pipe.recv()
                if kind == "step" and self.progress is not None:
                    self.progress = self.progress.at(*content)
                elif kind != "step":
                    state, result = kind, content
        process.join(GRACE)
        _kill(process)
        process.join()
        if self._is_cancelled and state != retrainings.DONE:
            state, result = retrainings.CANCELLED, None
        elif result is None:
            result = {"why": f"the process ended with code {process.exitcode}; see the log"}
        pipe.close()
        with suppress(OSError):
            folder.cleanup()
        try:
            self._store.write(lambda c: retrainings.finish(c, number, state, result))
        except StoreError as error:
            LOG.warning("the end of retraining %d could not be noted: %s", number, error)
        self.progress = None


def _kill(process: SpawnProcess) -> None:
    """End the process of a training with all of its processes, even while it is starting.

    Nothing is half done: files are written whole.
    """
    number = process.pid
    if number is None or not process.is_alive():
        return
    with suppress(AttributeError, OSError):  # not every system has it
        if os.getpgid(number) == number:
            os.killpg(number, signal.SIGKILL)
    process.kill()


def _work(pipe: Connection, config: RetrainingConfig, folder: str) -> None:
    """Learn challengers, and report every step."""
    set_up_child(logging.WARNING)
    with suppress(AttributeError, OSError):  # not every system has it
        os.setpgrp()  # so that all processes of the training end together
    lower_priority()
    tempfile.tempdir = os.environ["TMPDIR"] = folder  # the service deletes it
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    try:
        result = _learn(config, lambda *step: pipe.send(("step", step)))
    except BarographError as error:
        pipe.send((retrainings.FAILED, {"why": str(error)}))
    except Exception as error:
        LOG.exception("the retraining failed")
        pipe.send((retrainings.FAILED, {"why": f"{type(error).__name__}: {error}"[:300]}))
    else:
        pipe.send((retrainings.DONE, result))


def _learn(config: RetrainingConfig, report: Callable[[int, int, int], None]) -> dict[str, Any]:
    from barograph.learning.retrain import retrain
    from barograph.learning.work_lists import audited_labels
    from barograph.server.store.export import read_all

    params = config.params()
    with Store(config.url) as store, store.read() as connection:
        history, numbers = read_all(connection)
    report(1, 0, 1)

    def step(done: int) -> None:
        if done <= 2:
            report(1 + done, 0, 1 if done == 1 else len(USES))
        elif done < 2 + len(USES):
            report(3, done - 2, len(USES))
        else:
            report(4, done - 2 - len(USES), len(FILES))

    result = retrain(history, params, config.folders, step=step)
    report(5, 0, 1)
    labels = audited_labels(history, params.train)
    doubted = [[numbers[label.candidate], label.real, label.probability] for label in labels]
    return result.to_json() | {"doubted": doubted}


def _end_with(pipe: Connection) -> None:
    """End the training with all of its processes once the pipe is closed."""
    with suppress(EOFError, OSError):
        pipe.recv()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # nothing is half done: files are written whole
    os._exit(1)

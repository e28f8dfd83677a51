"""Retraining on request: one at a time, in a process of its own; a person releases its models."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any

from barograph.learning import registry
from barograph.runtime.errors import BarographError, ConfigError, StoreError
from barograph.runtime.extras import install
from barograph.server.store import Store, audit, retrainings
from barograph.server.web.background import WorkerConfig, kill, lower_priority, start_child

LOG = logging.getLogger("barograph.server.web")
PHASES = (
    *("Collect verdicts", "Compute features", "Choose settings"),
    *("Train models", "Compare with the released models", "Look for doubtful labels"),
)


@dataclass(frozen=True)
class RetrainingProgress:
    """How far a running training has come.

    Attributes:
        id: Number of the training.
        began: When it began, on the monotonic clock.
        phase: Index of the present one of `phases`.
        done: Number of steps of this phase that are done.
        of: Number of its steps.
        seconds: How long each phase before took.
    """

    id: int
    began: float
    phase: int = 0
    done: int = 0
    of: int = 1
    seconds: tuple[float, ...] = ()

    @property
    def phases(self) -> tuple[str, ...]:
        """The names of the phases."""
        return PHASES

    @property
    def share(self) -> float:
        """The share of the work that is done, with phases of equal length."""
        return round((self.phase + self.done / self.of) / len(PHASES), 4)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return round(time.monotonic() - self.began, 1)

    def at(self, phase: int, done: int, of: int) -> RetrainingProgress:
        """Return the progress at a step of a phase."""
        seconds = self.seconds
        if phase > self.phase:
            took = max(0.0, round(self.elapsed - sum(seconds), 1))
            seconds += (took,) + (0.0,) * (phase - self.phase - 1)
        return replace(self, phase=phase, done=done, of=of, seconds=seconds)


class Retraining:
    """Starts, follows and cancels trainings, and releases their models.

    Args:
        store: Store that keeps the results.
        config: Where the store is, and how models are learned.
        served: Folder that models are released to.
    """

    def __init__(self, store: Store, config: WorkerConfig, served: Path) -> None:
        self.served = served
        self.progress: RetrainingProgress | None = None  # of the running training
        self._store, self._config = store, config
        self._lock = Lock()
        self._process: SpawnProcess | None = None  # of the latest training
        self._thread: Thread | None = None  # that follows it
        self._is_cancelled = False
        store.write(retrainings.end_running)
        if registry.registry_of(served).is_dir():
            try:
                registry.resume(served)
            except (BarographError, OSError) as error:
                LOG.warning("the released models could not be checked: %s", error)

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
            self.progress = RetrainingProgress(number, time.monotonic())
            self._is_cancelled = False
            self._launch(number)
        return number

    def cancel(self) -> bool:
        """End the running training; return whether there was one. Nothing of it is released."""
        with self._lock:
            process, thread = self._process, self._thread
            if self.progress is None or process is None or thread is None:
                return False
            self._is_cancelled = True
            kill(process)
            thread.join()
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
        files = result.get("challengers", {})
        if not files:
            raise ConfigError(f"retraining {number} has no model that may be released")
        release_challengers(self.served, files, result["files"])
        self._store.write(lambda c: retrainings.note_release(c, number, who, [*files]))
        return [*files]

    def roll_back(self, name: str, who: str) -> str:
        """Put the former file of a name, or the built-in models, back in service; return the name.

        Raises:
            ConfigError: There is no such file, or the built-in one is in service.
        """
        index = registry.roll_back(name, self.served, who)
        facts = {"champion": index.champion, "withdrawn": index.withdrawn[-1]}
        self._store.write(lambda c: audit.note(c, audit.now(), who, "rollback", name, **facts))
        return name

    def _launch(self, number: int) -> None:
        """Start the process of a training, and a thread that follows it."""
        ours, theirs = Pipe(duplex=False)
        # The process would leave the files of a training that is cancelled.
        folder = TemporaryDirectory(ignore_cleanup_errors=True)
        call = theirs, number, self._config, self.served, folder.name
        self._process = start_child(_train, *call)
        theirs.close()
        self._thread = Thread(
            target=self._follow, args=(number, self._process, ours, folder), daemon=True
        )
        self._thread.start()

    def _follow(
        self,
        number: int,
        process: SpawnProcess,
        pipe: Connection,
        folder: TemporaryDirectory[str],
    ) -> None:
        """Take the reports of a training, and note its end if it did not do so itself."""
        with folder, pipe:
            with suppress(EOFError, OSError):
                while self.progress is not None:
                    self.progress = self.progress.at(*pipe.recv())
            process.join()
        why = f"the process ended with code {process.exitcode}; see the log"
        ended = (retrainings.CANCELLED, "") if self._is_cancelled else (retrainings.FAILED, why)
        try:
            self._store.write(lambda c: retrainings.end_running(c, number, *ended))
        except StoreError as error:
            LOG.warning("the end of a retraining could not be noted: %s", error)
        self.progress = None


def _train(pipe: Connection, number: int, config: WorkerConfig, served: Path, folder: str) -> None:
    """Learn challengers, report every step, and note the result; temporary files go to a folder."""
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    with Store(config.url) as store:
        lower_priority()
        try:
            state, result = retrainings.DONE, _learn(store, config, served, pipe)
        except BarographError as error:
            state, result = retrainings.FAILED, {"why": str(error)}
        except Exception as error:
            LOG.exception("the retraining failed")
            state, result = retrainings.FAILED, {"why": f"{type(error).__name__}: {error}"[:300]}
        store.write(lambda c: retrainings.finish(c, number, state, result))


def _learn(store: Store, config: WorkerConfig, served: Path, pipe: Connection) -> dict[str, Any]:
    """Learn and compare challengers, and look for doubtful labels."""
    from barograph.learning.retrain import STEPS, retrain
    from barograph.learning.work_lists import audited_labels
    from barograph.models.triage import USES
    from barograph.server.store.export import read_all

    if config.params is None:
        raise ConfigError("there are no parameters")
    params = config.params()
    with store.read() as connection:
        history, numbers = read_all(connection)
    starts = 0, 1, 2, 2 + len(USES), STEPS, STEPS + 1  # steps before each phase after the first

    def step(done: int) -> None:
        phase = bisect_right(starts, done)
        pipe.send((phase, done - starts[phase - 1], starts[phase] - starts[phase - 1]))

    step(0)
    result = retrain(history, params, served, step=step)
    labels = audited_labels(history, params.train)
    doubted = [[numbers[candidate], *facts] for candidate, *facts in labels]
    return result.to_json() | {"doubted": doubted}

"""Retraining on request: one at a time, in the background process; a person releases its models."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from barograph.learning import registry
from barograph.runtime.errors import BarographError, ConfigError, StoreError
from barograph.runtime.extras import install
from barograph.server.store import Store, audit, retrainings
from barograph.server.web.background import STEP, BackgroundWorker

LOG = logging.getLogger("barograph.server.web")
PHASES = (
    *("Collect verdicts", "Compute features", "Choose settings"),
    *("Train models", "Compare with the released models", "Look for doubtful labels"),
)


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
    """Starts, follows and cancels trainings in the background, and releases their models.

    Args:
        store: Store that keeps the results.
        worker: The background process.
        served: Folder that models are released to.
    """

    def __init__(self, store: Store, worker: BackgroundWorker, served: Path) -> None:
        self.served = served
        self.progress: RetrainingProgress | None = None  # of the running training
        self._store, self._worker = store, worker
        self._lock = threading.Lock()
        self._is_cancelled = False
        worker.on_report = self._follow
        store.write(retrainings.fail_running)
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
            self._is_cancelled = False
            self.progress = RetrainingProgress(number, time.monotonic())
            self._worker.retrain()
        return number

    def cancel(self) -> bool:
        """End the running training; return whether there was one. Nothing of it is released."""
        with self._lock:
            if self.progress is None:
                return False
            self._is_cancelled = True
            self._worker.restart()
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
        release_challengers(self.served, chosen)
        self._store.write(lambda c: retrainings.note_release(c, number, who, [*chosen]))
        return list(chosen)

    def roll_back(self, name: str, who: str) -> str:
        """Put the former file of a name, or the built-in models, back in service; return the name.

        Raises:
            ConfigError: There is no such file, or the built-in one is in service.
        """
        index = registry.roll_back(name, self.served, who)
        facts = {"champion": index.champion, "withdrawn": index.withdrawn[-1]}
        self._store.write(lambda c: audit.note(c, audit.now(), who, "rollback", name, **facts))
        return name

    def _follow(self, kind: str, content: Any) -> None:
        """Take a report of the background process, on its thread."""
        progress = self.progress
        if progress is None:
            return
        if kind == STEP:
            self.progress = progress.at(*content)
            return
        state, result = kind, content
        if kind not in retrainings.STATES:
            state = retrainings.CANCELLED if self._is_cancelled else retrainings.FAILED
            why = {"why": f"the process ended with code {content}; see the log"}
            result = None if self._is_cancelled else why
        try:
            self._store.write(lambda c: retrainings.finish(c, progress.number, state, result))
        except StoreError as error:
            LOG.warning("the end of retraining %d could not be noted: %s", progress.number, error)
        self.progress = None

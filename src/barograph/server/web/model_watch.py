"""The models in use, loaded again when their files change; the last good model stays.

The online model is tried before it decides.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from barograph.detection.online import Judge, PendingSeries, make_judge
from barograph.detection.online.budget import DEFAULT_RATE
from barograph.models import OnlineModels, TriageModel
from barograph.runtime.errors import ArtifactError, BarographError
from barograph.server.triage.refresh import USE

LOG = logging.getLogger("barograph.server.web")
Model = TypeVar("Model")
MAX_REASON = 300  # characters
TRIAL_LENGTHS = (2, 3, 12, 80)  # enough for every branch that a decision can take
UNREAD = object()  # no version of a file equals it


class ModelFile(Generic[Model]):
    """A model that is loaded again when its file changes.

    Args:
        path: Where a model is released; while there is no file, the built-in model is used.
            None always uses the built-in model.
        load: Loads a model, or without a path the built-in one.
    """

    def __init__(self, path: Path | None, load: Callable[[Path | None], Model]) -> None:
        self._path, self._load = path, load
        self._version: object = UNREAD
        self._lock = threading.Lock()
        self.on_model: Callable[[Model], None] = lambda _: None  # called with each new model
        self.on_refused: Callable[[], None] = lambda: None  # called after each refused file
        self.current: Model | None = None
        self.refused_reason = ""

    def start(self) -> Model:
        """Load the first model.

        Raises:
            ArtifactError: The model is not usable.
        """
        with self._lock:
            self._version = self._file_version()
            return self._use()

    def check(self, *, force: bool = False) -> bool:
        """Load a new model if there is one; return whether it is in use now.

        A rollback deletes the only released file: then the built-in model is used. The model stays
        if the whole folder is gone.

        Args:
            force: Load the file even if it did not change.
        """
        with self._lock:
            version, path = self._file_version(), self._path
            if version == self._version and not force:
                return False
            is_gone = version is None and path is not None and not path.parent.is_dir()
            if is_gone and self.current is not None:
                return False
            self._version = version
            try:
                self._use()
            except Exception as error:  # whatever a file does, the watch goes on
                known = isinstance(error, BarographError)
                reason = str(error) if known else f"{path}: {type(error).__name__}: {error}"
                self.refused_reason = " ".join(reason.split())[:MAX_REASON]
                LOG.warning(
                    "new model refused, the last good model stays in use: %s", self.refused_reason
                )
                self.on_refused()
                return False
            return True

    def _use(self) -> Model:
        self.current = self._load(self._path if self._version else None)
        self.refused_reason = ""
        self.on_model(self.current)
        LOG.info("the model of %s is in use", self._path if self._version else "the package")
        return self.current

    def _file_version(self) -> tuple[int, int, int] | None:
        """Return what changes when the file is replaced, or None without a file."""
        try:
            stat = None if self._path is None else self._path.stat()
        except OSError:
            stat = None
        return None if stat is None else (stat.st_mtime_ns, stat.st_size, stat.st_ino)


class CandidateModel(ModelFile[TriageModel]):
    """The model that scores candidates, for the use `label_free`; see `ModelFile`."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(
            path, lambda path: TriageModel.load(path, USE) if path else TriageModel.default(USE)
        )

    def newest(self) -> TriageModel | None:
        """Return the newest usable model; None if there is none at all."""
        self.check()
        return self.current

    def released(self) -> TriageModel | None:
        """Return the newest usable released model; None if the built-in one is used."""
        model = self.newest()
        return None if self._version is None else model


@dataclass(frozen=True)
class LoadedModel:
    """A model that passed its trial, and the judge that uses it."""

    model: TriageModel
    judge: Judge
    source: str
    second_look: bool = True  # the HTTP API names both
    second_look_disabled_reason: str = ""


def load_model(path: Path | None, false_alarms_per_1000: float = DEFAULT_RATE) -> LoadedModel:
    """Load an online model and try it, which compiles the kernels at the first start.

    Args:
        path: Model file, or None for the built-in model.
        false_alarms_per_1000: Number of false alarms in 1,000 points of a series.

    Raises:
        ArtifactError: The file is not a model, is made for another use, or fails its trial.
        DataError: A model, its tail rates or its thresholds are missing.
    """
    models = OnlineModels.load(path) if path is not None else OnlineModels.default()
    judge = make_judge(models, false_alarms_per_1000)
    source = str(path) if path is not None else "the built-in model"
    try:
        results = [judge.judge(trial) for trial in trials()]
    except BarographError:
        raise
    except Exception as error:
        raise ArtifactError(f"{source}: the model fails: {error}") from error
    if not all(0.0 <= p <= 1.0 for result in results for p in result.probability):
        raise ArtifactError(f"{source}: the model gives probabilities outside 0 to 1")
    return LoadedModel(models.newest, judge, source)


def trials() -> tuple[list[PendingSeries], ...]:
    """Return random series that take every branch of a decision, in one batch and alone."""
    rng = np.random.default_rng(0)
    histories = [PendingSeries(rng.standard_normal(n) + 100.0, n - 1) for n in TRIAL_LENGTHS]
    return histories, histories[-1:]


class ModelWatch(ModelFile[LoadedModel]):
    """Polls the file of the online models, and hands over new ones that passed their trial.

    Args:
        path: As in `ModelFile`.
        false_alarms_per_1000: Number of false alarms in 1,000 points of a series.
    """

    def __init__(self, path: Path | None, false_alarms_per_1000: float = DEFAULT_RATE) -> None:
        super().__init__(path, lambda path: load_model(path, false_alarms_per_1000))
        self._stop = threading.Event()
        self.failure: BarographError | None = None  # why `run` could not load the first model

    def run(self, pause: float, on_failure: Callable[[], None]) -> None:
        """Load the first model if `start` was not called; check every `pause` seconds until `stop`.

        Args:
            pause: Seconds between two checks.
            on_failure: Called if the first model is not usable; `failure` says why.
        """
        if self.current is None:
            try:
                self.start()
            except BarographError as error:
                self.failure = error
                on_failure()
                return
        while not self._stop.wait(pause):
            self.check()

    def stop(self) -> None:
        """End `run`."""
        self._stop.set()

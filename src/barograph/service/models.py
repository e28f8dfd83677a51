"""The model in use: loaded, compiled and proven before it decides; the last good one stays."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from barograph.detection.online import Judge, SecondLookConfig, make_judge
from barograph.detection.online.judge import Stretch
from barograph.errors import ArtifactError, BarographError
from barograph.models import OnlineModels, TriageModel

LOG = logging.getLogger("barograph.service")
Mark = tuple[int, int, int]
# Long enough for every branch that a decision can take.
PROOF = (2, 3, 12, 80)


@dataclass(frozen=True)
class Loaded:
    """A model that is fit to decide, and the judge that asks it."""

    model: TriageModel
    judge: Judge
    source: str
    second_look_disabled_reason: str = ""


def load_model(path: Path | None, again: SecondLookConfig | None = None) -> Loaded:
    """Load the online models of a file, or those that are shipped, and let them prove themselves.

    Raises:
        ArtifactError: it is no model, not one for this use, or it fails.
    """
    models = OnlineModels.load(path) if path is not None else OnlineModels.default()
    judge, reason = make_judge(models, again)
    source = str(path) if path is not None else "the shipped default"
    prove(judge, source)
    return Loaded(models.newest, judge, source, reason)


def prove(judge: Judge, source: str) -> None:
    """Let a judge decide on made-up histories: this compiles what it needs, too."""
    rng = np.random.default_rng(0)
    histories = [Stretch(rng.standard_normal(n) + 100.0, n - 1, 0) for n in PROOF]
    try:
        said = [*judge.judge(histories).probability, *judge.judge(histories[-1:]).probability]
    except BarographError:
        raise
    except Exception as error:
        raise ArtifactError(f"{source}: the model fails: {error}") from error
    if not all(0.0 <= one <= 1.0 for one in said):
        raise ArtifactError(f"{source}: the model gives probabilities outside 0 to 1")


class Watch:
    """Checks the model's file now and then, and hands over a new model that proved itself.

    Args:
        path: where models of one's own are released; while nothing is there the shipped ones
            decide. None: the shipped ones, always.
        again: how a second look is wanted.
    """

    def __init__(self, path: Path | None, again: SecondLookConfig | None = None) -> None:
        self._path, self._again = path, again
        self._seen: Mark | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._take: Callable[[Loaded], None] | None = None
        self._refused: Callable[[], None] | None = None
        self.current: Loaded | None = None
        self.fault = ""

    def start(self) -> Loaded:
        """Load the first model, whatever it costs.

        Raises:
            ArtifactError: there is none that is good.
        """
        with self._lock:
            self._seen = mark_of(self._path)
            return self._use(self._load())

    def tell(self, take: Callable[[Loaded], None], refused: Callable[[], None]) -> None:
        """Hand over the model in use and every later one; and say when one is refused."""
        with self._lock:
            self._take, self._refused = take, refused
            if self.current is not None:
                take(self.current)

    def look(self, *, again: bool = False) -> bool:
        """Take a new model if there is one; return whether there was.

        Args:
            again: Load the file even if it did not change.
        """
        with self._lock:
            mark = mark_of(self._path)
            if mark is None or (mark == self._seen and not again):
                return False
            self._seen = mark
            try:
                self._use(self._load())
            except BarographError as error:
                self.fault = str(error)
                LOG.warning("a new model is refused, the last good one stays: %s", error)
                if self._refused is not None:
                    self._refused()
                return False
            return True

    def run(self, pause: float) -> None:
        """Look again and again until `stop`."""
        while not self._stop.wait(pause):
            self.look()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def _load(self) -> Loaded:
        return load_model(self._path if self._seen else None, self._again)

    def _use(self, loaded: Loaded) -> Loaded:
        before = self.current.second_look_disabled_reason if self.current is not None else ""
        if loaded.second_look_disabled_reason and loaded.second_look_disabled_reason != before:
            LOG.warning("%s", loaded.second_look_disabled_reason)
        self.current, self.fault = loaded, ""
        if self._take is not None:
            self._take(loaded)
        LOG.info("the model %s decides, from %s", loaded.judge.version, loaded.source)
        return loaded


def mark_of(path: Path | None) -> Mark | None:
    """What tells one state of a file from another; None where there is no file."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

"""The model in use: loaded, compiled and proven before it decides; the last good one stays."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from barograph.detection.online import ConfirmingJudge, Judge, SecondLookWanted, judge_of
from barograph.detection.online.judge import Stretch
from barograph.detection.online.scorer import card_of
from barograph.errors import ArtifactError, BarographError
from barograph.models import TriageModel

LOG = logging.getLogger("barograph.service")
USE = "online"
Mark = tuple[int, int, int]
# Long enough for every branch that a decision can take.
PROOF = (2, 3, 12, 80)
PATIENCE = 60.0  # seconds that one model of a pair waits for the other


@dataclass(frozen=True)
class Loaded:
    """A model that is fit to decide, and the judge that asks it."""

    model: TriageModel
    judge: Judge
    source: str
    alone: str = ""  # why there is no second look, where one was wanted

    @property
    def is_whole(self) -> bool:
        """Whether no model looks together with another than it was made to look with."""
        if not isinstance(self.judge, ConfirmingJudge):
            return True
        return self.model.card.get("pair") == card_of(self.judge.confirm).get("pair")


def load_model(path: Path | None, again: SecondLookWanted | None = None) -> Loaded:
    """Load the online model of a path, or the one that is shipped, and let it prove itself.

    With `again` the confirming model comes with it, if the two can look together.

    Raises:
        ArtifactError: it is no model, not one for this use, or it fails.
    """
    model = TriageModel.load(path) if path is not None else TriageModel.default(USE)
    if model.use != USE:
        raise ArtifactError(f"{path}: made for the use {model.use!r}; the service needs {USE!r}")
    judge, alone = judge_of(model, again)
    source = str(path) if path is not None else "the shipped default"
    prove(judge, source)
    return Loaded(model, judge, source, alone)


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
    """Looks at the model's file now and then, and hands over a new model that proved itself.

    Args:
        path: where a model of one's own is released; while nothing is there the shipped one
            decides. None: the shipped one, always.
        again: how a second look is wanted; its model's file is looked at, too.
        clock: tells the time in seconds.
    """

    def __init__(
        self,
        path: Path | None,
        again: SecondLookWanted | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._again, self._clock = path, again, clock
        self._until = math.inf  # then half a pair has waited long enough
        self._seen: tuple[Mark | None, Mark | None] = (None, None)
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
            self._seen = self._marks()
            return self._use(self._load())

    def tell(self, take: Callable[[Loaded], None], refused: Callable[[], None]) -> None:
        """Hand over the model in use and every later one; and say when one is refused."""
        with self._lock:
            self._take, self._refused = take, refused
            if self.current is not None:
                take(self.current)

    def look(self, *, again: bool = False) -> bool:
        """Take a new model if there is one; return whether there was.

        A pair is released as two files: half of one waits for the other, and the last good pair
        decides meanwhile; with `again` nothing waits.
        """
        with self._lock:
            marks, before = self._marks(), self._seen
            gone = any(old and not new for old, new in zip(before, marks, strict=True))
            again |= self._clock() >= self._until
            if gone or not any(marks) or (marks == before and not again):
                return False
            self._seen, self._until = marks, math.inf
            try:
                loaded = self._load()
                if not (again or loaded.is_whole):
                    self._until = self._clock() + PATIENCE
                    self.fault = "one model of a pair is new: it waits a minute for the other"
                    return False
                self._use(loaded)
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

    def _marks(self) -> tuple[Mark | None, Mark | None]:
        return mark_of(self._path), mark_of(self._again.path if self._again else None)

    def _load(self) -> Loaded:
        return load_model(self._path if self._seen[0] else None, self._again)

    def _use(self, loaded: Loaded) -> Loaded:
        before = self.current.alone if self.current is not None else ""
        if loaded.alone and loaded.alone != before:
            LOG.warning("%s", loaded.alone)
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

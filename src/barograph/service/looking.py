"""As data arrives: the detector looks again at what changed, behind the back of the requests."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from barograph.detection.base import Detector
from barograph.errors import BarographError, StoreError
from barograph.models import TriageModel
from barograph.service.models import mark_of
from barograph.store import Store
from barograph.triage.clusters import recluster
from barograph.triage.refresh import CandidateRefresher, label_free_model

LOG = logging.getLogger("barograph.service")
SOME = 50  # series of one round: its transaction is so short that no request notices it


class Looking:
    """Keeps candidates and clusters as new as the points.

    Args:
        store: has the points.
        detector: finds change points.
        name: what the candidates say found them.
        path: where a `label_free` model of one's own is released; the shipped one until then.
        pause: seconds between two rounds.
        cluster_pause: seconds between two looks for steps that many series have in common.
    """

    def __init__(
        self,
        store: Store,
        detector: Detector,
        name: str,
        path: Path | None,
        *,
        pause: float = 1.0,
        cluster_pause: float = 60.0,
    ) -> None:
        self._store = store
        self._detector = detector
        self._name = name
        self._path = path
        self._pause = pause
        self._every = max(1, round(cluster_pause / pause))
        self._projects: set[str] = set()
        self._seen: object = self
        self._model: TriageModel | None = None

    def refresher(self) -> CandidateRefresher:
        """Return the detector with the current model."""
        return CandidateRefresher(self._detector, self._name, self._newest_model())

    def once(self, *, clusters: bool, stop: threading.Event | None = None) -> None:
        """Bring what waits up to date; begin nothing new after a stop."""
        stop = stop or threading.Event()
        done = SOME
        while done == SOME and not stop.is_set():
            seen = self.refresher().refresh(self._store, SOME)
            self._projects |= seen.projects
            done = seen.series
        if clusters:
            for project in sorted(self._projects):
                if not stop.is_set():
                    recluster(self._store, project)
                    self._projects.discard(project)

    def run(self, stop: threading.Event) -> None:
        """Look again and again until the stop."""
        rounds = 0
        while not stop.wait(self._pause):
            rounds += 1
            try:
                self.once(clusters=rounds % self._every == 0, stop=stop)
                self._store.write_back()
            # The points are safe, and the series still wait: the next round tries again.
            except StoreError as error:
                LOG.warning("a look at the series that changed failed: %s", error)
            except Exception:
                LOG.exception("a look at the series that changed failed")

    def _newest_model(self) -> TriageModel | None:
        mark = mark_of(self._path)
        if mark != self._seen:
            self._seen = mark
            try:
                self._model = label_free_model(self._path if mark else None) or self._model
            except BarographError as error:
                LOG.warning("a new model is refused, the last good one stays: %s", error)
        return self._model

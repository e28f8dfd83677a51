"""The model that scores candidates, loaded again when its file changes."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from barograph.errors import BarographError
from barograph.models import TriageModel
from barograph.service.model_watch import file_version
from barograph.triage.refresh import label_free_model

LOG = logging.getLogger("barograph.service")


class CandidateModel:
    """The released label-free model, or the built-in one while there is no file.

    Args:
        path: Where a model is released; None always uses the built-in model.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._model: TriageModel | None = None
        self._loaded_version: object = self  # no file version equals it

    def newest(self) -> TriageModel | None:
        """Return the newest usable model; None if there is none at all."""
        with self._lock:
            version = file_version(self._path)
            if version != self._loaded_version:
                self._loaded_version = version
                try:
                    self._model = label_free_model(self._path if version else None) or self._model
                except BarographError as error:
                    LOG.warning("new model refused, the last good model stays in use: %s", error)
            return self._model

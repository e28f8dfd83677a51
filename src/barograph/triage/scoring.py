"""The detector that looks again, together with the model that scores what it finds."""

from __future__ import annotations

import logging
from pathlib import Path

from barograph.errors import ArtifactError
from barograph.models import TriageModel
from barograph.triage.candidates import Finder, Look

LOG = logging.getLogger("barograph.triage")
USE = "label_free"


def label_free_model(path: Path | None) -> TriageModel | None:
    """Load the model that scores candidates; None where none is shipped.

    Raises:
        ArtifactError: there is a file, but no such model in it.
    """
    if path is None:
        try:
            return TriageModel.default(USE)
        except ArtifactError as error:
            LOG.warning("candidates get no probability: %s", error)
            return None
    return TriageModel.load(path, USE)


def make_look(detector: Finder, name: str, model: TriageModel | None) -> Look:
    """Put a detector and a model together."""
    return Look(detector, name, model, model.version if model is not None else "")

"""What the model page and its routes say: which models decide, how they did, what is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import sqlalchemy as sa

from barograph.learning.registry import Index, ReleaseFolders, card
from barograph.learning.weekly_record import (
    PastRecord,
    RetrainingDue,
    first_day,
    retraining_due,
)
from barograph.models import TriageModel
from barograph.models.triage import FILES
from barograph.runtime.errors import BarographError
from barograph.server.store import retrainings
from barograph.server.store.retrainings import RetrainingRecord
from barograph.server.triage import record
from barograph.server.triage.refresh import USE
from barograph.server.web.model_watch import FileVersion, file_version

WEEKS = 12


@dataclass(frozen=True)
class ReleasedFile:
    """A file of models in service.

    Attributes:
        name: Name of the file.
        number: How many files of this name were released before and with it; 0 is the built-in one.
        digest: Of the file; empty for the built-in one.
    """

    name: str
    number: int
    digest: str


@dataclass(frozen=True)
class ModelReport:
    """How the model that scores the queue did on verdicts before it knew them.

    Attributes:
        files: The released files.
        release: The training that was released last; None if there was none.
        past: How it did lately.
        due: Whether retraining is due.
        has_alarms: Whether the second look ever raised an alarm, so that delays are known.
    """

    files: tuple[ReleasedFile, ...]
    release: RetrainingRecord | None
    past: PastRecord
    due: RetrainingDue
    has_alarms: bool


def model_report(connection: sa.Connection, folders: ReleaseFolders | None) -> ModelReport:
    """Return how the model did, with the folders that models are released to, if any."""
    today = datetime.now(UTC).date()
    judged = record.judged_verdicts(connection, first_day(today, WEEKS))
    past = PastRecord.of(judged, today, WEEKS)
    last = retrainings.latest(connection, retrainings.DONE)
    new = retrainings.new_verdicts(connection, 0 if last is None else last.last_verdict)
    learned_from = 0 if last is None else last.verdicts
    return ModelReport(
        tuple(released_files(folders)),
        retrainings.latest_release(connection),
        past,
        retraining_due(new, learned_from, past.recent.agreement, promised_agreement(folders)),
        record.has_alarms(connection),
    )


def released_files(folders: ReleaseFolders | None) -> list[ReleasedFile]:
    """Return the files in service, by name."""
    result = []
    for name in FILES:
        index = Index(name) if folders is None else Index.read(name, folders)
        count = len(index.champions)
        result.append(ReleasedFile(name, count, index.champion or ""))
    return result


def promised_agreement(folders: ReleaseFolders | None) -> float | None:
    """Return the accuracy on held-out verdicts of the released model; None if it does not say.

    The built-in model was judged on verdicts of other people, which promise nothing here.
    """
    model = _released(folders)
    return None if model is None else model.metrics.get("accuracy")


def model_card(folders: ReleaseFolders | None) -> str:
    """Return the card of the model that scores the queue, as text."""
    return card(_released(folders) or TriageModel.default(USE))


def _released(folders: ReleaseFolders | None) -> TriageModel | None:
    """Return the released model that scores the queue, if it is usable."""
    path = None if folders is None else folders.served / f"{USE}.baro"
    version = file_version(path)
    return None if path is None or version is None else _loaded(path, version)


@lru_cache(2)
def _loaded(path: Path, _version: FileVersion) -> TriageModel | None:
    try:
        return TriageModel.load(path, USE)
    except BarographError:  # the refresh logs what is wrong with it
        return None

"""Replay parts of the histories: the same table on any worker.

A module of its own, not the stage's: workers find the models that they loaded by its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barograph import __version__
from barograph.detection.online import Budget, replay_many
from barograph.detection.online.views import HISTORY
from barograph.errors import ArtifactError
from barograph.evaluation import resume
from barograph.evaluation.partitions import Part, offsets_of, rows_of
from barograph.features import FEATURES_VERSION
from barograph.models import OnlineModels, TriageModel
from barograph.series import Floats

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """The models and settings of one replay, the same for all of its parts.

    Args:
        model: path of the online models; nothing for the shipped ones.
        second_look: whether points are judged again as others follow.
        setting: how the windows share the alarms.
        per_thousand: how many false alarms a thousand points may raise.
        shortest: series of fewer points are left out.
        cache: where the results of parts are kept; nothing: they are not.
        signature: tells apart everything that a result depends on but the values; see `signed`.
    """

    model: str
    second_look: bool = False
    setting: str = "steady"
    per_thousand: float = 3.0
    shortest: int = 2
    cache: str = ""
    signature: str = ""

    def signed(self) -> "Task":
        """Load the models here, where errors are told, and sign with what they are."""
        _models.cache_clear()  # the file may have changed
        models = [m for m in (_models(self).newest, self.confirm()) if m is not None]
        names = [m.version for m in models]
        settings = (self.shortest, self.setting, self.per_thousand, HISTORY)
        self.budget()
        signature = resume.key(__version__, FEATURES_VERSION, *settings, *names)
        return replace(self, signature=signature)

    def budget(self) -> Budget | None:
        """How the windows share the alarms, as released with the models."""
        confirm = self.confirm()
        if confirm is None:
            return None
        return Budget.released(_models(self).newest, confirm, self.setting, self.per_thousand)

    def confirm(self) -> TriageModel | None:
        """Return the model of the second look, or None if there is to be none.

        Raises:
            ArtifactError: The file holds no such model.
        """
        if not self.second_look:
            return None
        models = _models(self)
        if models.confirm is None:
            raise ArtifactError(f"{self.model}: holds no confirming model")
        return models.confirm


@lru_cache(maxsize=2)
def _models(task: Task) -> OnlineModels:
    """Load the models once in each process; the signature tells when they are others."""
    return OnlineModels.load(task.model) if task.model else OnlineModels.default()


def replayed(part: Part, task: Task) -> pa.Table:
    """Replay a part, or take what was kept of it: the same table on any worker.

    Returns:
        Every point with its probability, whether an alarm was raised, and whether it is found:
        with a second look, whether it still stands in the end.
    """
    points = rows_of(part, "points")
    values, offsets = points.column("value").to_numpy(), offsets_of(part, points)
    path = Path(task.cache) / f"{resume.key(task.signature, offsets, values)}.npz"
    said = resume.load(path) if task.cache else None
    if said is None:
        said = _judged(task, np.split(values, offsets[1:-1]))
        if task.cache:
            resume.save(path, said)
    index = np.arange(values.size) - np.repeat(offsets[:-1], np.diff(offsets))
    table = points.select(["series", "order", "commit"])
    table = table.add_column(1, "index", pa.array(index, pa.int32()))
    for name in ("probability", "alarm", "found"):
        table = table.append_column(name, pa.array(said[name]))
    return table


def _judged(task: Task, series: Sequence[Floats]) -> Arrays:
    model, confirm = _models(task).newest, task.confirm()
    offsets = np.cumsum([0, *(values.size for values in series)])
    total = int(offsets[-1])
    result: Arrays = {
        "probability": np.zeros(total),
        "alarm": np.zeros(total, dtype=np.bool_),
        "found": np.zeros(total, dtype=np.bool_),
    }
    long = [k for k, values in enumerate(series) if values.size >= task.shortest]
    seen = replay_many(model, [series[k] for k in long], confirm, budget=task.budget())
    for k, one in zip(long, seen, strict=True):
        first = int(offsets[k])
        result["probability"][first : first + one.probability.size] = one.probability
        result["alarm"][first + one.alarms] = True
        result["found"][first + one.change_points] = True
    return result

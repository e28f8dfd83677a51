"""Stage `replay`: the online detector over every commit (Bauer et al. 2022, 4.2).

Algorithm 1 alone; with `--confirm` the second look follows. Series are replayed in chunks, and
each chunk's result is kept: a run that was broken off goes on where it was.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph import __version__
from barograph.detection.online import replay_many
from barograph.evaluation.replayed import confusion
from barograph.features import FEATURES_VERSION
from barograph.history import History
from barograph.models.artifact import digest
from barograph.models.triage import TriageModel
from barograph.pipeline import chunks, report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.work import each
from barograph.series import Floats

CHUNK = 2000  # series a call: small enough to spread, large enough for a forest to be quick
CACHE = chunks.FOLDER / "replay"

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class ReplayParams:
    """Which series are left out."""

    shortest: int


@dataclass(frozen=True)
class Task:
    """The models and settings of one replay, the same for all of its chunks."""

    model: TriageModel
    confirm: TriageModel | None
    shortest: int

    def signature(self) -> str:
        """Return a name for everything that a chunk's result depends on but its values."""
        models = [self.model] if self.confirm is None else [self.model, self.confirm]
        signed = [(m.feature_set, m.threshold, _digest(m), dict(m.card)) for m in models]
        return chunks.key(__version__, FEATURES_VERSION, self.shortest, *signed)


def _digest(model: TriageModel) -> str:
    """Return what tells two models apart by their numbers."""
    calibration = {} if model.calibration is None else model.calibration.arrays()
    return digest({**model.flat.arrays(), **calibration})


def replay_all(task: Task, history: History) -> pd.DataFrame:
    """Return every point with its probability, whether an alarm was raised and what stands."""
    numbers = np.arange(len(history))
    parts = [numbers[first : first + CHUNK] for first in range(0, numbers.size, CHUNK)]
    signature = task.signature()
    calls = [(task, signature, [history.values_of(k) for k in part]) for part in parts]
    judged = list(each(replayed, calls, "replay"))
    lengths = np.diff(history.offsets)
    columns = {
        name: np.concatenate([chunk[name] for chunk in judged])
        for name in ("probability", "alarm", "found")
    }
    return pd.DataFrame(
        {
            "series": np.repeat(numbers, lengths),
            "index": np.arange(history.orders.size) - np.repeat(history.offsets[:-1], lengths),
            "order": history.orders,
            "commit": history.commits.to_pandas(),
            **columns,
        }
    )


def replayed(task: Task, signature: str, series: list[Floats]) -> Arrays:
    """Replay the series of one chunk, or take what was kept of it."""
    path = CACHE / f"{chunks.key(signature, *series)}.npz"
    result = chunks.load(path)
    if result is None:
        result = _judged(task, series)
        chunks.keep(path, result)
    return result


def _judged(task: Task, series: list[Floats]) -> Arrays:
    offsets = np.cumsum([0, *(values.size for values in series)])
    total = int(offsets[-1])
    result: Arrays = {
        "probability": np.zeros(total),
        "alarm": np.zeros(total, dtype=np.bool_),
        "found": np.zeros(total, dtype=np.bool_),
    }
    long = [k for k, values in enumerate(series) if values.size >= task.shortest]
    seen = replay_many(task.model, [series[k] for k in long], task.confirm)
    for k, one in zip(long, seen, strict=True):
        first = int(offsets[k])
        result["probability"][first : first + one.probability.size] = one.probability
        result["alarm"][first + one.alarms] = True
        result["found"][first + one.change_points] = True
    return result


def write(folder: Path, points: pd.DataFrame) -> None:
    """Write the list of found points, for people and for programs."""
    found = points[points["found"]].drop(columns=["found"])
    report.write_csv(folder / "found.csv", found)
    report.write_parquet(folder / "found.parquet", found)


def main(options: Sequence[str] = ()) -> None:
    """Run the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--confirm", action="store_true", help="look again as points arrive: needs confirm.baro"
    )
    again = parser.parse_args(options).confirm
    params = parameters(ReplayParams, "replay")
    confirm = TriageModel.load(MODELS / "confirm.baro") if again else None
    task = Task(TriageModel.load(MODELS / "online.baro"), confirm, params.shortest)
    history = History.read(INTERIM)
    points = replay_all(task, history)
    name = "replay_confirm" if again else "replay"
    write(report.FOLDER / name, points)
    judged = [points[column].to_numpy() for column in ("alarm", "found", "probability")]
    report.write_json(report.FOLDER / f"{name}.json", confusion(history, *judged))


if __name__ == "__main__":
    run(partial(main, sys.argv[1:]))

"""Stage `replay`: the online detector over every commit (Bauer et al. 2022, 4.2)."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from barograph.learning import replay
from barograph.learning.limits import Count, Seed, WholeNumber
from barograph.models import OnlineModels
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.results.history import History
from barograph.results.parts import history_parts
from barograph.runtime.errors import ConfigError, NotEnoughDataError
from barograph.runtime.parallel import map_parallel

CHUNK = 250  # series per call: few enough for parallel work, enough for fast scoring by a forest
ONLINE = MODELS / "online.baro"
METRICS = report.FOLDER / "replay.json"


@dataclass(frozen=True)
class ReplayParams:
    """What is replayed.

    Attributes:
        min_points: Series with fewer points are left out.
        trees: Number of trees of the forest in the stage `algorithm_1`.
        seed: Seed of that forest.
        method: Withdrawn.
    """

    min_points: WholeNumber
    trees: Count = 100
    seed: Seed = 1
    method: str = "default"

    def __post_init__(self) -> None:
        """Refuse the method that has a stage of its own."""
        if self.method != "default":
            raise ConfigError(
                f"replay.method is {self.method!r}: leave it out, and run the stage algorithm_1 "
                "with `dvc repro studies/dvc.yaml:algorithm_1`"
            )


def main() -> None:
    """Run the stage."""
    params = parameters(ReplayParams, "replay")
    metrics = write_replay(report.FOLDER / "replay", trained_models(), params.min_points)
    report.write_json(METRICS, metrics)


def trained_models() -> OnlineModels:
    """Load the trained models, or the built-in ones if the trained ones cannot raise alarms.

    A pair that learned from few verdicts has no thresholds of alarms, and is never released.
    """
    models = OnlineModels.load(ONLINE)
    if models.confirm is None or models.confirm.card.get("alarm_thresholds"):
        return models
    sys.stderr.write("replay: with the built-in models, as the trained ones raise no alarms\n")
    return OnlineModels.default()


def write_replay(folder: Path, models: OnlineModels, min_points: int) -> dict[str, Any]:
    """Replay every series, write the change points that were found, and return the metrics."""
    judge = replay.replay_judge(models)
    calls = [(part, judge, min_points) for part in history_parts(INTERIM, CHUNK)]
    points = pa.concat_tables(map_parallel(replay.replay_part, calls, label="replay"))
    history = History.read(INTERIM)
    change_points = replay.change_points_of(points).to_pandas()
    names = [str(identity) for identity in history.ids]
    change_points.insert(0, "name", [names[number] for number in change_points["series"]])
    report.write_csv(folder / "found.csv", change_points)
    report.write_parquet(folder / "found.parquet", change_points)
    try:
        return replay.compare_with_verdicts(history, points)
    except NotEnoughDataError:
        return replay.alarm_rates(history, points)


if __name__ == "__main__":
    run(main)

"""Stage `replay`: the online detector over every commit (Bauer et al. 2022, 4.2).

The detector has the trained models, and with `replay.method: algorithm_1` the paper's forest.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from barograph.detection.bulk import history_parts
from barograph.learning.limits import Count, Named, Seed, WholeNumber
from barograph.learning.paper_forest import learn_forest
from barograph.learning.replay import (
    alarm_rates,
    change_points_of,
    compare_with_verdicts,
    replay_judge,
    replay_part,
)
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.results.history import History
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_parallel

CHUNK = 2000  # series per call: few enough for parallel work, enough for fast scoring by a forest
ONLINE = MODELS / "online.baro"
ALGORITHM_1 = "algorithm_1"
METHODS = ("default", ALGORITHM_1)


@dataclass(frozen=True)
class ReplayParams:
    """What is replayed.

    Attributes:
        min_points: Series with fewer points are left out.
        method: `default`, the trained models, or `algorithm_1`, a forest that is learned first.
        trees: Number of trees of that forest.
        seed: Seed of that forest.
    """

    min_points: WholeNumber
    method: Annotated[str, Named(lambda: METHODS)] = METHODS[0]
    trees: Count = 100
    seed: Seed = 1


def main() -> None:
    """Run the stage."""
    params = parameters(ReplayParams, "replay")
    folder = report.FOLDER / "replay"
    online = learn_algorithm_1(folder, params) if params.method == ALGORITHM_1 else ONLINE
    metrics = write_replay(folder, online, params.min_points)
    report.write_json(report.FOLDER / "replay.json", {"method": params.method, **metrics})


def learn_algorithm_1(folder: Path, params: ReplayParams) -> Path:
    """Learn the forest of Algorithm 1, and return the path of its model file in a folder."""
    path = folder / "algorithm_1.baro"
    learn_forest(trees=params.trees, seed=params.seed).save(path)
    return path


def write_replay(folder: Path, online: Path, min_points: int) -> dict[str, Any]:
    """Replay every series, write the change points that were found, and return the metrics."""
    judge = replay_judge(str(online))
    calls = [(part, judge, min_points) for part in history_parts(INTERIM, CHUNK)]
    points = pa.concat_tables(map_parallel(replay_part, calls, label="replay"))
    history = History.read(INTERIM)
    change_points = change_points_of(points).to_pandas()
    names = [str(identity) for identity in history.ids]
    change_points.insert(0, "name", [names[number] for number in change_points["series"]])
    report.write_csv(folder / "found.csv", change_points)
    report.write_parquet(folder / "found.parquet", change_points)
    try:
        return compare_with_verdicts(history, points)
    except NotEnoughDataError:
        return alarm_rates(history, points)


if __name__ == "__main__":
    run(main)

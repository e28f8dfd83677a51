"""Stage `replay`: the online detector over every commit (Bauer et al. 2022, 4.2).

Algorithm 1 alone, or with a second look (`--second-look`). Series are replayed in chunks whose
results are kept: an interrupted run continues where it stopped.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from barograph.detection.bulk import history_parts
from barograph.errors import NotEnoughDataError
from barograph.evaluation import resume
from barograph.evaluation.replay import (
    ReplayTask,
    alarm_rates,
    compare_with_verdicts,
    found_points,
    replay_part,
)
from barograph.history import History
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS

CHUNK = 2000  # series per call: few enough for parallel work, enough for fast scoring by a forest
CACHE = resume.FOLDER / "replay"


@dataclass(frozen=True)
class ReplayParams:
    """Series with fewer points than `min_points` are left out."""

    min_points: int


def main(options: Sequence[str] = ()) -> None:
    """Run the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--second-look", action="store_true", help="judge recent points again as others follow"
    )
    second_look = parser.parse_args(options).second_look
    params = parameters(ReplayParams, "replay")
    online = str(MODELS / "online.baro")
    task = ReplayTask(online, second_look, min_points=params.min_points, cache=str(CACHE)).signed()
    calls = [(part, task) for part in history_parts(INTERIM, CHUNK)]
    points = pa.concat_tables(map_parallel(replay_part, calls, label="replay"))
    name = "replay_second_look" if second_look else "replay"
    history = History.read(INTERIM)
    found = found_points(points).to_pandas()
    names = [str(one) for one in history.ids]
    found.insert(0, "name", [names[number] for number in found["series"]])
    report.write_csv(report.FOLDER / name / "found.csv", found)
    report.write_parquet(report.FOLDER / name / "found.parquet", found)
    report.write_json(report.FOLDER / f"{name}.json", _metrics(history, points))


def _metrics(history: History, points: pa.Table) -> dict[str, Any]:
    """Return the comparison with verdicts, or only the rates of alarms if there are too few."""
    try:
        return compare_with_verdicts(history, points)
    except NotEnoughDataError:
        return alarm_rates(history, points)


if __name__ == "__main__":
    run(partial(main, sys.argv[1:]))

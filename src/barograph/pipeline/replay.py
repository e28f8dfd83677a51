"""Stage `replay`: the online detector over every commit (Bauer et al. 2022, 4.2).

Algorithm 1 alone, or with `--second-look` the second look too. Series are replayed in chunks whose
results are cached: an interrupted run continues where it stopped.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from barograph.evaluation import resume
from barograph.evaluation.partitions import parts_of
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.found import held_against_verdicts, write
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.replaying import Task, replayed
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS

CHUNK = 2000  # series of one call: enough rows for a fast forest, and enough calls for all workers
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
    again = parser.parse_args(options).second_look
    params = parameters(ReplayParams, "replay")
    online = str(MODELS / "online.baro")
    task = Task(online, again, shortest=params.min_points, cache=str(CACHE)).signed()
    calls = [(part, task) for part in parts_of(INTERIM, CHUNK)]
    points = pa.concat_tables(map_parallel(replayed, calls, label="replay"))
    name = "replay_second_look" if again else "replay"
    write(report.FOLDER / name, points)
    report.write_json(report.FOLDER / f"{name}.json", held_against_verdicts(INTERIM, points))


if __name__ == "__main__":
    run(partial(main, sys.argv[1:]))

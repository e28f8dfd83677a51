"""Run the pipeline as one run of MLflow: `python -m barograph.pipeline.repro`.

It runs `dvc repro` and opens a run that those of the stages belong to. A stage that DVC skips,
because nothing that it depends on has changed, gets a run with the tag `cached`. Under `dvc repro`
and `dvc exp run` alone, each stage has a run of its own.
"""

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

from barograph.learning import tracking
from barograph.learning.tracking import Run
from barograph.pipeline import runs
from barograph.pipeline.params import check, run

COMMAND = sys.executable, "-m", "dvc", "repro"


def repro() -> int:
    """Run `dvc repro`, record the runs, and return its code."""
    if not tracking.is_on():
        return subprocess.run(COMMAND, check=False).returncode  # noqa: S603 - our own command
    parent, code = tracking.begin("repro"), 1
    try:
        environment = os.environ | {tracking.PARENT: parent}
        code = subprocess.run(COMMAND, env=environment, check=False).returncode  # noqa: S603
    finally:
        parts = tracking.waiting(parent)
        if code == 0:  # else it is not known which stages were skipped
            parts += _skipped({each.name for each in parts})
        tracking.end(parent, _whole(), parts, failed=code > 0)
    return code


def _skipped(ran: set[str]) -> list[Run]:
    """Return the runs of the stages that did not run."""
    known = runs.stages(runs.PIPELINE).items()
    skipped = [runs.run_of(name, stage) for name, stage in known if name not in ran]
    return [replace(each, tags={**each.tags, "cached": "true"}) for each in skipped]


def _whole() -> Run:
    """Return what is known of the run of all stages: their parameters, and the AUC of each use."""
    parameters: dict[str, Any] = {}
    for stage in runs.stages(runs.PIPELINE).values():
        parameters |= runs.parameters_of(stage)
    return Run(
        "repro", parameters, {"auc": runs.metrics_of("auc.json")}, runs.tags_of(runs.HISTORY)
    )


def main() -> None:
    """Check the parameters, run the pipeline, and record its runs."""
    check()
    sys.exit(repro())


if __name__ == "__main__":
    run(main)

"""Stage `release`: the models that a service loads, each with its card, registered in MLflow.

A new file takes the place of the champion only if its models are not worse on the held-out series
and commits.
"""

from barograph.models.triage import FILES
from barograph.pipeline import report
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER, TWINS
from barograph.training.release import ReleaseParams, release


def main() -> None:
    """Run the stage."""
    params = parameters(ReleaseParams, "release")
    decisions = {
        name: release(name, FOLDER / f"{name}.baro", TWINS / f"{name}.baro", params)
        for name in FILES
    }
    report.write_json(report.FOLDER / "release.json", decisions)


if __name__ == "__main__":
    run(main)

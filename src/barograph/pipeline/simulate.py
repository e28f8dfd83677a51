"""Stage `simulate`: the default data, as a dump of a simulated performance database."""

from pathlib import Path

from barograph.learning.simulation import SimulateParams, simulate
from barograph.pipeline import report
from barograph.pipeline.params import parameters, run

FOLDER = Path("data/raw/simulated")


def main() -> None:
    """Run the stage."""
    counts = simulate(parameters(SimulateParams, "simulate"), FOLDER)
    report.write_json(report.FOLDER / "simulate.json", counts)


if __name__ == "__main__":
    run(main)

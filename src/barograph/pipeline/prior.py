"""Stage `prior`: a simulated history, described like the loaded one, for scarce verdicts."""

from pathlib import Path

from barograph.pipeline import characterise, load, simulate, subseries
from barograph.pipeline.defaults import place
from barograph.pipeline.stage import run
from barograph.training.mixing import FOLDER

PROFILE = "prior"


def main(folder: Path = FOLDER) -> None:
    """Run the first four stages in a folder of their own, with the profile `prior`."""
    with place(folder, PROFILE):
        for stage in (simulate, load, subseries, characterise):
            stage.main()


if __name__ == "__main__":
    run(main)

"""Stage `prior`: the feature tables of a simulated history, to mix with scarce verdicts."""

from barograph.learning.candidates import PRIOR
from barograph.learning.tracking import Run
from barograph.pipeline import characterise, load, simulate, subseries
from barograph.pipeline.params import in_folder, run

PROFILE = "prior"


def main() -> Run:
    """Run the first four stages in a folder of their own, with the profile `prior`."""
    with in_folder(PRIOR, PROFILE):
        for stage in (simulate, load, subseries):
            stage.main()
        return characterise.main()


if __name__ == "__main__":
    run(main)

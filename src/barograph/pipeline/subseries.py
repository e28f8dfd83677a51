"""Stage `subseries`: the bounds of Pre and After of each candidate under every policy."""

from barograph.features.subseries import ADAPTIVE, LABEL_FREE, WIDEST, Policy
from barograph.learning.tables import bounds_table
from barograph.learning.tracking import Run
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import run
from barograph.results.history import History

OUT = INTERIM / "subseries.parquet"
POLICIES: tuple[Policy, ...] = tuple(
    policy
    for base in (ADAPTIVE, LABEL_FREE)
    for policy in (base, *(base.window(width) for width in range(WIDEST + 1)))
)


def main() -> Run:
    """Run the stage; return the mean numbers of points in Pre and After."""
    bounds = bounds_table(History.read(INTERIM), POLICIES)
    report.write_parquet(OUT, bounds)
    sizes = {"pre": bounds["split"] - bounds["start"], "after": bounds["end"] - bounds["split"]}
    means = {side: size.groupby(bounds["policy"]).mean() for side, size in sizes.items()}
    return Run("subseries", metrics={side: mean.to_dict() for side, mean in means.items()})


if __name__ == "__main__":
    run(main)

"""Stage `subseries`: the bounds of Pre and After of each candidate under every policy."""

from barograph.features.subseries import ADAPTIVE, LABEL_FREE, WIDEST, Policy
from barograph.learning.tables import bounds_table
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


def main() -> None:
    """Run the stage."""
    report.write_parquet(OUT, bounds_table(History.read(INTERIM), POLICIES))


if __name__ == "__main__":
    run(main)

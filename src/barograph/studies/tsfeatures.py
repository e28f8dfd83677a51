"""Stage `tsfeatures`: what the characteristics of that package are worth.

The rows of the stage `evaluate` for the sets in `evaluate.further`, beside the eight
characteristics of Bauer et al. 2022 with the same classifiers, on the decided candidates with
adaptive bounds. They cost minutes, so the default pipeline does not compute them.
"""

import pandas as pd

from barograph.pipeline import report
from barograph.pipeline.evaluate import (
    FOOTNOTE_POLICY,
    EvaluateParams,
    evaluate,
    write_tables,
)
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import page_without_verdicts, parameters, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.studies.statistics import candidate_rows

REFERENCE = "bauer8"
FOLDER = report.FOLDER / "tsfeatures"


@page_without_verdicts(FOLDER / "table.md", "tsfeatures")
def main() -> None:
    """Run the stage."""
    params = parameters(EvaluateParams, "evaluate")
    classifiers = dict.fromkeys(name for names in params.further.values() for name in names)
    sets = {REFERENCE: tuple(classifiers)}
    frame = candidate_rows(
        History.read(INTERIM), pd.read_parquet(BOUNDS), FOOTNOTE_POLICY, (*sets, *params.further)
    )
    rows = evaluate(params, (FOOTNOTE_POLICY,), sets, "evaluate", lambda _: frame)
    write_tables(
        FOLDER,
        "The characteristics of tsfeatures",
        f"{len(frame):,} decided candidates, bounds `{FOOTNOTE_POLICY}`; the rest as in the table "
        "of the stage `evaluate`.",
        rows,
    )


if __name__ == "__main__":
    run(main)

"""Stage `selection`: the genetic search for the best characteristics.

It may take hours.
"""

import pandas as pd

from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.studies.selection import SelectionParams, select

FOLDER = report.FOLDER / "selection"


@page_without_verdicts(FOLDER / "characteristics.md")
def main() -> None:
    """Run the stage."""
    params = parameters(SelectionParams, "selection")
    tables = select(params, History.read(INTERIM), pd.read_parquet(BOUNDS))
    notes = [
        f"Population {params.population}, {params.generations} generations, {params.runs} run(s), "
        f"forests of {params.trees} trees, bounds `{params.policy}`. Fitness is the accuracy on "
        "validation. Winners: in how many runs the fittest subset of the last generation holds it. "
        "Share: of the last generations. Alone: accuracy on test of a forest on it alone, both "
        "sides. Loss: how much accuracy on test the whole pool loses without it.",
    ]
    title = f"Selection of characteristics (Bauer et al. 2022, 2.1), profile {profile_name()}"
    for name, table in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", table)
        report.write_table(FOLDER / f"{name}.md", title, table.round(4), notes)


if __name__ == "__main__":
    run(main)

"""The points that a replay found: their list, and how they stand beside the verdicts.

A module of its own, not the stage's: the command line has it without what stages need.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from barograph.evaluation.replayed import confusion
from barograph.history import History
from barograph.pipeline import report


def held_against_verdicts(folder: str | Path, points: pa.Table) -> dict[str, Any]:
    """Say how often, how early and how right the alarms of a replay are.

    Raises:
        NotEnoughDataError: the verdicts hold one class only.
    """
    names = ("alarm", "found", "probability")
    alarms, found, probability = (points.column(name).to_numpy() for name in names)
    return confusion(History.read(folder), alarms, found, probability)


def write(folder: Path, points: pa.Table) -> None:
    """Write the list of found points, for people and for programs."""
    found = points.filter(points.column("found")).drop_columns(["found"]).to_pandas()
    report.write_csv(folder / "found.csv", found)
    report.write_parquet(folder / "found.parquet", found)

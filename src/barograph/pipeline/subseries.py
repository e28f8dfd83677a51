"""Stage `subseries`: the bounds of Pre and After of each candidate under every policy."""

from pathlib import Path

import numpy as np
import pandas as pd

from barograph.features.subseries import (
    ADAPTIVE,
    LABEL_FREE,
    WIDEST,
    Policy,
    subseries,
)
from barograph.history import History
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.stage import run

OUT = INTERIM / "subseries.parquet"
POLICIES: tuple[Policy, ...] = tuple(
    policy
    for base in (ADAPTIVE, LABEL_FREE)
    for policy in (base, *(base.window(width) for width in range(WIDEST + 1)))
)


def bounded(history: History) -> pd.DataFrame:
    """Return one row for each policy and candidate."""
    frames = []
    for policy in POLICIES:
        starts, splits, ends = subseries(policy, history.offsets, history.candidates)
        frames.append(
            pd.DataFrame(
                {
                    "policy": str(policy),
                    "candidate": np.arange(splits.size),
                    "start": starts,
                    "split": splits,
                    "end": ends,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def main(folder: Path = INTERIM) -> None:
    """Run the stage."""
    report.write_parquet(OUT, bounded(History.read(folder)))


if __name__ == "__main__":
    run(main)

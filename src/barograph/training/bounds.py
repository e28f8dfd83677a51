"""The bounds of Pre and After of every candidate as a table, for one or several policies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from barograph.features.subseries import Policy, subseries
from barograph.history import History


def bounds_table(history: History, policies: Iterable[Policy]) -> pd.DataFrame:
    """Return one row for each policy and candidate.

    Args:
        history: The series and their candidates.
        policies: The policies of the bounds.

    Returns:
        The columns policy, candidate, start, split and end: places in the values of the history.
    """
    frames = []
    for policy in policies:
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

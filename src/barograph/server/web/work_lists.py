"""Lists of candidates that are worth a person's time, read from the store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from barograph.learning.work_lists import LENGTH, POOL, most_informative, suspects
from barograph.results.series import Floats
from barograph.server.store import retrainings
from barograph.server.triage import record

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class WorkList:
    """Candidates to look at, in this order."""

    name: str
    title: str
    why: str
    candidates: tuple[int, ...]


def work_lists(connection: sa.Connection) -> list[WorkList]:
    """Return all lists."""
    why = (
        "Verdicts contradicted by models that had not seen them. People may still be right.",
        "Open, uncertain, and different from each other and from recent decisions.",
    )
    numbers = tuple(doubted(connection)), tuple(informative(connection))
    return [
        WorkList("doubted", "Labels the model doubts", why[0], numbers[0]),
        WorkList("informative", "Most informative to decide", why[1], numbers[1]),
    ]


def doubted(connection: sa.Connection) -> list[int]:
    """Return the candidates whose labels models doubt and still hold.

    They are those of the latest retraining, whose models were trained without the series of each
    verdict. Before the first one, verdicts are compared with the probability given before them.
    """
    latest = retrainings.latest(connection, retrainings.DONE)
    result = {} if latest is None else latest.result or {}
    if "doubted" not in result:
        table = record.judged_verdicts(connection, 0)
        truth, probability = table.real.to_numpy(np.int64), table.probability.to_numpy(np.float64)
        rows = suspects(truth, probability)[:LENGTH].tolist()
        return [int(table.candidate.iloc[row]) for row in rows]
    labels = {number: real for number, real, _ in result["doubted"]}
    now = record.still_decided(connection, list(labels))
    return [number for number, real in labels.items() if now.get(number) == real]


def informative(connection: sa.Connection) -> list[int]:
    """Return the open candidates whose verdicts would teach most."""
    candidates = record.uncertain_candidates(connection, POOL * LENGTH)
    decided = record.decided_candidates(connection, POOL * LENGTH)
    return most_informative(candidates, looks(candidates), looks(decided), LENGTH)


def looks(candidates: pd.DataFrame) -> Floats:
    """Return what candidates look like: size, noise and length of the levels on both sides."""
    before, after = (_levels(candidates[side]) for side in ("before", "after"))
    noise = ((before.variance + after.variance).clip(lower=0.0) ** 0.5).replace(0.0, np.nan)
    level = before["mean"].abs().replace(0.0, np.nan)
    columns = [
        candidates.hazard.astype(float),
        (after["mean"] - before["mean"]).abs() / noise,
        noise.fillna(0.0) / level,
        before["count"],
        after["count"],
        before.variance.clip(lower=0.0) ** 0.5 / noise,
    ]
    result: Floats = np.column_stack([column.to_numpy(np.float64) for column in columns])
    return result


def _levels(texts: pd.Series) -> pd.DataFrame:
    """Return the stored levels of candidates; NaN where they are unknown."""
    import pandas as pd  # slow to import

    rows = [json.loads(text) if text else {} for text in texts]
    return pd.DataFrame(rows, columns=["mean", "variance", "count"], dtype=np.float64)

"""Tune the classifiers of each use on the rows that the twins of `train` learn from.

Neither their validation rows nor the held-out series and commits are read.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.models.triage import USES
from barograph.models.tuning import SPACES, Search, search
from barograph.parallel import map_parallel
from barograph.series import Floats, Ints
from barograph.training import tables
from barograph.training.candidates import TrainParams, held_out


@dataclass(frozen=True)
class TuneParams:
    """What is tuned, and how long the search is.

    Attributes:
        searches: The classifiers that are tuned for each use.
        trials: Settings that are tried for each.
        folds: Of the cross-validation.
        seed: Of the search.
        least_verdicts: With fewer, the settings of the catalogue stay: a search on so few rows
            prefers settings that fail with simulated rows mixed in.
    """

    searches: dict[str, Any]
    trials: int
    folds: int
    seed: int
    least_verdicts: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be tuned."""
        for use, names in self.searches.items():
            if use not in USES:
                raise ConfigError(f"tune.searches: no use {use!r}; known: {list(USES)}")
            unknown = sorted(set(names) - set(SPACES))
            if unknown:
                raise ConfigError(
                    f"tune.searches.{use}: {unknown[0]!r} has nothing to tune; "
                    f"tuned are {sorted(SPACES)}"
                )


def searched(
    name: str,
    matrix: Floats,
    truth: Ints,
    groups: Ints,
    params: TuneParams,
    trees: int,
) -> Search | str:
    """Return the search, or why it is not possible."""
    try:
        return search(
            name,
            matrix,
            truth,
            groups,
            seed=params.seed,
            trees=trees,
            trials=params.trials,
            folds=params.folds,
        )
    except NotEnoughDataError as error:
        return str(error)


def tune(
    params: TuneParams, learned: TrainParams, frames: tables.Frames = tables.read_for
) -> dict[tuple[str, str], Search | str]:
    """Search for every use and classifier; return why not where there are too few verdicts.

    Args:
        params: What is tuned.
        learned: What is learned afterwards.
        frames: Returns the feature table of a use.
    """
    calls: dict[tuple[str, str], tuple[Any, ...]] = {}
    without: dict[tuple[str, str], Search | str] = {}
    for use, names in params.searches.items():
        try:
            part = _part(frames(use), use, params, learned)
        except NotEnoughDataError as error:
            without |= dict.fromkeys(((use, name) for name in names), str(error))
        else:
            calls |= {(use, name): (name, *part, params, learned.trees) for name in names}
    results = map_parallel(searched, list(calls.values()), label="tune")
    return without | dict(zip(calls, results, strict=True))


def _part(
    frame: pd.DataFrame, use: str, params: TuneParams, learned: TrainParams
) -> tuple[Floats, Ints, Ints]:
    rows = tables.labelled(frame, str(learned.feature_sets[use]))
    verdicts = np.unique(rows.candidates).size
    if verdicts < params.least_verdicts:
        raise NotEnoughDataError(f"{verdicts} verdicts, {params.least_verdicts} are needed")
    part = held_out(rows, learned.seed).train
    return rows.matrix[part], rows.truth[part], rows.identities[part]

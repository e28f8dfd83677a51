"""Stage `characterise`: the features of Pre and After, one table for each policy of bounds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from barograph.features import (
    CONTEXT_NAMES,
    FEATURE_SETS,
    Policy,
    SubSeries,
    contrast_context,
    feature_matrix,
)
from barograph.history import History
from barograph.pipeline import report, tables
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.series import Floats, Ints


@dataclass(frozen=True)
class CharacteriseParams:
    """Which columns are computed: for the whole of After, and for After cut to a window."""

    feature_set: str
    window_set: str


def characterise(
    history: History, bounds: pd.DataFrame, feature_set: str, keys: pd.DataFrame
) -> pd.DataFrame:
    """Return the keys of the candidates with their features beside them."""
    rows = keys.iloc[bounds["candidate"].to_numpy()].reset_index(drop=True)
    pair = SubSeries(*(bounds[name].to_numpy(np.int64) for name in ("start", "split", "end")))
    names = FEATURE_SETS[feature_set]
    known = not set(CONTEXT_NAMES).isdisjoint(names)
    context = _surroundings(history, bounds, pair, rows["series"].to_numpy()) if known else None
    matrix = feature_matrix(history.values, *pair, feature_set, context=context)
    return pd.concat([rows, pd.DataFrame(matrix, columns=pd.Index(names))], axis=1)


def _surroundings(history: History, bounds: pd.DataFrame, pair: SubSeries, series: Ints) -> Floats:
    """Describe what surrounds each candidate; behind a window nothing is known yet."""
    windowed = [Policy.named(name).width is not None for name in bounds["policy"]]
    lasts = np.where(windowed, pair.ends, history.offsets[series + 1])
    return contrast_context(history.values, *pair, history.offsets[series], lasts)


def keys_of(history: History) -> pd.DataFrame:
    """Return what a feature table says of each candidate beside its features."""
    table = history.candidates
    decided = table.column("triaged_on").cast("int64").fill_null(-1)
    return pd.DataFrame(
        {
            "candidate": np.arange(table.num_rows),
            "series": table.column("series").to_numpy(),
            "index": table.column("index").to_numpy(),
            "commit": table.column("commit").to_pandas(),
            "verdict": table.column("verdict").to_pandas(),
            "decided": decided.to_numpy(),
        }
    )


def main() -> None:
    """Run the stage."""
    params = parameters(CharacteriseParams, "characterise")
    history = History.read(INTERIM)
    keys = keys_of(history)
    for name, bounds in pd.read_parquet(BOUNDS).groupby("policy", sort=True):
        policy = Policy.named(str(name))
        feature_set = params.feature_set if policy.width is None else params.window_set
        table = characterise(history, bounds, feature_set, keys)
        report.write_parquet(tables.path_of(policy), table)


if __name__ == "__main__":
    run(main)

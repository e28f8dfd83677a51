"""Stage `characterise`: the features of Pre and After, one table for each policy of bounds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.features.subseries import Policy
from barograph.history import History
from barograph.pipeline import report, tables
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.series import Ints


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
    matrix = feature_matrix(
        history.values,
        _column(bounds, "start"),
        _column(bounds, "split"),
        _column(bounds, "end"),
        feature_set,
    )
    names = list(FEATURE_SETS[feature_set])
    return pd.concat([rows, pd.DataFrame(matrix, columns=pd.Index(names))], axis=1)


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


def _column(bounds: pd.DataFrame, name: str) -> Ints:
    return bounds[name].to_numpy(dtype=np.int64)


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

"""Stage `characterise`: the features of Pre and After, one table for each policy of bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from barograph.features import (
    CONTEXT_NAMES,
    Policy,
    SubSeries,
    contrast_context,
    feature_matrix,
)
from barograph.features.matrix import columns_of
from barograph.history import History
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.series import Floats, Ints
from barograph.training import tables

# These follow the current regime by themselves: Pre is all that came before.
WHOLE_PAST = frozenset({"online", "confirm"})


@dataclass(frozen=True)
class CharacteriseParams:
    """Which feature sets the table of each kind of bounds gets, whole or cut to a window."""

    adaptive: tuple[str, ...]
    label_free: tuple[str, ...]
    adaptive_windows: tuple[str, ...]
    label_free_windows: tuple[str, ...]

    def sets(self, policy: Policy) -> tuple[str, ...]:
        """Return the feature sets of the table of a policy."""
        name = policy.bound.value + ("" if policy.width is None else "_windows")
        chosen: tuple[str, ...] = getattr(self, name)
        return chosen


def characterise(
    history: History, bounds: pd.DataFrame, feature_sets: Sequence[str], keys: pd.DataFrame
) -> pd.DataFrame:
    """Return the keys of the candidates with their features beside them."""
    rows = keys.iloc[bounds["candidate"].to_numpy()].reset_index(drop=True)
    pair = SubSeries(*(bounds[name].to_numpy(np.int64) for name in ("start", "split", "end")))
    first = history.offsets[rows["series"].to_numpy()]
    asked = {name for one in feature_sets for name in columns_of(one)}
    known = not asked.isdisjoint(CONTEXT_NAMES)
    context = _surroundings(history, bounds, pair, rows["series"].to_numpy()) if known else None
    features: dict[str, Floats] = {}
    for name in feature_sets:
        if not features.keys() >= set(columns_of(name)):  # a larger set may have held them
            known_from = first if name in WHOLE_PAST else pair.starts
            matrix = feature_matrix(
                history.values, known_from, pair.splits, pair.ends, name, context=context
            )
            features |= dict(zip(columns_of(name), matrix.T, strict=True))
    return pd.concat([rows, pd.DataFrame(features)], axis=1)


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
            "identity": identities(history)[table.column("series").to_numpy()],
            "index": table.column("index").to_numpy(),
            "commit": table.column("commit").to_pandas(),
            "verdict": table.column("verdict").to_pandas(),
            "decided": decided.to_numpy(),
        }
    )


def identities(history: History) -> Ints:
    """Return eight bytes of the digest of each series' identity, as a number."""
    digests = [history.id_of(number).digest[:8] for number in range(len(history))]
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def main() -> None:
    """Run the stage."""
    params = parameters(CharacteriseParams, "characterise")
    history = History.read(INTERIM)
    keys = keys_of(history)
    for name, bounds in pd.read_parquet(BOUNDS).groupby("policy", sort=True):
        policy = Policy.named(str(name))
        table = characterise(history, bounds, params.sets(policy), keys)
        report.write_parquet(tables.path_of(policy), tables.stamped(table))


if __name__ == "__main__":
    run(main)

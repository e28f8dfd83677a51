"""Stage `characterise`: the features of Pre and After, one table for each policy of bounds."""

from dataclasses import dataclass

import pandas as pd

from barograph.features.subseries import Policy
from barograph.learning import tables
from barograph.learning.limits import FeatureSet
from barograph.learning.tracking import Run
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History


@dataclass(frozen=True)
class CharacteriseParams:
    """The feature sets in the table of each kind of bounds, whole or cut to a window."""

    adaptive: tuple[FeatureSet, ...]
    label_free: tuple[FeatureSet, ...]
    adaptive_windows: tuple[FeatureSet, ...]
    label_free_windows: tuple[FeatureSet, ...]

    def sets(self, policy: Policy) -> tuple[str, ...]:
        """Return the feature sets in the table of a policy."""
        name = policy.bound.value + ("" if policy.width is None else "_windows")
        chosen: tuple[str, ...] = getattr(self, name)
        return chosen


def main() -> Run:
    """Run the stage; return the sizes of the tables."""
    params = parameters(CharacteriseParams, "characterise")
    history = History.read(INTERIM)
    keys = tables.keys_of(history)
    sizes: dict[str, dict[str, int]] = {}
    for name, bounds in pd.read_parquet(BOUNDS).groupby("policy", sort=True):
        policy = Policy.named(str(name))
        table = tables.build(history, bounds, params.sets(policy), keys)
        report.write_parquet(tables.path_of(policy), table)
        rows, columns = table.shape
        sizes[str(name)] = {"rows": rows, "columns": columns - keys.shape[1]}
    return Run("characterise", metrics=sizes)


if __name__ == "__main__":
    run(main)

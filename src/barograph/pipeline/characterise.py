"""Stage `characterise`: the features of Pre and After, one table for each policy of bounds."""

from dataclasses import dataclass
from itertools import islice

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
from barograph.results.parts import HistoryPart, history_parts
from barograph.runtime.parallel import map_parallel

CHUNK = 2000  # series in one call


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
    policies = sorted(pd.read_parquet(BOUNDS, columns=["policy"])["policy"].unique())
    parts = [(part, int(history.offsets[part.first])) for part in history_parts(INTERIM, CHUNK)]
    calls = [(*part, p, params.sets(Policy.named(p))) for p in policies for part in parts]
    results = iter(map_parallel(part_features, calls, label="characterise"))
    sizes: dict[str, dict[str, int]] = {}
    for name in policies:
        features = pd.concat(islice(results, len(parts))).sort_index()
        report.write_parquet(tables.path_of(Policy.named(name)), tables.joined(keys, features))
        sizes[name] = dict(zip(("rows", "columns"), features.shape, strict=True))
    return Run("characterise", metrics=sizes)


def part_features(
    part: HistoryPart, begin: int, policy: str, feature_sets: tuple[str, ...]
) -> pd.DataFrame:
    """Return the features of the candidates in some series, whose points begin at `begin`."""
    points, offsets = part.points()
    inside = ("split", ">=", begin), ("split", "<", begin + points.num_rows)
    bounds = pd.read_parquet(BOUNDS, filters=[("policy", "==", policy), *inside])
    bounds[["start", "split", "end"]] -= begin
    features = tables.features_of(points.column("value").to_numpy(), offsets, bounds, feature_sets)
    return pd.DataFrame(features, index=bounds["candidate"].to_numpy())


if __name__ == "__main__":
    run(main)

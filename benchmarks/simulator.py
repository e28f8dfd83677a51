"""Compare simulated histories to the triaged change points of MongoDB.

Simulates the profile `short` for several seeds, runs the usual stages (dump, loader, adaptive
bounds, the deltas with two points after the candidate), and prints the Kolmogorov-Smirnov distance
to the rows that Leznik et al. 2022 published, by feature and class. The goal is at most 0.20 for
the mean and the standard deviation, which the profile was fitted to. --relative-scale 0.2 compares
the histories that the shipped models learned from.
"""

import statistics
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow.csv
from histories import TRIAGED
from scipy.stats import ks_2samp
from side_by_side import Row, arguments, is_missing, show

from barograph.features import ADAPTIVE, FEATURE_SETS, feature_matrix, subseries
from barograph.learning.simulation import SimulateParams, simulate
from barograph.results.history import History
from barograph.results.series import Floats
from barograph.sources import load, open_source

CLASSES = ("true_positive", "false_positive")
FEATURES = ("delta_mean", "delta_sd")
Deltas = Mapping[tuple[str, str], Floats]


def published(path: Path) -> Deltas:
    """Return the published deltas by feature and class."""
    table = pyarrow.csv.read_csv(path)
    label = np.array(table.column("label").to_pylist())
    return {
        (feature, kind): table.column(feature).to_numpy()[label == kind]
        for feature in FEATURES
        for kind in CLASSES
    }


def simulated(seed: int, count: int, relative_scale: float) -> Deltas:
    """Return the deltas of simulated short histories by feature and class."""
    params = SimulateParams(
        seed=seed, long_series=0, short_series=count, short_relative_scale=relative_scale
    )
    with tempfile.TemporaryDirectory() as folder:
        simulate(params, Path(folder))
        load(open_source("mongodump", f"{folder}/dump"), f"{folder}/interim")
        history = History.read(f"{folder}/interim")
    candidates = history.candidates
    bounds = subseries(ADAPTIVE, history.offsets, candidates)
    matrix = feature_matrix(history.values, *bounds, feature_set="leznik")
    return {
        (feature, kind): matrix[candidates.verdict == kind, FEATURE_SETS["leznik"].index(feature)]
        for feature in FEATURES
        for kind in CLASSES
    }


def rows(seeds: int, count: int, relative_scale: float) -> Iterator[Row]:
    """Yield a row of distances for each seed, and a row of medians."""
    real = published(TRIAGED)
    distances: dict[str, list[float]] = {}
    for seed in range(1, seeds + 1):
        deltas = simulated(seed, count, relative_scale)
        row: dict[str, object] = {"seed": seed}
        for feature, kind in real:
            name = f"{feature} {kind.partition('_')[0]}"
            distance = float(ks_2samp(real[feature, kind], deltas[feature, kind]).statistic)
            distances.setdefault(name, []).append(distance)
            row[name] = distance
        triaged = [deltas["delta_mean", kind].size for kind in CLASSES]
        yield {**row, "triaged": sum(triaged), "share true": triaged[0] / sum(triaged)}
    medians = {name: statistics.median(values) for name, values in distances.items()}
    yield {"seed": "median", **medians, "triaged": "", "share true": ""}


def main() -> None:
    """Print the distances."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--series", type=int, default=3000)
    parser.add_argument("--relative-scale", type=float, default=0.1, help="as in params.yaml")
    options = parser.parse_args()
    title = "Kolmogorov-Smirnov distance of simulated to published deltas (goal: at most 0.20)"
    if is_missing(TRIAGED, title, options.output):
        return
    table = list(rows(options.seeds, options.series, options.relative_scale))
    show(title, table, options.output)


if __name__ == "__main__":
    main()

"""40,000 traces of 250 commits through `cluster_steps` (Skia's numbers).

For two cores: taskset -c 0,1 python benchmarks/step_clusters.py

The traces: groups of 500 that step together by 1 to 5 standard deviations of their noise, half of
all traces none, one commit in fifty missing.
"""

import numpy as np
from side_by_side import arguments, seconds, show

from barograph.detection import cluster_steps
from barograph.series import Floats


def traces(count: int, commits: int, seed: int) -> Floats:
    """Make the traces."""
    generator = np.random.default_rng(seed)
    matrix = 100.0 + generator.standard_normal((count, commits))
    for first in range(0, count // 2, 500):
        turn = int(generator.integers(20, commits - 20))
        matrix[first : first + 500, turn:] += generator.choice([-1, 1]) * generator.uniform(1, 5)
    matrix[generator.random(matrix.shape) < 0.02] = np.nan
    return matrix


def main() -> None:
    """Time whole runs, the first with compilation or the reading of its cache."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--traces", type=int, default=40_000)
    parser.add_argument("--commits", type=int, default=250)
    options = parser.parse_args()
    matrix = traces(options.traces, options.commits, seed=0)
    rows = []
    for run in range(4):
        found = []
        spent = seconds(lambda: found.extend(cluster_steps(matrix)))  # noqa: B023
        steps = len(found)
        rows.append({"run": run, "seconds": spent, "interesting clusters": steps})
    title = f"cluster_steps: {options.traces} traces of {options.commits} commits"
    show(title, rows, options.output, target="under 60 seconds")


if __name__ == "__main__":
    main()

"""`cluster_steps`: its speed on Skia's numbers, and common steps that one-series detection misses.

For two cores: taskset -c 0,1 python benchmarks/step_clusters.py

Speed: 40,000 traces of 250 commits, in groups of 500 that step together by 1 to 5 standard
deviations of their noise, half of all traces none, one commit in fifty missing.

Common steps: 200 series of 250 commits with autocorrelated noise. One commit moves 50 of them by
some standard deviations. A series counts as found if it is a member of a cluster within two
commits, or if a detector reports it there. False are other members and other change points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from side_by_side import arguments, seconds, show

from barograph.detection import Hunter, Triaged, cluster_steps, detect_many
from barograph.results.series import Floats

SERIES, MOVED, COMMITS, MEMORY = 200, 50, 250, 0.3
NEAR = 2


def traces(count: int, commits: int, seed: int) -> Floats:
    """Make the traces of the measurement of speed."""
    generator = np.random.default_rng(seed)
    matrix = 100.0 + generator.standard_normal((count, commits))
    for first in range(0, count // 2, 500):
        turn = int(generator.integers(20, commits - 20))
        matrix[first : first + 500, turn:] += generator.choice([-1, 1]) * generator.uniform(1, 5)
    matrix[generator.random(matrix.shape) < 0.02] = np.nan
    return matrix


def moved(size: float, index: int, generator: np.random.Generator) -> Floats:
    """Return series of which the first ones move by `size` standard deviations at a commit."""
    noise = generator.standard_normal((SERIES, COMMITS))
    for t in range(1, COMMITS):
        noise[:, t] += MEMORY * noise[:, t - 1]
    noise /= np.sqrt(1 / (1 - MEMORY**2))
    noise[:MOVED, index:] += size
    levels = generator.uniform(10, 1000, (SERIES, 1))
    return levels * (1 + 0.02 * noise)


def common_steps(runs: int) -> list[dict[str, Any]]:
    """Return the shares of the series that each method finds, by the size of the step."""
    rows = []
    for after in (100, 20, 5):
        for size in (1.0, 1.5, 2.0, 3.0, 5.0):
            generator = np.random.default_rng(int(100 * size) + after)
            counts = {name: [0, 0] for name in ("clusters", "triaged", "hunter")}
            for _ in range(runs):
                matrix, index = moved(size, COMMITS - after, generator), COMMITS - after
                for cluster in cluster_steps(matrix):
                    is_near = abs(cluster.index - index) <= NEAR
                    hits = sum(int(str(row)) < MOVED for row in cluster.members) if is_near else 0
                    counts["clusters"][0] += hits
                    counts["clusters"][1] += len(cluster.members) - hits
                offsets = np.arange(0, matrix.size + 1, COMMITS)
                for name, detector in (("triaged", Triaged()), ("hunter", Hunter())):
                    for row, points in enumerate(detect_many(detector, matrix.ravel(), offsets)):
                        near = [abs(p.index - index) <= NEAR and row < MOVED for p in points]
                        counts[name][0] += any(near)
                        counts[name][1] += len(near) - sum(near)
            shares = {f"{name}, %": 100 * hits / MOVED / runs for name, (hits, _) in counts.items()}
            false = {f"{name}, false": count / runs for name, (_, count) in counts.items()}
            rows.append({"commits after": after, "step, sd": size, **shares, **false})
    return rows


def main() -> None:
    """Time whole runs, the first with compilation or the reading of its cache; then compare."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--traces", type=int, default=40_000)
    parser.add_argument("--commits", type=int, default=250)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.traces:
        matrix = traces(options.traces, options.commits, seed=0)
        rows = []
        for run in range(4):
            clusters = []
            spent = seconds(lambda: clusters.extend(cluster_steps(matrix)))  # noqa: B023
            steps = len(clusters)
            rows.append({"run": run, "seconds": spent, "interesting clusters": steps})
        title = f"cluster_steps: {options.traces} traces of {options.commits} commits"
        show(title, rows, options.output, target="under 60 seconds")
    title = f"one commit moves {MOVED} of {SERIES} series: found, and false ones a run"
    show(title, common_steps(options.runs), options.output)


if __name__ == "__main__":
    main()

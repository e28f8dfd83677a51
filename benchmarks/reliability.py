"""How often changes with a stated probability are real, on people's marks and on simulated runners.

The shipped model judges the candidates of `Triaged`. A candidate is real if more than half of at
least three people marked a change within 5 points. Intervals (95 %) are a bootstrap over groups of
related series. The folder of --test has the files series.parquet, annotations.csv and
series_meta.csv; of its two halves, nothing was chosen on the second.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from crowd import votes_for
from histories import MARKED, PEOPLE, halves, read_marked
from side_by_side import Row, arguments, is_missing, show

from barograph.detection import Triaged
from barograph.learning.annotators import Marked
from barograph.learning.online.histories import Simulated
from barograph.models import TriageModel

EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
DRAWS = 1000
RUNNERS = Simulated(seed=90_099, long_series=0, short_series=0, ci_series=300)


def rows(name: str, marked: Marked, model: TriageModel) -> Iterator[Row]:
    """Yield a row for each range of probabilities."""
    points_by_series = Triaged(model=model, min_probability=0.0).find_many(
        marked.values, marked.offsets
    )
    table = np.array(
        [
            (marked.groups[k], point.probability, 2 * votes_for(point.index, marks) > len(marks))
            for k, (points, marks) in enumerate(zip(points_by_series, marked.marks, strict=True))
            if len(marks) >= PEOPLE
            for point in points
        ]
    )
    groups, probability, real = table.T
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws = rng.integers(0, len(members), (DRAWS, len(members)))
    for low, high in pairwise(EDGES):
        inside = (probability >= low) & ((probability < high) | (high == EDGES[-1]))
        if not inside.any():
            continue
        hits = np.array([real[part][inside[part]].sum() for part in members])
        sizes = np.array([inside[part].sum() for part in members])
        with np.errstate(invalid="ignore"):
            shares = hits[draws].sum(axis=1) / sizes[draws].sum(axis=1)
        lower, upper = np.nanquantile(shares, (0.025, 0.975))
        yield {
            "series": name,
            "stated": f"{low:g} to {high:g}",
            "candidates": int(inside.sum()),
            "real": float(real[inside].mean()),
            "interval": f"{lower:.2f} to {upper:.2f}",
        }


def main() -> None:
    """Judge, count and print."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--test", type=Path, metavar="DIR", default=MARKED)
    parser.add_argument("--model", type=Path, metavar="FILE", help="default: the built-in model")
    options = parser.parse_args()
    use = "label_free"
    model = TriageModel.load(options.model, use) if options.model else TriageModel.default(use)
    table = list(rows("simulated CI runners", RUNNERS.marked(), model))
    if not is_missing(options.test, "people's marks", options.output):
        parts = zip(
            ("choice half", "reporting half"), halves(read_marked(options.test)), strict=True
        )
        table += [row for name, part in parts for row in rows(name, part, model)]
    show("Share of real changes by stated probability", table, options.output)


if __name__ == "__main__":
    main()

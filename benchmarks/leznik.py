"""The tables of Leznik et al. 2022 on their published points, with our best model.

Tables 5 and 7 are rules without training. Table 8 is the mean over ten random 90/10 splits, of the
rows and of the series. In addition, each project is held back as a whole.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from histories import TRIAGED
from side_by_side import arguments, is_missing, show
from sklearn.ensemble import RandomForestClassifier

from barograph.models.stacked import StackedTriage
from barograph.studies import leznik


def best(seed: int, trees: int = 500) -> StackedTriage:
    """Return our best model on the same inputs: a forest, with votes fitted in training."""
    return StackedTriage(RandomForestClassifier(trees, random_state=seed, n_jobs=1))


MODELS = {"stacked": leznik.stacked, "forest over the same inputs": best}


def main() -> None:
    """Evaluate every rule and model, and print the tables as one."""
    output = arguments(__doc__ or "").parse_args().output
    if is_missing(TRIAGED, "Leznik et al. 2022, Tables 5, 7 and 8", output):
        return
    points = leznik.read(TRIAGED)
    table = [row(name, "all rows", rates) for name, rates in leznik.rule_tables(points).items()]
    table += [*trained(points), *projects(points)]
    title = f"Leznik et al. 2022, Tables 5, 7 and 8: {points.truth.size} triaged points"
    show(title, table, output, published_accuracy_to_beat=leznik.PUBLISHED["stacked"][0])


def trained(points: leznik.TriagedPoints) -> Iterator[dict[str, Any]]:
    """Yield the mean rates of both models on the same splits."""
    for protocol in leznik.PROTOCOLS:
        for name, make in MODELS.items():
            splits = leznik.splits(points, protocol)
            rates = [leznik.fit_and_rate(make(k), points, split) for k, split in enumerate(splits)]
            yield row(name, f"{leznik.REPETITIONS} x 90/10 of the {protocol}", mean(rates))


def projects(points: leznik.TriagedPoints) -> Iterator[dict[str, Any]]:
    """Yield the rates of both models on each project that is held back."""
    for project, split in without_project(points):
        for name, make in MODELS.items():
            rates = leznik.fit_and_rate(make(0), points, split)
            yield row(name, f"without {project} ({split.test.size} points)", rates)


def without_project(points: leznik.TriagedPoints) -> Iterator[tuple[str, leznik.TrainTest]]:
    """Yield each project with the split whose test part is the project."""
    for project in np.unique(points.projects.astype(str)):
        inside = points.projects == project
        yield str(project), leznik.TrainTest(np.flatnonzero(~inside), np.flatnonzero(inside))


def mean(rates: list[leznik.Rates]) -> leznik.Rates:
    """Return the mean rates over several splits."""
    return leznik.Rates(*np.mean(np.array(rates), axis=0).tolist())


def row(name: str, rows: str, rates: leznik.Rates) -> dict[str, Any]:
    """Return a row of the table, with the paper's figures where it prints some."""
    published = leznik.PUBLISHED.get(name) if "without" not in rows else None
    paper = "/".join(f"{share:.4f}" for share in published) if published else "-"
    cells = {key: "-" if value != value else value for key, value in rates._asdict().items()}
    return {"model": name, "judged on": rows, **cells, "paper: acc/sens/spec": paper}


if __name__ == "__main__":
    main()
